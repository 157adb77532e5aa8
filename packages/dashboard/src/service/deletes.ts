/**
 * Deletions of records that can be undone: rows vanish at once, requests go out ten seconds later, wherever the person is
 * by then. A tab that closes sends them with `keepalive`, which browsers finish; past their limit, or without a connection,
 * the records stay.
 */
import { useSyncExternalStore } from "react";
import { client } from "./client.ts";
import { deleteRecords, type Failure } from "./delete-records.ts";
import { countPointers, type Pointers } from "./pointers.ts";
import { queryClient } from "./queries.ts";

export const undoMs = 10_000;
/** The most ids of past deletions that are remembered, to tell own events from those of others. */
const mostRemembered = 5_000;

export interface Deletion {
  readonly key: number;
  readonly collection: string;
  readonly ids: readonly string[];
  /** When the requests go out, as `Date.now()` has it. */
  readonly dueAt: number;
  readonly isRunning: boolean;
  /** Records that are over, of those whose requests are out. */
  readonly done: number;
  /** The records that point to them; undefined until that is known, null where nobody has counted. */
  readonly pointers: readonly Pointers[] | null | undefined;
}

interface Outcome {
  readonly collection: string;
  readonly deleted: ReadonlySet<string>;
  /** Those that are there still. */
  readonly failed: readonly Failure[];
}

let waiting: readonly Deletion[] = [];
let lastKey = 0;
const timers = new Map<number, ReturnType<typeof setTimeout>>();
const listeners = new Set<() => void>();
const outcomeListeners = new Set<(outcome: Outcome) => void>();
const own = new Set<string>();

function set(next: readonly Deletion[]): void {
  waiting = next;
  for (const listener of listeners) listener();
}

function change(key: number, part: Partial<Deletion>): void {
  set(waiting.map((each) => (each.key === key ? { ...each, ...part } : each)));
}

function remember(id: string): void {
  own.add(id);
  const [oldest] = own;
  if (own.size > mostRemembered && oldest !== undefined) own.delete(oldest);
}

async function send({ key, collection, ids }: Deletion): Promise<Outcome> {
  const records = client.collection(collection);
  const failed = await deleteRecords(ids, {
    batch: (part) => client.batch(part.map((id) => ({ method: "delete", collection, id }) as const)),
    one: (id) => records.delete(id),
    onStart: (part) => {
      for (const id of part) remember(id);
    },
    onProgress: (done) => change(key, { done }),
  });
  for (const { id } of failed) own.delete(id);
  const lost = new Set(failed.map(({ id }) => id));
  return { collection, deleted: new Set(ids.filter((id) => !lost.has(id))), failed };
}

/** The client's requests end with the page; this one does not. */
function sendKept(collection: string, id: string): void {
  const path = `/api/${encodeURIComponent(collection)}/${encodeURIComponent(id)}`;
  const headers = { Authorization: `Bearer ${client.accessToken ?? ""}` };
  void fetch(path, { method: "DELETE", keepalive: true, headers }).catch(() => undefined);
}

/** Takes a deletion out of those that wait. False where its requests are out already. */
function claim(key: number): boolean {
  clearTimeout(timers.get(key));
  return timers.delete(key);
}

async function run(deletion: Deletion): Promise<void> {
  if (!claim(deletion.key)) return;
  change(deletion.key, { isRunning: true });
  const outcome = await send(deletion);
  for (const listener of outcomeListeners) listener(outcome);
  set(waiting.filter(({ key }) => key !== deletion.key));
  // A grid that nobody looks at has the records still; the one on the screen has taken them out by itself.
  queryClient.removeQueries({ queryKey: ["records", deletion.collection], type: "inactive" });
  void queryClient.invalidateQueries({ queryKey: ["collections"], exact: true });
}

export function deleteLater(collection: string, ids: readonly string[]): void {
  if (ids.length === 0) return;
  lastKey += 1;
  const key = lastKey;
  const dueAt = Date.now() + undoMs;
  const deletion: Deletion = { key, collection, ids, dueAt, isRunning: false, done: 0, pointers: undefined };
  set([...waiting, deletion]);
  timers.set(
    key,
    setTimeout(() => void run(deletion), undoMs),
  );
  // The count is a hint: without it the deletion goes on.
  countPointers(collection, ids).then(
    (pointers) => change(key, { pointers }),
    () => undefined,
  );
}

export function undoDelete(key: number): boolean {
  if (!claim(key)) return false;
  set(waiting.filter((each) => each.key !== key));
  return true;
}

export function deleteNow(key: number): void {
  const deletion = waiting.find((each) => each.key === key);
  if (deletion !== undefined) void run(deletion);
}

/** Sends all that waits, and lets the browser finish it: the page goes. */
function flush(): void {
  for (const { key, collection, ids } of waiting) if (claim(key)) for (const id of ids) sendKept(collection, id);
}

window.addEventListener("pagehide", flush);
// A page that comes back out of the browser's cache has sent them.
window.addEventListener("pageshow", ({ persisted }) => {
  if (persisted) set(waiting.filter(({ key }) => timers.has(key)));
});

/** Sends all that waits at once, before the session ends that may delete it. */
export async function finishDeletes(): Promise<void> {
  await Promise.all(waiting.map(run));
}

/** Whether this tab has deleted the record: its event says nothing new. */
export function isOwnDelete(id: string): boolean {
  return own.has(id);
}

/** Calls back after the requests of a deletion. Answers how to stop that. */
export function onDeletes(listener: (outcome: Outcome) => void): () => void {
  outcomeListeners.add(listener);
  return () => outcomeListeners.delete(listener);
}

/** The deletions that can be undone, and those whose requests are out. */
export function useDeletions(): readonly Deletion[] {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => waiting,
  );
}
