/** Runs of functions as the page shows them: keys, files with their handlers, the ends of one run. */
import type { EndpointEntry, FunctionEntry, FunctionRun, ScriptFileEntry } from "@socle/protocol";

/** Each end of a run is a row of its own: the service lists a run that was made again once for each. */
export function rowKeyOf({ runId, endedAt }: FunctionRun): string {
  return `${runId} ${endedAt ?? ""}`;
}

export function isUnderWay({ status }: FunctionRun): boolean {
  return status === "waiting" || status === "running";
}

/** "posts/notify.ts": all files are in the folder functions/. */
export function shortName(filePath: string): string {
  return filePath.replace(/^functions\//, "");
}

/** A handler of a function or of an endpoint; an endpoint has no retries. */
export interface HandlerEntry
  extends Pick<FunctionEntry, "collection" | "filePath" | "handler" | "eventType" | "timeout" | "calls"> {
  readonly retries: number | null;
}

/** The handlers of an endpoint: its path stands where functions have their event. */
export function endpointHandlers({ path, filePath, methods, access, timeout }: EndpointEntry): HandlerEntry[] {
  const eventType = `${path} · ${access}`;
  return methods.map((handler) => ({ collection: "", filePath, handler, eventType, timeout, retries: null }));
}

/** A file of functions with its handlers. */
export interface HandlerFile {
  readonly filePath: string;
  readonly collection: string;
  /** Options are those of the file: all its handlers have the same, but for hooks. Null for one that has never been loaded. */
  readonly timeout: number | null;
  readonly retries: number | null;
  readonly handlers: readonly Pick<HandlerEntry, "handler" | "eventType" | "calls">[];
  readonly lastFailure: FunctionRun | null;
  readonly loadedAt: string | null;
  readonly problem: ScriptFileEntry["problem"];
}

/**
 * The files of functions by path: those with handlers, and those that have never been loaded.
 * @param failures failed runs, the newest first. @param files what became of each file when it was last loaded.
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
 * All that is known of one run: under way first, then its ends, the newest first.
 * @param listed the rows of the page. @param found those that were read for this run, or undefined while they are on their way.
 */
export function statesOf(runId: string, listed: readonly FunctionRun[], found?: readonly FunctionRun[]): FunctionRun[] {
  const isIt = (run: FunctionRun): boolean => run.runId === runId;
  const read = found?.filter(isIt) ?? [];
  // A row that says "running" may be of a moment ago: what was read for the run alone counts more.
  const fromList = listed.filter((run) => isIt(run) && (read.length === 0 || !isUnderWay(run)));
  const states = new Map([...fromList, ...read].map((run) => [rowKeyOf(run), run]));
  const time = ({ endedAt }: FunctionRun): number =>
    endedAt === null ? Number.POSITIVE_INFINITY : Date.parse(endedAt);
  return [...states.values()].sort((a, b) => (time(a) === time(b) ? 0 : time(b) - time(a)));
}

/** The runs of a list that were made again: a later row is of the same run. */
export function retriedRows(runs: readonly FunctionRun[]): ReadonlySet<string> {
  const newest = new Map<string, FunctionRun>();
  const end = ({ endedAt }: FunctionRun): number => (endedAt === null ? Number.POSITIVE_INFINITY : Date.parse(endedAt));
  for (const run of runs) {
    const known = newest.get(run.runId);
    if (known === undefined || end(run) > end(known)) newest.set(run.runId, run);
  }
  return new Set(runs.filter((run) => newest.get(run.runId) !== run).map(rowKeyOf));
}
