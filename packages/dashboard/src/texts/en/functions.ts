/** Texts of the page of functions, and of scripts in general. */
import type { RunPreview } from "@socle/protocol";
import { count } from "./count.ts";

export const scripts = {
  broken: (n: number) => (n === 1 ? "1 file does not load" : `${n.toLocaleString()} files do not load`),
  moreBroken: (n: number) => `and ${count(n, "more file")}, in the log`,
  neverLoaded: "The file has no effect: no version of the file has ever loaded.",
  oldRuns: "The last version that did load keeps running, from",
  loaded: "Loaded",
  notLoaded: "does not load",
  failures: (n: number) => `${count(n, "failure")} to look at`,
  saveAs: "Save this as",
  copyPath: "Copy the path",
  whenLoaded: "loads the file at once, a running service on SIGHUP or at its next start.",
};

export const functions = {
  title: "Functions",
  tabsLabel: "Views of functions",
  tabs: { handlers: "Handlers", runs: "Runs" },
  collection: "Collection",
  handlers: "Runs after or before",
  function: "Function",
  lastFailure: "Last failure",
  noFailure: "none lately",
  calls: (n: { passed: string; refused: string; failed: string }) =>
    `${n.passed} passed, ${n.refused} refused, ${n.failed} failed`,
  failureOf: (file: string) => `Last failure of ${file}`,
  filters: "Find runs",
  statusFilter: "Status",
  anyStatus: "Any status",
  fileFilter: "File",
  anyFile: "Any file",
  when: "When",
  event: "Event",
  happened: "Event happened",
  ended: "Ended",
  runOf: (handler: string, file: string) => `${handler} of ${file}`,
  loadedSince: "The file has been loaded again since: a retry runs the new version.",
  notLoadedSince: "Correct and save the file, then retry.",
  retryOf: (handler: string, file: string) => `Retry: ${handler} of ${file}`,
  retryAll: (n: number) => `Retry ${count(n, "failed run")}`,
  retryAllTitle: (n: number) => `Retry ${count(n, "failed run")}?`,
  retryAllBody:
    "Each run starts again from its beginning, with the present code. All effects before the error, such as a sent mail, happen again. Runs that have been mended since are left out.",
  retryAllAction: (n: number) => `Retry ${count(n, "run")}`,
  retryStarted: "The run starts again",
  retriedAll: (n: number, mended: number) =>
    `${count(n, "run starts", "runs start")} again${mended === 0 ? "" : `; ${count(mended, "run was", "runs were")} mended already`}`,
  retryFailed: "The run was not started again",
  noRetry: "This run cannot be repeated: only the last 1,000 failed runs can, while their file is loaded.",
  earlier: "Earlier ends of this run",
  goneTitle: "This run is not listed any more",
  goneBody: "The run is not among the newest runs. The log may still have its entries.",
  openLog: "Search the log for the run",
  emptyTitle: "No functions yet",
  emptyBody:
    "A function runs after a record was created, changed or deleted. The name of its folder is the collection.",
  new: "New function",
  newTitle: "Write a function",
  record: "Record",
  failedBefore: "Failed before",
  later: {
    waiting: "waits again",
    running: "runs again",
    completed: "mended since",
    failed: "failed again since",
  },
  triedAgain: "failing, tried again",
  attempt: (n: number) => `attempt ${n.toLocaleString()}`,
  nextAttempt: "Next",
  noRunsTitle: "Nothing has run yet",
  noRunsBody: "A run appears here as soon as a record changes that a function is for.",
  nothingFound: "No run matches",
  nothingFoundBody: "Try another status or another file.",
};

/** Texts of the preview of a run, of functions and jobs. */
export const preview = {
  title: "Preview",
  action: "Preview with the present code",
  intro:
    "The present code runs with the input of this run. The effects are recorded, and nothing stays: no change, no mail, no request.",
  failed: "There is no preview",
  late: "Time is up",
  nothing: "The run would change, send and call nothing.",
  incomplete: "The run did not come to its end: these are the effects before.",
  changes: ({ created, updated, deleted }: RunPreview["changes"][number]) =>
    [
      created > 0 && `${created.toLocaleString()} created`,
      updated > 0 && `${updated.toLocaleString()} changed`,
      deleted > 0 && `${deleted.toLocaleString()} deleted`,
    ]
      .filter(Boolean)
      .join(", "),
  kinds: { created: "created", updated: "changed", deleted: "deleted" },
  mails: "Mails",
  mailTo: (to: string, subject: string) => `${to}: ${subject}`,
  calls: "Calls that were not made",
  callOf: ({ kind, method, target }: RunPreview["calls"]["items"][number]) =>
    kind === "queue" ? `enqueue in ${target}` : `${kind === "storage" ? "storage " : ""}${method} ${target}`,
  answered: (answer: string) => `answered ${answer}`,
  more: (n: number) => `and ${count(n, "more", "more")}`,
  log: "Log of the preview",
  replay: "Replay",
  replayTitle: "Replay this run?",
  replayBody: "The run starts again with the present code. By the preview, the run does this:",
  replayAnyway: "The run did not come to its end in the preview.",
  mailCount: (n: number, to: string) => `${count(n, "mail")}: ${to}`,
  callCount: (n: number, targets: string) => `${count(n, "call")}: ${targets}`,
};
