/**
 * A thread with a connection of its own, for what takes long: the event loop goes on meanwhile. Each message is one
 * statement, or null for the end, and is answered by its result, or by what went wrong.
 */
import { Connection, sqliteCode } from "./connection.ts";
import { addFunctions } from "./functions.ts";
import type { Value } from "./types.ts";

declare const self: Worker;

export interface StatementRequest {
  /** Of the database file. */
  readonly path: string;
  /** Its first number is not 0 once nobody waits for the statement any more. */
  readonly stop: Int32Array;
  readonly do: "get" | "all" | "run";
  readonly sql: string;
  readonly values: Value[];
}

export type StatementReply =
  | { readonly result: unknown }
  | { readonly error: { readonly message: string; readonly code: string | null } };

let connection: Connection | null = null;

function open({ path, stop }: StatementRequest): Connection {
  const opened = new Connection(path, { readonly: false });
  opened.execute("PRAGMA busy_timeout = 5000");
  opened.execute("PRAGMA synchronous = NORMAL");
  opened.execute("PRAGMA wal_autocheckpoint = 0");
  // What does not fit goes to the log, and a sort to a file: memory does not grow with the table.
  opened.execute("PRAGMA cache_size = -16000");
  addFunctions(opened, () => {
    if (Atomics.load(stop, 0) !== 0) throw new Error("Nobody waits for this any more");
  });
  return opened;
}

function answer(request: StatementRequest): StatementReply {
  try {
    connection ??= open(request);
    return { result: connection[request.do](request.sql, ...request.values) };
  } catch (thrown) {
    const message = thrown instanceof Error ? thrown.message : String(thrown);
    return { error: { message, code: sqliteCode(thrown) } };
  }
}

function close(): StatementReply {
  try {
    connection?.close();
  } catch {
    // The thread ends with its connection, whatever state that is in.
  }
  return { result: null };
}

self.onmessage = ({ data }: MessageEvent<StatementRequest | null>) => {
  self.postMessage(data === null ? close() : answer(data));
};
