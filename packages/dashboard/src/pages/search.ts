/**
 * The addresses of the pages: each page has a reader of the parameters, and the router reads all of these at its start. A parameter without
 * a meaning is left out.
 */
import { LOG_LEVELS, type LogLevel, MAIL_STATUSES, ROLES, VISIBILITIES } from "@socle/protocol";

/** Only an address of this dashboard: never an address of another site. */
function ownAddress(search: RawSearch, name: string): string | undefined {
  const from = textParam(search, name);
  return from !== undefined && /^\/(?![/\\])/.test(from) ? from : undefined;
}

export const readLoginSearch = searchOf({
  /** The page after the sign-in, below `/_/`. */
  from: ownAddress,
});

export const readSetupSearch = searchOf({
  /** The token of the set-up link. */
  token: textParam,
});

export const readOverviewSearch = searchOf({
  /** The time of the charts: undefined for the last hour. */
  range: choiceOf(["week"]),
});

export const readRecordSearch = searchOf({
  /** An expression of the filter language. */
  filter: textParam,
  /** The words in the search box. */
  search: textParam,
  /** In the form of the API: "-createdAt,title". */
  sort: textParam,
  /** The id of the user with whose rights the records are shown, or "anonymous". */
  as: textParam,
  /** The field whose places are shown on a map, in place of the grid. */
  map: textParam,
  /** The name of the saved view. */
  view: textParam,
  /** The id of the record whose drawer is open, or "new". */
  record: textParam,
  /** Whether the export is open. */
  export: (search: RawSearch, name: string): true | undefined => (search[name] === true ? true : undefined),
});

export type RecordSearch = ReturnType<typeof readRecordSearch>;

/** The requests of a trial. */
const attempts = ["list", "read", "create", "update", "delete"] as const;
export type Attempt = (typeof attempts)[number];

export function attemptOf(name: string): Attempt | undefined {
  return attempts.find((attempt) => attempt === name);
}

export const readSchemaSearch = searchOf({
  tab: choiceOf(["fields", "permissions", "indexes", "json"]),
  /** For a new collection: the collection to copy. */
  from: textParam,
  /** For a new collection: the name to begin with. */
  name: textParam,
  /** For a trial of the rules: the user; undefined for a request without a user. */
  as: textParam,
  attempt: choiceOf(attempts),
  /** The id of the record of a trial. */
  record: textParam,
});

export type SchemaSearch = ReturnType<typeof readSchemaSearch>;

export const readDiagramSearch = searchOf({
  view: choiceOf(["table"]),
  /** A part of the name of a collection or a field. */
  search: textParam,
});

export const readUserSearch = searchOf({
  /** A part of the email. */
  search: textParam,
  role: choiceOf(ROLES),
  page: countParam,
  /** The id of the user whose drawer is open, "new" or "invite". */
  user: textParam,
});

export type UserSearch = ReturnType<typeof readUserSearch>;

export const readStorageSearch = searchOf({
  /** A part of the name. */
  search: textParam,
  visibility: choiceOf(VISIBILITIES),
  /** The id of the owner. */
  user: textParam,
  view: choiceOf(["list", "grid"]),
  page: countParam,
  /** The id of the file whose drawer is open. */
  file: textParam,
});

export type StorageSearch = ReturnType<typeof readStorageSearch>;

export const readSqlSearch = searchOf({
  /** The statement in the editor. */
  sql: textParam,
});

export const readQuerySearch = searchOf({
  /** The key of the group whose drawer is open. */
  query: textParam,
});

export const readFunctionSearch = searchOf({
  tab: choiceOf(["handlers", "runs"]),
  status: choiceOf(["waiting", "running", "completed", "failed"]),
  /** A file of functions. */
  file: textParam,
  page: countParam,
  /** The id of the run whose details are open. */
  run: textParam,
});

export type FunctionSearch = ReturnType<typeof readFunctionSearch>;

export const readJobSearch = searchOf({
  /** The name of the job whose runs are shown. */
  job: textParam,
  /** The id of the run whose log is open. */
  run: textParam,
});

export type JobSearch = ReturnType<typeof readJobSearch>;

/** The known levels of a text with commas between the levels. */
export function levelsIn(written: string | undefined): readonly LogLevel[] {
  const words = written?.split(",") ?? [];
  return LOG_LEVELS.filter((level) => words.includes(level));
}

function levelsParam(search: RawSearch, name: string): string | undefined {
  return levelsIn(textParam(search, name)).join(",") || undefined;
}

export const readLogSearch = searchOf({
  /** Levels with commas between the levels. */
  levels: levelsParam,
  /** A part of the message, of the request's id or of a field. */
  search: textParam,
});

export type LogSearch = ReturnType<typeof readLogSearch>;

/** Leaves out a text that is not a time. */
function timeParam(search: RawSearch, name: string): string | undefined {
  const value = textParam(search, name);
  return value === undefined || Number.isNaN(Date.parse(value)) ? undefined : value;
}

export const readEventSearch = searchOf({
  /** In the form of the API: "posts.created,admin.*". */
  type: textParam,
  /** RFC 3339. */
  from: timeParam,
  to: timeParam,
  /** The id of the user who caused the events. */
  actor: textParam,
  /** The id of the user to whom the events happened. */
  about: textParam,
  /** The id of the event whose details are open. */
  event: textParam,
});

export type EventSearch = ReturnType<typeof readEventSearch>;

export const readMailSearch = searchOf({
  /** A part of the recipient. */
  search: textParam,
  status: choiceOf(MAIL_STATUSES),
  page: countParam,
  /** The id of the mail whose drawer is open. */
  mail: textParam,
});

export type MailSearch = ReturnType<typeof readMailSearch>;

export const readFailureSearch = searchOf({
  /** Undefined for open groups. */
  status: choiceOf(["muted", "resolved"]),
  kind: choiceOf(["function", "hook", "endpoint", "query", "job", "queue", "mail"]),
  /** The id of the group whose drawer is open. */
  group: textParam,
});

export type FailureSearch = ReturnType<typeof readFailureSearch>;

export const readSocketSearch = searchOf({
  /** The id of a user. */
  user: textParam,
  page: countParam,
  /** The id of the socket whose drawer is open. */
  socket: textParam,
});

export type SocketSearch = ReturnType<typeof readSocketSearch>;

export const readKeySearch = searchOf({
  /** Whether the form of a new key is open. */
  key: choiceOf(["new"]),
});

export const readBackupSearch = searchOf({
  /** The name of the backup whose drawer is open. */
  backup: textParam,
});

export const readApiSearch = searchOf({
  /** Words of an operation. */
  search: textParam,
  group: textParam,
  /** The id of the operation that is open. */
  operation: textParam,
});

export type ApiSearch = ReturnType<typeof readApiSearch>;

export const readSettingsSearch = searchOf({
  /** A part of a key or of its description. */
  search: textParam,
});

type RawSearch = Record<string, unknown>;

/** The reader of a parameter; undefined for a parameter without a meaning. */
type Param<T> = (search: RawSearch, name: string) => T | undefined;

type SearchBy<P extends { readonly [name: string]: Param<unknown> }> = {
  -readonly [name in keyof P]?: ReturnType<P[name]>;
};

/** A text that is not empty. The router parses parameters as JSON, so digits arrive as a number. */
function textParam(search: RawSearch, name: string): string | undefined {
  const value = search[name];
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** A choice of a closed set. */
function choiceOf<const T extends string>(allowed: readonly T[]): Param<T> {
  return (search, name) => allowed.find((choice) => choice === search[name]);
}

/** A whole number from 1 on. */
function countParam(search: RawSearch, name: string): number | undefined {
  const value = Number(search[name]);
  return search[name] !== undefined && Number.isSafeInteger(value) && value > 0 ? value : undefined;
}

/**
 * The reader of the parameters of a page, each by its own reader. The answer names every parameter, also a parameter without a
 * value: the router passes on each parameter that a reader leaves out.
 */
function searchOf<P extends { readonly [name: string]: Param<unknown> }>(params: P) {
  return (search: RawSearch): SearchBy<P> =>
    // The entries have the names of the readers, and their values.
    Object.fromEntries(Object.entries(params).map(([name, read]) => [name, read(search, name)])) as SearchBy<P>;
}
