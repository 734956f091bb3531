/** `node --import reactor-ws/register`: `import` and `require` of `ws` get this package. It exports nothing. */
export {};
