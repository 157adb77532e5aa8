/**
 * Deletions that can be undone: rows vanish at once, requests go out ten seconds later or when the page is left. A tab
 * that closes sends them with `keepalive`, which browsers finish; past their limit, or without a connection, the records stay.
 */
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { messageOf, notifyDone, notifyError } from "../../../kit/index.ts";
import { client } from "../../../service/client.ts";
import { text } from "../../../texts/index.ts";

export const undoMs = 10_000;
const requestsAtOnce = 6;

export interface Deletion {
  readonly key: number;
  readonly ids: readonly string[];
  /** When the requests go out, as `Date.now()` has it. */
  readonly dueAt: number;
  readonly isRunning: boolean;
}

export interface Deletes {
  readonly waiting: readonly Deletion[];
  /** Records that are not to be shown. */
  readonly hidden: ReadonlySet<string>;
  readonly remove: (ids: readonly string[]) => void;
  readonly undo: (key: number) => void;
  readonly flush: (key: number) => void;
}

/** Answers the ids that are still there, with the reason of the last failure. */
async function send(collection: string, ids: readonly string[]): Promise<{ failed: string[]; reason: unknown }> {
  const queue = [...ids];
  const failed: string[] = [];
  let reason: unknown = null;
  const work = async (): Promise<void> => {
    for (let id = queue.shift(); id !== undefined; id = queue.shift()) {
      try {
        await client.collection(collection).delete(id);
      } catch (error) {
        // Somebody else was quicker.
        if (isGone(error)) continue;
        failed.push(id);
        reason = error;
      }
    }
  };
  await Promise.all(Array.from({ length: requestsAtOnce }, work));
  return { failed, reason };
}

function isGone(error: unknown): boolean {
  return error instanceof Error && "status" in error && error.status === 404;
}

export function useDeletes(collection: string, onDeleted: (ids: ReadonlySet<string>) => void): Deletes {
  const [waiting, setWaiting] = useState<readonly Deletion[]>([]);
  const latest = useRef({ waiting, onDeleted });
  latest.current = { waiting, onDeleted };
  const timers = useRef(new Map<number, ReturnType<typeof setTimeout>>());
  const counter = useRef(0);

  const drop = useCallback((key: number): void => {
    clearTimeout(timers.current.get(key));
    timers.current.delete(key);
    setWaiting((all) => all.filter((each) => each.key !== key));
  }, []);

  const run = useCallback(
    async ({ key, ids }: Pick<Deletion, "key" | "ids">): Promise<void> => {
      clearTimeout(timers.current.get(key));
      if (!timers.current.delete(key)) return;
      setWaiting((all) => all.map((each) => (each.key === key ? { ...each, isRunning: true } : each)));
      const { failed, reason } = await send(collection, ids);
      const lost = new Set(failed);
      latest.current.onDeleted(new Set(ids.filter((id) => !lost.has(id))));
      setWaiting((all) => all.filter((each) => each.key !== key));
      if (failed.length > 0) notifyError(text.records.notDeleted(failed.length), new Error(messageOf(reason)));
    },
    [collection],
  );

  const remove = useCallback(
    (ids: readonly string[]): void => {
      if (ids.length === 0) return;
      counter.current += 1;
      const deletion = { key: counter.current, ids, dueAt: Date.now() + undoMs, isRunning: false };
      setWaiting((all) => [...all, deletion]);
      timers.current.set(
        deletion.key,
        setTimeout(() => void run(deletion), undoMs),
      );
    },
    [run],
  );

  const undo = useCallback(
    (key: number): void => {
      drop(key);
      notifyDone(text.records.undone);
    },
    [drop],
  );
  const flush = useCallback(
    (key: number): void => {
      const deletion = latest.current.waiting.find((each) => each.key === key);
      if (deletion !== undefined) void run(deletion);
    },
    [run],
  );

  useEffect(() => {
    const due = (): Deletion[] => latest.current.waiting.filter(({ key }) => timers.current.has(key));
    const hide = (): void => {
      for (const { key, ids } of due()) {
        clearTimeout(timers.current.get(key));
        timers.current.delete(key);
        for (const id of ids) sendKept(collection, id);
      }
    };
    window.addEventListener("pagehide", hide);
    return () => {
      window.removeEventListener("pagehide", hide);
      for (const deletion of due()) void run(deletion);
    };
  }, [collection, run]);

  const hidden = useMemo(() => new Set(waiting.flatMap(({ ids }) => ids)), [waiting]);
  return { waiting, hidden, remove, undo, flush };
}

/** The client's requests end with the page; this one does not. */
function sendKept(collection: string, id: string): void {
  const path = `/api/${encodeURIComponent(collection)}/${encodeURIComponent(id)}`;
  const headers = { Authorization: `Bearer ${client.accessToken ?? ""}` };
  void fetch(path, { method: "DELETE", keepalive: true, headers }).catch(() => undefined);
}
