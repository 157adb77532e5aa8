/**
 * Writes the traced command's changes of the files below a folder into the log. A call is examined at the begin, and
 * recorded after a successful return. Not recorded, because no promise depends on the following: modes, owners and
 * times, and writes through shared memory, which SQLite makes to the `-shm` file only; writes like that to any other
 * file mark the log as useless.
 */
import { existsSync, lstatSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Trap } from "./filter.ts";
import { readMemory } from "./libc.ts";
import type { LogEntry, LogWriter } from "./log.ts";
import { argument, descriptor, descriptorPath, type Entry, pathOfDescriptor, pathsOf } from "./thread.ts";
import type { AtExit } from "./tracees.ts";
import { writtenByCopy, writtenFromMemory } from "./written.ts";

const openFlags = { create: 0o100, truncate: 0o1000, temporary: 0o20000000 };
const changes = openFlags.create | openFlags.truncate | openFlags.temporary;
const cloneRequest = 0x4004_9409;
const sharedWritable = { share: 1, write: 2 } as const;
const keepSize = 1;

/** The calls that a record is made of. */
export const recordedTraps: readonly Trap[] = [
  { call: "open", when: [{ argument: 1, mask: changes }] },
  { call: "openat", when: [{ argument: 2, mask: changes }] },
  ...(["openat2", "creat", "write", "writev", "pwrite64", "pwritev", "pwritev2"] as const).map((call) => ({ call })),
  ...(["sendfile", "splice", "copy_file_range", "truncate", "ftruncate", "fallocate"] as const).map((call) => ({
    call,
  })),
  ...(["fsync", "fdatasync", "rename", "renameat", "renameat2", "link", "linkat"] as const).map((call) => ({ call })),
  ...(["unlink", "unlinkat", "symlink", "symlinkat", "mkdir", "mkdirat", "rmdir"] as const).map((call) => ({ call })),
  { call: "ioctl", when: [{ argument: 1, mask: 0xffff_ffff, values: [cloneRequest] }] },
  {
    call: "mmap",
    when: [
      { argument: 3, mask: sharedWritable.share },
      { argument: 2, mask: sharedWritable.write },
    ],
  },
  { call: "io_uring_setup" },
];

export class Recorder {
  readonly #root: string;
  readonly #device: number;
  readonly #log: LogWriter;

  constructor(root: string, log: LogWriter) {
    this.#root = root;
    this.#device = statSync(root).dev;
    this.#log = log;
    if (log.isNew) this.#recordBase("");
  }

  #recordBase(path: string): void {
    const absolute = join(this.#root, path);
    const status = statSync(absolute);
    const isFolder = status.isDirectory();
    const kept = this.#log.keep(isFolder ? new Uint8Array() : readFileSync(absolute));
    this.#log.append({ op: "base", path, inode: status.ino, isFolder, ...kept });
    if (isFolder) for (const name of readdirSync(absolute).sort()) this.#recordBase(join(path, name));
  }

  /** The work for the return of the call, or null when the call does not touch the recorded files. */
  entered(entry: Entry): AtExit | null {
    const record = this.#recordOf(entry);
    if (record === null) return null;
    const paths = pathsOf(entry);
    return (result) => {
      if (result === null ? !this.#wasMade(entry, paths) : result < 0) return;
      try {
        const made = record(result ?? 0);
        if (made !== null) this.#log.append(made);
      } catch (thrown) {
        // A thread that is killed in this moment may have changed a file without a trace.
        this.#log.append({ op: "unknown", what: `${entry.call}: ${thrown}` });
      }
    };
  }

  /** Tells whether a call was made in which the thread ended. No answer depends on the call: a flush may be left out. */
  #wasMade({ call }: Entry, [first = "", second = ""]: readonly string[]): boolean {
    if (/^(unlink|rmdir)/.test(call)) return !existsSync(first);
    if (/^mkdir/.test(call)) return existsSync(first);
    if (/^(rename|link)/.test(call)) return existsSync(second) && (call.startsWith("link") || !existsSync(first));
    if (/^(f|fdata)sync$|^open|^creat|^mmap/.test(call)) return false;
    this.#log.append({ op: "unknown", what: `${call}, in which a thread of ${first} ended` });
    return false;
  }

  #recordOf(entry: Entry): ((result: number) => LogEntry | null) | null {
    switch (entry.call) {
      case "open":
      case "openat":
      case "openat2":
      case "creat":
        return (fd) => this.#opened(entry, fd);
      case "io_uring_setup":
        return () => ({ op: "unknown", what: "what goes through io_uring" });
    }
    const paths = pathsOf(entry).map((path) => this.#below(path));
    const [first = null, second = null] = paths;
    if (first === null && second === null) return null;
    switch (entry.call) {
      case "rename":
      case "renameat":
      case "renameat2":
      case "link":
      case "linkat":
        return () => this.#moved(entry, first, second);
      case "unlink":
      case "rmdir":
      case "unlinkat":
        return first === null || this.#isSocket(first)
          ? null
          : () => ({ op: isFolderRemoval(entry) ? "rmdir" : "unlink", path: first });
      case "mkdir":
      case "mkdirat":
        return () =>
          first === null ? null : { op: "mkdir", path: first, inode: statSync(join(this.#root, first)).ino };
      case "truncate":
        return () =>
          first === null
            ? null
            : { op: "resize", inode: statSync(join(this.#root, first)).ino, size: argument(entry, 1) };
      case "symlink":
      case "symlinkat":
        return () => ({ op: "unknown", what: `the symbolic link ${first}` });
    }
    return first === null ? null : this.#changeOf(entry, first);
  }

  /** The change by a call that names a file of the recorded folder by the descriptor. */
  #changeOf(entry: Entry, path: string): ((result: number) => LogEntry | null) | null {
    const since = this.#log.entries;
    const status = statSync(
      descriptorPath(entry.tid, descriptor(entry, entry.call === "mmap" ? 4 : fdArgument(entry))),
    );
    if (status.dev !== this.#device) return () => ({ op: "unknown", what: `${path}, which is on another file system` });
    const inode = status.ino;
    switch (entry.call) {
      case "fsync":
      case "fdatasync":
        return () => ({ op: "flush", inode, since });
      case "ftruncate":
        return () => ({ op: "resize", inode, size: argument(entry, 1) });
      case "fallocate":
        return () => {
          const mode = argument(entry, 1);
          if (mode === keepSize) return null;
          if (mode !== 0) return { op: "unknown", what: `fallocate with the mode ${mode}` };
          return { op: "grow", inode, size: argument(entry, 2) + argument(entry, 3) };
        };
      case "mmap":
        return () =>
          path.endsWith("-shm") ? null : { op: "unknown", what: `writes to ${path} through shared memory` };
      case "sendfile":
      case "splice":
      case "copy_file_range":
      case "ioctl":
        return (result) => this.#wrote(inode, writtenByCopy(entry, result));
      case "write":
      case "writev":
      case "pwrite64":
      case "pwritev":
      case "pwritev2":
        return (result) => this.#wrote(inode, writtenFromMemory(entry, result));
    }
    return null;
  }

  /** Sockets hold no bytes, and are made by no call that is recorded. */
  #isSocket(path: string): boolean {
    return lstatSync(join(this.#root, path), { throwIfNoEntry: false })?.isSocket() === true;
  }

  #wrote(inode: number, { offset, bytes }: { offset: number; bytes: Uint8Array }): LogEntry | null {
    return bytes.byteLength === 0 ? null : { op: "write", inode, offset, ...this.#log.keep(bytes) };
  }

  #opened(entry: Entry, fd: number): LogEntry | null {
    const flags = openFlagsOf(entry);
    const path = this.#below(pathOfDescriptor(entry.tid, fd) ?? "");
    if (path === null || (flags & changes) === 0) return null;
    if ((flags & openFlags.temporary) === openFlags.temporary)
      return { op: "unknown", what: `a file without a name in ${path}` };
    const inode = statSync(descriptorPath(entry.tid, fd)).ino;
    if ((flags & openFlags.create) !== 0) this.#log.append({ op: "create", path, inode });
    return (flags & openFlags.truncate) === 0 ? null : { op: "resize", inode, size: 0 };
  }

  #moved(entry: Entry, from: string | null, to: string | null): LogEntry {
    if (from === null || to === null) return { op: "unknown", what: `a name that leaves the folder: ${from ?? to}` };
    if (entry.call === "renameat2" && (argument(entry, 4) & 2) !== 0)
      return { op: "unknown", what: `the exchange of ${from} and ${to}` };
    return { op: entry.call.startsWith("link") ? "link" : "rename", from, to };
  }

  /** The path relative to the recorded folder, or null for a path outside. */
  #below(path: string): string | null {
    if (path === this.#root) return "";
    return path.startsWith(`${this.#root}/`) ? path.slice(this.#root.length + 1) : null;
  }
}

function fdArgument({ call }: Entry): number {
  return call === "splice" || call === "copy_file_range" ? 2 : 0;
}

function isFolderRemoval(entry: Entry): boolean {
  const removeFolder = 0x200;
  return entry.call === "rmdir" || (entry.call === "unlinkat" && (argument(entry, 2) & removeFolder) !== 0);
}

function openFlagsOf(entry: Entry): number {
  switch (entry.call) {
    case "creat":
      return openFlags.create | openFlags.truncate;
    case "open":
      return argument(entry, 1);
    case "openat2":
      return new DataView(readMemory(entry.tid, entry.args[2] ?? 0n, 8).buffer).getUint32(0, true);
    default:
      return argument(entry, 2);
  }
}
