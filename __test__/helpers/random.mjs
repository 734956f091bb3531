// Numbers that look random and are the same for the same seed.

/** Returns `random(below)`: an integer from 0 to below - 1. */
export function randomNumbers(seed) {
  // Otherwise neighbouring seeds begin alike.
  let state = Math.imul(seed + 1, 2654435761) >>> 0;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}
