/** Lets everything else that waits have its turn: long work done in steps would otherwise keep the loop to itself. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
