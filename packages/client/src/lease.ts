/**
 * Turns of tabs without locks of the browser, in a page without HTTPS: the tab that has the entry of the storage has the turn. Loaded
 * on use, and so without imports: a bundler that loads everything at once would wrap what is imported here.
 */

/** The part of a storage of the browser that is used. */
export interface WebStorage {
  getItem(key: string): string | null;
  setItem(key: string, value: string): void;
  removeItem(key: string): void;
}

const pauseMs = 100;

/**
 * Begins work in a turn. An entry counts after a pause: two tabs may have written at the same moment.
 * @param ms of a turn, and of the wait for a turn.
 */
export async function leased(
  storage: WebStorage,
  key: string,
  { begin, ms }: { begin: () => Promise<void>; ms: number },
): Promise<void> {
  const own = String(Math.random());
  const place = `${key} turn`;
  const entry = (): readonly string[] => (storage.getItem(place) ?? "").split(" ");
  for (let tries = ms / pauseMs; tries > 0 && entry()[0] !== own; tries--) {
    // A tab that was closed leaves its entry. The clock of the device may have been set since.
    if (!(Math.abs(Date.now() - Number(entry()[1])) < ms)) storage.setItem(place, `${own} ${Date.now()}`);
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
  await begin().finally(() => {
    if (entry()[0] === own) storage.removeItem(place);
  });
}
