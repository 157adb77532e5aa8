/** Runs of functions for the page: keys, files with their handlers, the ends of a run. */
import type { EndpointEntry, FunctionEntry, FunctionRun, ScriptFileEntry } from "@socle/protocol";

/** The key of a row. A run that ran several times has a row for each end, so the key contains the end. */
export function rowKeyOf({ runId, endedAt }: FunctionRun): string {
  return `${runId} ${endedAt ?? ""}`;
}

export function isUnderWay({ status }: FunctionRun): boolean {
  return status === "waiting" || status === "running";
}

/** Milliseconds since 1970; infinite while the run goes on. */
function endOf({ endedAt }: FunctionRun): number {
  return endedAt === null ? Number.POSITIVE_INFINITY : Date.parse(endedAt);
}

/** The path without the folder functions/, which holds all files: "posts/notify.ts". */
export function shortName(filePath: string): string {
  return filePath.replace(/^functions\//, "");
}

/** A handler of a function or of an endpoint; an endpoint has no retries. */
export interface HandlerEntry
  extends Pick<FunctionEntry, "collection" | "filePath" | "handler" | "eventType" | "timeout" | "calls"> {
  readonly retries: number | null;
}

/** The handlers of an endpoint: the path takes the place of the event. */
export function endpointHandlers({
  path,
  filePath,
  methods,
  access,
  methodAccess,
  timeout,
}: EndpointEntry): HandlerEntry[] {
  return methods.map((handler) => {
    const eventType = `${path} · ${methodAccess?.[handler] ?? access}`;
    return { collection: "", filePath, handler, eventType, timeout, retries: null };
  });
}

/** A file of functions with its handlers. */
export interface HandlerFile {
  readonly filePath: string;
  readonly collection: string;
  /** The options of the file, shared by all handlers except hooks. Null for a file that was never loaded. */
  readonly timeout: number | null;
  readonly retries: number | null;
  readonly handlers: readonly Pick<HandlerEntry, "handler" | "eventType" | "calls">[];
  readonly lastFailure: FunctionRun | null;
  readonly loadedAt: string | null;
  readonly problem: ScriptFileEntry["problem"];
}

/**
 * The files of functions by path: files with handlers, and files that were never loaded.
 * @param failures failed runs, the newest first. @param files the result of the last load of each file.
 */
export function filesOf(
  entries: readonly HandlerEntry[],
  failures: readonly FunctionRun[],
  files: readonly ScriptFileEntry[],
): HandlerFile[] {
  const states = new Map(files.map((file) => [file.filePath, file]));
  const known = new Set(entries.map(({ filePath }) => filePath));
  const newest = new Map<string, FunctionRun>();
  for (const run of failures) if (!newest.has(run.filePath)) newest.set(run.filePath, run);
  const loaded = [...Map.groupBy(entries, ({ filePath }) => filePath)].flatMap(([filePath, group]): HandlerFile[] => {
    const [first] = group;
    if (first === undefined) return [];
    const { collection, timeout, retries } = first;
    const handlers = group.map(({ handler, eventType, calls }) => ({
      handler,
      eventType,
      ...(calls !== undefined && { calls }),
    }));
    const { loadedAt = null, problem = null } = states.get(filePath) ?? {};
    const lastFailure = newest.get(filePath) ?? null;
    return [{ filePath, collection, timeout, retries, handlers, lastFailure, loadedAt, problem }];
  });
  const others = files.flatMap(({ filePath, collection, loadedAt, problem }): HandlerFile[] => {
    if (known.has(filePath) || problem === null) return [];
    const lastFailure = newest.get(filePath) ?? null;
    const none = { timeout: null, retries: null, handlers: [] };
    return [{ filePath, collection: collection ?? "", ...none, lastFailure, loadedAt, problem }];
  });
  return [...loaded, ...others].sort((a, b) => a.filePath.localeCompare(b.filePath));
}

/**
 * All known states of a run: the current state first, then the ends, the newest first.
 * @param listed the rows of the page. @param found the states from the query for this run; undefined while the query loads.
 */
export function statesOf(runId: string, listed: readonly FunctionRun[], found?: readonly FunctionRun[]): FunctionRun[] {
  const isIt = (run: FunctionRun): boolean => run.runId === runId;
  const read = found?.filter(isIt) ?? [];
  // A "running" row may be old: the states from the query for this run take precedence.
  const fromList = listed.filter((run) => isIt(run) && (read.length === 0 || !isUnderWay(run)));
  const states = new Map([...fromList, ...read].map((run) => [rowKeyOf(run), run]));
  return [...states.values()].sort((a, b) => (endOf(a) === endOf(b) ? 0 : endOf(b) - endOf(a)));
}

/**
 * The ends of runs that ran again later, by the key of the row, with the newest state of the run.
 * @param runs the rows of a list, and all other known states of their runs.
 */
export function laterStates(runs: readonly FunctionRun[]): ReadonlyMap<string, FunctionRun["status"]> {
  const newest = new Map<string, FunctionRun>();
  for (const run of runs) {
    const known = newest.get(run.runId);
    if (known === undefined || endOf(run) > endOf(known)) newest.set(run.runId, run);
  }
  return new Map(
    runs.flatMap((run): [string, FunctionRun["status"]][] => {
      const last = newest.get(run.runId);
      return last === undefined || rowKeyOf(last) === rowKeyOf(run) ? [] : [[rowKeyOf(run), last.status]];
    }),
  );
}
