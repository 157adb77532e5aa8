/**
 * The thread side of a `ThreadConnection`: a SQLite connection on a thread, which serves requests in turn. A
 * request is a statement, a checkpoint, or a task: a function of another module that runs several statements in one snapshot.
 */
import { fdatasyncSync } from "node:fs";
import { outcomeOf, ownerChannel, Transferred } from "../../../base/channel/index.ts";
import { type Reader, SchemaChanged, type Value } from "../store.ts";
import { Connection } from "./connection.ts";
import { addFunctions } from "./functions.ts";
import { assertSameFile } from "./open-file.ts";

/** The database of a thread, and the stop flag. */
interface ThreadTarget {
  readonly path: string;
  /** The first number is not 0 after all callers have given up the request. */
  readonly stop: Int32Array;
}

export interface StatementRequest {
  readonly do: "get" | "all" | "run";
  readonly sql: string;
  readonly values: Value[];
}

/** A statement with an answer for which the event loop blocks: an `Outcome` at the port, and then 1 in `sent`. */
interface BlockingRequest extends StatementRequest {
  readonly port: MessagePort;
  readonly sent: Int32Array;
}

/** Counts are pages; `log` is -1 when no log exists. */
export interface CheckpointResult {
  readonly busy: number;
  readonly log: number;
  readonly checkpointed: number;
}

interface TaskRequest {
  readonly input: unknown;
  /** The version of the tables for which the input was made. */
  readonly schemaVersion: number;
}

/** The handlers of a thread with a connection. The connection opens with the first request after `use`. */
export interface DatabaseThread {
  use(target: ThreadTarget): void;
  statement(request: StatementRequest): unknown;
  now(request: BlockingRequest): void;
  /** @param file a descriptor of the database file, open for writing. */
  checkpoint(file: number): CheckpointResult | null;
  /** The result of a task, or `stale`: the tables have changed since the task was made. */
  task(request: TaskRequest): TaskOutcome | Transferred<TaskOutcome>;
  close(argument: null): void;
}

type TaskOutcome = { readonly result: unknown } | "stale";

/** A result, and the buffers of the result that the event loop gets without a copy. */
interface ThreadResult {
  readonly result: unknown;
  readonly buffers?: ArrayBuffer[];
}

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

function runTask(
  connection: Connection,
  { input, schemaVersion }: TaskRequest,
  task: ThreadTask,
): ReturnType<DatabaseThread["task"]> {
  return inSnapshot(connection, schemaVersion, () => {
    const { result, buffers = [] } = task(connection, input);
    return new Transferred({ result }, buffers);
  });
}

/** Reads in one snapshot. @returns `stale`, without a read, for tables of another version. */
function inSnapshot<T>(connection: Connection, schemaVersion: number, read: () => T): T | "stale" {
  connection.run("BEGIN");
  try {
    // The first read opens the snapshot, so the version belongs to the rows that follow.
    connection.get("SELECT 1 FROM sqlite_schema LIMIT 1");
    return schemaVersionOf(connection) === schemaVersion ? read() : "stale";
  } finally {
    // Damage may have ended the transaction already.
    if (connection.inTransaction) connection.run("ROLLBACK");
  }
}

/** Memory of a statement in `ProcessReads`, for sorting and for computed values. */
const maxHeap = 256 * 1024 * 1024;

/** The reads of a process that may be ended under a read. */
export class ProcessReads {
  readonly #connection: Connection;

  /** @param path of a database that is open in another connection. */
  constructor(path: string) {
    this.#connection = new Connection(path, { readonly: true });
    this.#connection.execute(`PRAGMA hard_heap_limit = ${maxHeap}`);
    addFunctions(this.#connection, () => undefined);
  }

  /** Reads in one snapshot. @throws SchemaChanged for tables of another version. */
  read<T>(schemaVersion: number, read: (reader: Reader) => T): T {
    const outcome = inSnapshot(this.#connection, schemaVersion, () => ({ read: read(this.#connection) }));
    if (outcome === "stale") throw new SchemaChanged();
    return outcome.read;
  }
}

/** Serves the requests of this thread until the end. @param task runs the input of a task. */
export function serveThread(task: ThreadTask): void {
  let target: ThreadTarget = { path: "", stop: new Int32Array(1) };
  let connection: Connection | null = null;
  const opened = (): Connection => {
    connection ??= open(target);
    return connection;
  };
  const run = ({ do: action, sql, values }: StatementRequest): unknown => opened()[action](sql, ...values);
  ownerChannel<object, DatabaseThread>({
    use: (given) => {
      target = given;
    },
    statement: run,
    now: ({ port, sent, ...request }) => {
      port.postMessage(outcomeOf(() => run(request)));
      Atomics.store(sent, 0, 1);
      Atomics.notify(sent, 0);
    },
    checkpoint: (file) => {
      if (connection === null) assertSameFile(target.path, file);
      return checkpoint(opened(), file);
    },
    task: (request) => runTask(opened(), request, task),
    close: () => {
      try {
        connection?.close();
      } catch {
        // The thread ends with its connection, in any state.
      }
    },
  });
}
