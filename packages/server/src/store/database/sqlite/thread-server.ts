/**
 * The thread side of a `ThreadConnection`: a SQLite connection on a thread, which serves requests in turn. A
 * request is a statement, a checkpoint, or a task: a function of another module that runs several statements in one snapshot.
 */
import { fdatasyncSync } from "node:fs";
import type { ErrorCode } from "@socle/protocol";
import { AppError } from "../../../base/kernel/index.ts";
import type { Reader, Value } from "../store.ts";
import { Connection } from "./connection.ts";
import { sqliteCode } from "./errors.ts";
import { addFunctions } from "./functions.ts";
import { assertSameFile } from "./open-file.ts";

declare const self: Worker;

/** The database that a request of a thread is about, and the stop flag. */
export interface ThreadTarget {
  readonly path: string;
  /** The first number is not 0 after all callers have given up the request. */
  readonly stop: Int32Array;
}

/** The way of an answer for which the event loop blocks. */
export interface BlockingAnswer {
  readonly port: MessagePort;
  /** Set to 1 with the answer. */
  readonly sent: Int32Array;
}

export interface StatementRequest extends ThreadTarget {
  readonly do: "get" | "all" | "run";
  readonly sql: string;
  readonly values: Value[];
  /** Absent if the event loop does not block for the answer. */
  readonly answer?: BlockingAnswer;
}

interface CheckpointRequest extends ThreadTarget {
  readonly do: "checkpoint";
  /** A descriptor of the database file, open for writing. */
  readonly file: number;
}

/** Counts are pages; `log` is -1 when no log exists. */
export interface CheckpointResult {
  readonly busy: number;
  readonly log: number;
  readonly checkpointed: number;
}

interface TaskRequest extends ThreadTarget {
  readonly do: "task";
  readonly input: unknown;
  /** The version of the tables for which the input was made. */
  readonly schemaVersion: number;
}

/** A result, and the buffers of the result that the event loop gets without a copy. */
interface ThreadResult {
  readonly result: unknown;
  readonly buffers?: ArrayBuffer[];
}

export type ThreadReply =
  | ThreadResult
  /** The tables have changed since the task was made. */
  | { readonly isStale: true }
  | { readonly refusal: { readonly code: ErrorCode; readonly message: string } }
  | { readonly error: { readonly message: string; readonly code: string | null } };

export type ThreadRequest = StatementRequest | CheckpointRequest | TaskRequest;

type ThreadTask = (reader: Reader, input: unknown) => ThreadResult;

function open({ path, stop }: ThreadTarget): Connection {
  const opened = new Connection(path, { readonly: false });
  opened.execute("PRAGMA busy_timeout = 5000");
  opened.execute("PRAGMA synchronous = NORMAL");
  opened.execute("PRAGMA wal_autocheckpoint = 0");
  // Dirty pages beyond the cache go to the log, and sorts to a file, so memory does not grow with the table.
  opened.execute("PRAGMA cache_size = -16000");
  addFunctions(opened, () => {
    if (Atomics.load(stop, 0) !== 0) throw new Error("The caller of the statement has left");
  });
  return opened;
}

/** The version of the tables in a reader's view: SQLite raises the version with each change of the schema. */
export function schemaVersionOf(reader: Reader): number {
  return reader.get<{ schema_version: number }>("PRAGMA schema_version")?.schema_version ?? 0;
}

function checkpoint(connection: Connection, file: number): CheckpointResult | null {
  const result = connection.get<CheckpointResult>("PRAGMA wal_checkpoint(PASSIVE)");
  // SQLite flushes the file only in the checkpoint that reaches the end of the log, while the writer waits. Pages
  // copied earlier are flushed here, so that little is left for that moment.
  if (result !== null && result.checkpointed > 0) fdatasyncSync(file);
  return result;
}

function runTask(connection: Connection, { input, schemaVersion }: TaskRequest, task: ThreadTask): ThreadReply {
  connection.run("BEGIN");
  try {
    // The first read opens the snapshot, so the version belongs to the rows that follow.
    connection.get("SELECT 1 FROM sqlite_schema LIMIT 1");
    if (schemaVersionOf(connection) !== schemaVersion) return { isStale: true };
    return task(connection, input);
  } finally {
    // Damage may have ended the transaction already.
    if (connection.inTransaction) connection.run("ROLLBACK");
  }
}

/** Serves the requests of this thread until the end. @param task runs the input of a task. */
export function serveThread(task: ThreadTask): void {
  let connection: Connection | null = null;
  const answer = (request: ThreadRequest): ThreadReply => {
    try {
      if (connection === null && request.do === "checkpoint") assertSameFile(request.path, request.file);
      connection ??= open(request);
      if (request.do === "checkpoint") return { result: checkpoint(connection, request.file) };
      if (request.do === "task") return runTask(connection, request, task);
      return { result: connection[request.do](request.sql, ...request.values) };
    } catch (thrown) {
      if (thrown instanceof AppError) return { refusal: { code: thrown.code, message: thrown.message } };
      const message = thrown instanceof Error ? thrown.message : String(thrown);
      return { error: { message, code: sqliteCode(thrown) } };
    }
  };
  const close = (): ThreadReply => {
    try {
      connection?.close();
    } catch {
      // The thread ends with its connection, in any state.
    }
    return { result: null };
  };
  self.onmessage = ({ data }: MessageEvent<ThreadRequest | null>) => {
    const reply = data === null ? close() : answer(data);
    const blocked = data !== null && "answer" in data ? data.answer : undefined;
    if (blocked === undefined) self.postMessage(reply, "result" in reply ? (reply.buffers ?? []) : []);
    else {
      blocked.port.postMessage(reply);
      Atomics.store(blocked.sent, 0, 1);
      Atomics.notify(blocked.sent, 0);
    }
  };
}
