/** A value, or the promise of one: a driver that answers at once need not pay for a promise. */
export type Awaitable<T> = T | Promise<T>;

/** Does `work` for each item, one after the other. Where nothing has to be waited for, it is done when this returns. */
export function inTurn<T>(items: readonly T[], work: (item: T) => Awaitable<unknown>): Awaitable<unknown> {
  let done = 0;
  for (const item of items) {
    done += 1;
    const result = work(item);
    if (result instanceof Promise) return result.then(() => inTurn(items.slice(done), work));
  }
  return undefined;
}
