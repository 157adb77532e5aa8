/**
 * Deletions of records with an undo: rows vanish at once, requests go out ten seconds later, on any page that is open
 * by then. After the requests, the service takes the deletion back. A tab that closes sends its requests with `keepalive`, which browsers finish; past the browser's limit, or without a connection,
 * the records stay.
 */
import { text } from "../texts/index.ts";
import { changeRecords, type Failure } from "./change-records.ts";
import { client } from "./client.ts";
import { countPointers, type Pointers } from "./pointers.ts";
import { queryClient } from "./queries.ts";
import { Store, useStore } from "./store.ts";
import { forgetChange, keepChange, type OwnChange, RequestIds, type Undone } from "./undo.ts";

export const undoMs = 10_000;
/** The most ids of past deletions to remember, which tell own events from the events of others. */
const mostRemembered = 5_000;

export interface Deletion {
  readonly key: number;
  readonly collection: string;
  readonly ids: readonly string[];
  /** The moment of the requests, in the unit of `Date.now()`. */
  readonly dueAt: number;
  readonly isRunning: boolean;
  /** The finished records of a deletion whose requests are out. */
  readonly done: number;
  /** The records that point to the deleted records; undefined until known, null when not counted. */
  readonly pointers: readonly Pointers[] | null | undefined;
  readonly requests: RequestIds;
  /** The deletion among the changes of this tab. */
  readonly change: OwnChange;
}

interface Outcome {
  readonly collection: string;
  readonly deleted: ReadonlySet<string>;
  /** The records that still exist. */
  readonly failed: readonly Failure[];
}

const waiting = new Store<readonly Deletion[]>([]);
let lastKey = 0;
const timers = new Map<number, ReturnType<typeof setTimeout>>();
const outcomeListeners = new Set<(outcome: Outcome) => void>();
const own = new Set<string>();
/** The deletions whose requests are out, by key. */
const running = new Map<number, Promise<void>>();

function change(key: number, part: Partial<Deletion>): void {
  waiting.set(waiting.get().map((each) => (each.key === key ? { ...each, ...part } : each)));
}

function remember(id: string): void {
  own.add(id);
  const [oldest] = own;
  if (own.size > mostRemembered && oldest !== undefined) own.delete(oldest);
}

async function send({ key, collection, ids, requests: { options } }: Deletion): Promise<Outcome> {
  const records = client.collection(collection);
  const failed = await changeRecords(ids, {
    batch: (part) =>
      client.batch(
        part.map((id) => ({ method: "delete", collection, id }) as const),
        options,
      ),
    one: (id) => records.delete(id, options),
    onStart: (part) => {
      for (const id of part) remember(id);
    },
    onProgress: (done) => change(key, { done }),
  });
  for (const { id } of failed) own.delete(id);
  const lost = new Set(failed.map(({ id }) => id));
  return { collection, deleted: new Set(ids.filter((id) => !lost.has(id))), failed };
}

/** Sends a request that outlives the page; the client's requests end with the page. */
function sendKept(collection: string, id: string): void {
  const path = `/api/${encodeURIComponent(collection)}/${encodeURIComponent(id)}`;
  const headers = { Authorization: `Bearer ${client.accessToken ?? ""}` };
  void fetch(path, { method: "DELETE", keepalive: true, headers }).catch(() => undefined);
}

/** Takes a deletion from the waiting deletions. False when the requests of the deletion are out already. */
function claim(key: number): boolean {
  clearTimeout(timers.get(key));
  return timers.delete(key);
}

function run(deletion: Deletion): Promise<void> {
  const { key } = deletion;
  if (!claim(key)) return Promise.resolve();
  const end = finish(deletion).finally(() => running.delete(key));
  running.set(key, end);
  return end;
}

async function finish(deletion: Deletion): Promise<void> {
  change(deletion.key, { isRunning: true });
  const outcome = await send(deletion);
  if (deletion.requests.isEmpty) forgetChange(deletion.change);
  for (const listener of outcomeListeners) listener(outcome);
  waiting.set(waiting.get().filter(({ key }) => key !== deletion.key));
  // A grid off the screen still has the records; the grid on the screen has removed the records by itself.
  queryClient.removeQueries({ queryKey: ["records", deletion.collection], type: "inactive" });
  void queryClient.invalidateQueries({ queryKey: ["collections"], exact: true });
}

export function deleteLater(collection: string, ids: readonly string[]): void {
  if (ids.length === 0) return;
  lastKey += 1;
  const key = lastKey;
  const dueAt = Date.now() + undoMs;
  const requests = new RequestIds();
  const takeBack = async (): Promise<Undone> => {
    if (undoDelete(key)) return { done: ids.length, left: [], error: null };
    await running.get(key);
    for (const id of ids) own.delete(id);
    return requests.takeBack();
  };
  const made = keepChange({ words: text.undo.changes.deleted(ids.length, collection), takeBack });
  const state = { isRunning: false, done: 0, pointers: undefined, requests, change: made };
  waiting.set([...waiting.get(), { key, collection, ids, dueAt, ...state }]);
  timers.set(
    key,
    setTimeout(() => deleteNow(key), undoMs),
  );
  // The count is a hint: the deletion goes on without the count.
  countPointers(collection, ids).then(
    (pointers) => change(key, { pointers }),
    () => undefined,
  );
}

export function undoDelete(key: number): boolean {
  if (!claim(key)) return false;
  const undone = waiting.get().find((each) => each.key === key);
  if (undone !== undefined) forgetChange(undone.change);
  waiting.set(waiting.get().filter((each) => each.key !== key));
  return true;
}

export function deleteNow(key: number): void {
  const deletion = waiting.get().find((each) => each.key === key);
  if (deletion !== undefined) void run(deletion);
}

/** Sends all waiting deletions in requests that the browser finishes, because the page closes. */
function flush(): void {
  for (const { key, collection, ids } of waiting.get()) if (claim(key)) for (const id of ids) sendKept(collection, id);
}

window.addEventListener("pagehide", flush);
// A page that returns from the browser's cache has sent its deletions.
window.addEventListener("pageshow", ({ persisted }) => {
  if (persisted) waiting.set(waiting.get().filter(({ key }) => timers.has(key)));
});

/** Sends all waiting deletions at once, before the session that may delete ends. */
export async function finishDeletes(): Promise<void> {
  await Promise.all(waiting.get().map(run));
}

/** Whether this tab has deleted the record: its event says nothing new. */
export function isOwnDelete(id: string): boolean {
  return own.has(id);
}

/** Calls `listener` after the requests of a deletion. Answers a function that removes the listener. */
export function onDeletes(listener: (outcome: Outcome) => void): () => void {
  outcomeListeners.add(listener);
  return () => outcomeListeners.delete(listener);
}

/** The deletions that can be undone, and the deletions whose requests are out. */
export function useDeletions(): readonly Deletion[] {
  return useStore(waiting);
}
