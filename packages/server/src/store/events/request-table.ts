/**
 * The table of requests that may have changed something: the beginnings of traces. A row has the requests that a process has answered in a second or less,
 * so that a request costs no row. The rows go with the events of their time.
 */
import type { Reader, Transactor } from "../database/index.ts";

export const requestSteps: readonly string[] = [
  // `seq`: the number of all requests up to the last of the row. An id is a prefix for the process and a number, which rises: `low` to `high`.
  // `at`: the newest time of a request. `requests`: JSON of `KeptRequest[]`.
  `CREATE TABLE _requests (
    seq INTEGER PRIMARY KEY,
    prefix TEXT NOT NULL,
    low INTEGER NOT NULL,
    high INTEGER NOT NULL,
    at INTEGER NOT NULL,
    requests TEXT NOT NULL
  ) STRICT`,
  "CREATE INDEX _requests_ids ON _requests (prefix, low, high)",
];

/** A request that was answered. */
export interface LoggedRequest {
  /** The `X-Request-Id` of the answer. */
  readonly id: string;
  readonly method: string;
  /** Without the query, which may hold a token. */
  readonly path: string;
  readonly status: number;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** Milliseconds until the answer began. */
  readonly ms: number;
  /** The id of the user or of the API key; null for a caller without a token. */
  readonly caller: string | null;
  /** See `TraceOrigin`. */
  readonly link: string | null;
}

/** A request in a row, as a list: half the bytes of an object. Trailing nulls are left out. */
type KeptRequest = readonly [
  id: string,
  method: string,
  path: string,
  status: number,
  at: number,
  ms: number,
  caller?: string | null,
  link?: string | null,
];

function keptOf({ id, method, path, status, at, ms, caller, link }: LoggedRequest): KeptRequest {
  if (link !== null) return [id, method, path, status, at, ms, caller, link];
  return caller === null ? [id, method, path, status, at, ms] : [id, method, path, status, at, ms, caller];
}

function loggedOf([id, method, path, status, at, ms, caller = null, link = null]: KeptRequest): LoggedRequest {
  return { id, method, path, status, at, ms, caller, link };
}

/** The prefix and the number of an id; see `Router`. */
function partsOf(id: string): { prefix: string; number: number } | null {
  const [, prefix, digits] = /^([0-9a-f]{8})-([0-9a-z]{1,10})$/.exec(id) ?? [];
  return prefix === undefined || digits === undefined ? null : { prefix, number: Number.parseInt(digits, 36) };
}

/** Whether the number of an id is lower than that of another id with the same prefix. */
function isLower(id: string, other: string): boolean {
  return id.length < other.length || (id.length === other.length && id < other);
}

/** Adds the requests that some processes have answered, as a row for each process. */
export function insertRequests(tx: Transactor, requests: readonly LoggedRequest[]): void {
  for (const [prefix, group] of Map.groupBy(requests, ({ id }) => id.slice(0, id.indexOf("-")))) {
    let [low = "", high = ""] = [group[0]?.id, group[0]?.id];
    let newest = 0;
    for (const { id, at } of group) {
      if (isLower(id, low)) low = id;
      if (isLower(high, id)) high = id;
      if (at > newest) newest = at;
    }
    const numberOf = (id: string): number => Number.parseInt(id.slice(prefix.length + 1), 36);
    tx.run(
      `INSERT INTO _requests (seq, prefix, low, high, at, requests)
       SELECT coalesce(max(seq), 0) + ?, ?, ?, ?, ?, ? FROM _requests`,
      group.length,
      prefix,
      numberOf(low),
      numberOf(high),
      newest,
      JSON.stringify(group.map(keptOf)),
    );
  }
}

export function requestOf(reader: Reader, id: string): LoggedRequest | null {
  const parts = partsOf(id);
  if (parts === null) return null;
  const row = reader.get<{ requests: string }>(
    `SELECT requests FROM _requests
     WHERE prefix = ?1 AND low <= ?2 AND high >= ?2 AND instr(requests, ?3) > 0 ORDER BY low DESC LIMIT 1`,
    parts.prefix,
    parts.number,
    JSON.stringify(id),
  );
  // The text was written by `insertRequests`; a version without lists wrote objects.
  const requests = row === null ? [] : (JSON.parse(row.requests) as (KeptRequest | LoggedRequest)[]);
  const found = requests.map((each) => ("id" in each ? each : loggedOf(each))).find((request) => request.id === id);
  return found ?? null;
}

/** The rows to remove: with requests from before a time alone, or beyond a number of requests. */
interface OldRequests {
  readonly before: number;
  readonly keep: number;
}

const isOld = "(at < ? OR seq <= (SELECT max(seq) FROM _requests) - ?)";

/** Whether the oldest row is to be removed. */
export function hasOldRequests(reader: Reader, { before, keep }: OldRequests): boolean {
  const sql = `SELECT 1 FROM (SELECT seq, at FROM _requests ORDER BY seq LIMIT 1) WHERE ${isOld}`;
  return reader.get(sql, before, keep) !== null;
}

/** Removes the oldest rows, at most `most`. */
export function trimRequests(tx: Transactor, { before, keep }: OldRequests, most: number): void {
  const sql = `DELETE FROM _requests WHERE seq IN (SELECT seq FROM _requests ORDER BY seq LIMIT ?) AND ${isOld}`;
  tx.run(sql, most, before, keep);
}
