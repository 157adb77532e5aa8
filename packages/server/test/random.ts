/** A random test prints its seed; a variable sets another seed: `SEED=123 npm run test:unit`. */
export function randomSeed(name: string): number {
  const given = process.env["SEED"];
  const seed = given === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(given);
  console.log(`${name}: SEED=${seed}`);
  return seed;
}

/** Numbers from 0 to below 1 that follow from the seed alone (mulberry32). */
export function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
