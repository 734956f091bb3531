// The modules of src and the modules that each names: none may need itself by way of others.

import { readdirSync } from 'node:fs';
import { join } from 'node:path';

import { codeOf } from './layers.mjs';
import { root } from './run.mjs';

const SOURCE = 'src';

/**
 * @returns {string[]} one line per cycle, each with the files in it
 *
 * A module may name the one that encloses it, as the compiler lets it: `reactor/read/turn.rs`
 * the `Reactor` of `reactor/mod.rs`.
 */
export function moduleCycles() {
  const graph = moduleGraph();
  return components(graph)
    .filter((component) => component.length > 1)
    .map((component) => `these modules need each other: ${shortestCycle(graph, component).join(' -> ')}`);
}

/**
 * @returns {Map<string, Set<string>>} by the path of a module, the modules that it
 * names; `crate::reactor::read::turn`
 */
export function moduleGraph() {
  const files = new Map();
  for (const name of readdirSync(join(root, SOURCE), { recursive: true })) {
    if (!name.endsWith('.rs') || /(^|\/)tests?(\/|\.rs$)/.test(name)) continue;
    const path = name.replace(/\.rs$/, '').replace(/(^|\/)(mod|lib)$/, '');
    files.set(['crate', ...path.split('/').filter(Boolean)].join('::'), join(SOURCE, name));
  }
  const graph = new Map();
  for (const [module, file] of files) {
    const named = new Set();
    for (const path of pathsIn(codeOf(file), module)) {
      const target = enclosingModule(path, files);
      if (target !== module && !module.startsWith(`${target}::`)) named.add(target);
    }
    graph.set(module, named);
  }
  return graph;
}

/**
 * All paths in the code that begin with `crate` or `super`, or are used from a
 * module within; groups are taken apart.
 */
function* pathsIn(code, module) {
  for (const [, path] of code.matchAll(/^(?:pub(?:\([^)]*\))? )?use (\w+(?:::\w+)*)/gm)) yield `${module}::${path}`;
  for (const [, start, rest] of code.matchAll(/\b(crate|super)((?:::(?:\w+|\{[^;]*?\}(?=;)))+)/g)) {
    const from = start === 'crate' ? 'crate' : module.replace(/::\w+$/, '');
    const group = /^(.*?)::\{([\s\S]*)\}$/.exec(rest);
    if (!group) yield from + rest;
    else for (const [, name] of group[2].matchAll(/(?:^|[,{])\s*(\w+(?:::\w+)*)/g)) yield `${from}${group[1]}::${name}`;
  }
}

/** The module that a path leads into: the rest of the path is an item of that module. */
function enclosingModule(path, files) {
  let module = path;
  while (!files.has(module)) module = module.replace(/::\w+$/, '');
  return module;
}

/** Strongly connected components, as Tarjan finds them. */
function components(graph) {
  const found = [];
  const stack = [];
  const index = new Map();
  const low = new Map();
  const visit = (module) => {
    index.set(module, index.size);
    low.set(module, index.get(module));
    stack.push(module);
    for (const next of graph.get(module)) {
      if (!index.has(next)) visit(next);
      if (stack.includes(next)) low.set(module, Math.min(low.get(module), low.get(next)));
    }
    if (low.get(module) === index.get(module)) found.push(stack.splice(stack.indexOf(module)));
  };
  for (const module of graph.keys()) if (!index.has(module)) visit(module);
  return found;
}

/** The shortest way from one module of a component back to it. */
function shortestCycle(graph, component) {
  let shortest;
  for (const start of component) {
    const ways = [[start]];
    const seen = new Set();
    for (const way of ways) {
      for (const next of graph.get(way.at(-1))) {
        if (next === start && !(shortest?.length <= way.length + 1)) shortest = [...way, start];
        if (!seen.has(next) && component.includes(next)) ways.push([...way, next]);
        seen.add(next);
      }
    }
  }
  return shortest;
}
