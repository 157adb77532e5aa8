/**
 * The log of the tracer: the changes of the files below the recorded folder, one JSON object a line, in an order in which a call
 * that began after the return of another call stands behind that call. The written bytes stand in a second file, the spool.
 * Files and folders are known by the inode; a new file takes the inode over from any earlier file of the same inode.
 */
import { appendFileSync, closeSync, existsSync, fstatSync, openSync, readFileSync, readSync, writeSync } from "node:fs";
import { join } from "node:path";
import type { Control } from "./control.ts";

/** Paths are relative to the recorded folder, which is "". */
export type LogEntry =
  /** Present before the start of the command: bytes and name count as flushed. */
  | { op: "base"; path: string; inode: number; isFolder: boolean; spool: number; length: number }
  /** Opened with O_CREAT: a new file unless the name exists. */
  | { op: "create"; path: string; inode: number }
  | { op: "write"; inode: number; offset: number; spool: number; length: number }
  /** Cut off or extended to a size. */
  | { op: "resize"; inode: number; size: number }
  /** Extended to a size unless the file is as large. */
  | { op: "grow"; inode: number; size: number }
  /** fsync or fdatasync of a file or a folder, which returned here and began when the log had `since` entries. */
  | { op: "flush"; inode: number; since: number }
  | { op: "rename"; from: string; to: string }
  | { op: "link"; from: string; to: string }
  | { op: "unlink"; path: string }
  | { op: "mkdir"; path: string; inode: number }
  | { op: "rmdir"; path: string }
  /** An event that the log cannot express: the log proves nothing. */
  | { op: "unknown"; what: string };

const paths = (output: string) => ({ log: join(output, "log"), spool: join(output, "spool") });

/** Appends to a log; an existing log is continued, as after a stop and a start of the same service. */
export class LogWriter {
  readonly isNew: boolean;
  readonly #log: string;
  readonly #spool: number;
  readonly #control: Control;
  #spooled: number;

  constructor(output: string, control: Control) {
    const { log, spool } = paths(output);
    this.isNew = !existsSync(log);
    this.#log = log;
    this.#spool = openSync(spool, "a");
    this.#spooled = fstatSync(this.#spool).size;
    this.#control = control;
  }

  get entries(): number {
    return this.#control.entries;
  }

  append(entry: LogEntry): void {
    appendFileSync(this.#log, `${JSON.stringify(entry)}\n`);
    this.#control.entries += 1;
  }

  /** Appends bytes to the spool; answers the place. */
  keep(bytes: Uint8Array): { spool: number; length: number } {
    const kept = { spool: this.#spooled, length: bytes.byteLength };
    writeSync(this.#spool, bytes);
    this.#spooled += bytes.byteLength;
    return kept;
  }
}

/** The entries of a log of an ended command. @throws Error when the tracer met an event that the log cannot express. */
export function readLog(output: string): LogEntry[] {
  const lines = readFileSync(paths(output).log, "utf8").trimEnd().split("\n");
  const entries = lines.map((line) => JSON.parse(line) as LogEntry);
  for (const entry of entries) if (entry.op === "unknown") throw new Error(`The tracer could not record ${entry.what}`);
  return entries;
}

/** The written bytes of a log. */
export class Spool {
  readonly #file: number;

  constructor(output: string) {
    this.#file = openSync(paths(output).spool, "r");
  }

  read(at: number, length: number): Uint8Array {
    const bytes = new Uint8Array(length);
    if (readSync(this.#file, bytes, 0, length, at) !== length)
      throw new Error("The spool is shorter than its log says");
    return bytes;
  }

  close(): void {
    closeSync(this.#file);
  }
}
