/** Texts that several pages share. */
import { count } from "./count.ts";

export const common = {
  cancel: "Cancel",
  close: "Close",
  confirm: "Confirm",
  copied: "Copied",
  copy: "Copy",
  copyValue: (value: string) => `Copy ${value}`,
  create: "Create",
  delete: "Delete",
  loading: "Loading",
  never: "never",
  refresh: "Refresh",
  stay: "Stay",
  noUser: "No user has that email",
  apiKey: (end: string) => `API key ${end}`,
  retry: "Try again",
  save: "Save",
  typeToConfirm: "To confirm, type",
  undo: "Undo",
};

export const errors = {
  title: "The request failed",
  offline: "The service does not respond. Check that the service runs, and your connection.",
  inLog: "Find the entry in the log",
  retryAfter: (seconds: number) => `Try again in ${count(seconds, "second")}.`,
};

export const notFound = {
  title: "No page has this address",
  body: "The address may be mistyped, or the page is gone.",
  home: "Go to the overview",
};

export const table = {
  action: "Action",
  pages: "Pages of the list",
  range: (first: number, last: number, total: number) =>
    `${first.toLocaleString()}–${last.toLocaleString()} of ${total.toLocaleString()}`,
  previous: "Previous page",
  next: "Next page",
  select: "Select",
  selectAll: "Select all on this page",
  clearSearch: "Clear the search",
  clearFilters: "Clear the filters",
  copyNamed: (name: string) => `Copy: ${name}`,
  showAll: (characters: string) => `Show more of ${characters} characters`,
};

export const diff = {
  kinds: { added: "Added", removed: "Removed", changed: "Changed" },
  unknown: "not known",
  more: (n: number) => `Show ${count(n, "more field")}`,
  tooMany: (n: number) => `and ${count(n, "more field")}: the payload has all fields`,
  fold: "Show less",
  unfold: (characters: string) => `Show ${characters} characters`,
};

export const tail = {
  connecting: "Connecting",
  live: "Live",
  paused: "Paused",
  broken: "Reconnecting",
  toNewest: "Jump to newest",
  fresh: (n: string) => `Jump to newest, ${n} new`,
};

export const status = {
  waiting: "Waiting",
  running: "Running",
  completed: "Completed",
  failed: "Failed",
};

export const runs = {
  run: "Run",
  file: "File",
  timeout: "Timeout",
  retries: "Retries",
  retry: "Retry",
  status: "Status",
  error: "Error",
  sourceOf: (file: string) => `Source of ${file}`,
  duration: "Duration",
  log: "Log",
  openLog: "Open in the log",
  noLog: "No entry. The service remembers the last 2,000 of all that happens.",
};
