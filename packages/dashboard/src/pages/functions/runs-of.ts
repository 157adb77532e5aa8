/** Runs of functions as the page shows them: keys, files with their handlers, the ends of one run. */
import type { FunctionEntry, FunctionRun } from "@socle/protocol";

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

/** A file of functions with its handlers. */
export interface HandlerFile {
  readonly filePath: string;
  readonly collection: string;
  /** Options are those of the file: all its handlers have the same. */
  readonly timeout: number;
  readonly retries: number;
  readonly handlers: readonly { readonly handler: string; readonly eventType: string }[];
  readonly lastFailure: FunctionRun | null;
}

/** @param failures failed runs, the newest first. */
export function filesOf(entries: readonly FunctionEntry[], failures: readonly FunctionRun[]): HandlerFile[] {
  const newest = new Map<string, FunctionRun>();
  for (const run of failures) if (!newest.has(run.filePath)) newest.set(run.filePath, run);
  return [...Map.groupBy(entries, ({ filePath }) => filePath)]
    .flatMap(([filePath, group]) => {
      const [first] = group;
      if (first === undefined) return [];
      const { collection, timeout, retries } = first;
      const handlers = group.map(({ handler, eventType }) => ({ handler, eventType }));
      return [{ filePath, collection, timeout, retries, handlers, lastFailure: newest.get(filePath) ?? null }];
    })
    .sort((a, b) => a.filePath.localeCompare(b.filePath));
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
