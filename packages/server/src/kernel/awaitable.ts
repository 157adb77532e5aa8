/** A value, or the promise of one: a driver that answers at once need not pay for a promise. */
export type Awaitable<T> = T | Promise<T>;
