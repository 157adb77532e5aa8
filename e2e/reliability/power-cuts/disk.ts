/** A possible folder on disk after a power cut, made from the tracer's log. */
import { mkdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { type LogEntry, readLog, Spool } from "../tracer/log.ts";
import { bytesAfter, type Luck } from "./bytes.ts";
import { type Change, type File, type Folder, Names, type Node } from "./names.ts";

export interface Cut {
  /** The number of entries in the log. */
  readonly at: number;
  readonly luck: Luck;
  /** The part of the changed and unflushed names that is on disk, from 0 to 1. */
  readonly names: number;
  readonly random: () => number;
}

export class Disk {
  readonly #root: Folder = { kind: "folder", names: new Map() };
  readonly #names = new Names();
  readonly #byInode = new Map<number, Node>();
  readonly #spool: Spool;
  /** The recorded folder. */
  /** How many entries the log has. */
  readonly entries: number;
  readonly flushes: number;

  /** @param output the tracer's output folder. */
  constructor(output: string) {
    const entries = readLog(output);
    this.#spool = new Spool(output);
    entries.forEach((entry, at) => void this.#take(entry, at));
    this.#spool.close();
    this.entries = entries.length;
    this.flushes = entries.filter(({ op }) => op === "flush").length;
  }

  /** Writes the state after a cut into a new folder. */
  rebuild(folder: string, cut: Cut): void {
    const isKept = (): boolean => cut.random() < cut.names;
    this.#write(this.#root, folder, { cut, names: this.#names.after(cut.at, isKept) });
  }

  #write(node: Folder, path: string, state: { cut: Cut; names: Map<Folder, Map<string, Node>> }): void {
    mkdirSync(path, { mode: 0o700 });
    for (const [name, child] of state.names.get(node) ?? []) {
      const target = join(path, name);
      if (child.kind === "folder") this.#write(child, target, state);
      else writeFileSync(target, this.#bytesOf(child, name, state.cut), { mode: 0o600 });
    }
  }

  #bytesOf(file: File, name: string, cut: Cut): Uint8Array {
    // SQLite writes this file through shared memory, and never trusts the file after a restart.
    if (name.endsWith("-shm")) return new Uint8Array(32_768).map(() => Math.floor(cut.random() * 256));
    return bytesAfter(file, cut.at, cut);
  }

  #take(entry: LogEntry, at: number): void {
    switch (entry.op) {
      case "base":
        this.#takeBase(entry);
        return;
      case "create":
        this.#create(entry.path, entry.inode, at);
        return;
      case "mkdir":
        this.#add(entry.path, { inode: entry.inode, at, node: { kind: "folder", names: new Map() } });
        return;
      case "write": {
        const bytes = this.#spool.read(entry.spool, entry.length);
        this.#changed(entry.inode, { at, kind: "write", offset: entry.offset, bytes });
        return;
      }
      case "resize":
      case "grow":
        this.#changed(entry.inode, { at, kind: entry.op, size: entry.size });
        return;
      case "flush":
        this.#flush(entry.inode, { at, since: entry.since });
        return;
      case "link":
      case "rename": {
        const node = this.#nodeAt(entry.from);
        const from = { ...this.#placeOf(entry.from), node: null };
        const to = { ...this.#placeOf(entry.to), node };
        this.#names.change({ at, names: entry.op === "link" ? [to] : [from, to] });
        return;
      }
      case "unlink":
      case "rmdir":
        this.#nodeAt(entry.path);
        this.#names.change({ at, names: [{ ...this.#placeOf(entry.path), node: null }] });
        return;
      case "unknown":
        throw new Error(`The tracer could not record ${entry.what}`);
    }
  }

  /** A file from before the run counts as flushed. */
  #takeBase({ path, inode, isFolder, spool, length }: Extract<LogEntry, { op: "base" }>): void {
    const before = { at: -1, since: 0 };
    if (path === "") {
      this.#byInode.set(inode, this.#root);
      this.#names.flush(this.#root, before);
      return;
    }
    const parent = this.#placeOf(path).folder;
    const bytes = this.#spool.read(spool, length);
    const node: Node = isFolder
      ? { kind: "folder", names: new Map() }
      : { kind: "file", path, changes: [{ at: -1, kind: "write", offset: 0, bytes }], flushes: [before] };
    this.#add(path, { inode, at: -1, node });
    this.#names.flush(parent, before);
  }

  #create(path: string, inode: number, at: number): void {
    const { folder, name } = this.#placeOf(path);
    const there = folder.names.get(name);
    if (there === undefined) this.#add(path, { inode, at, node: { kind: "file", path, changes: [], flushes: [] } });
    else if (there !== this.#byInode.get(inode)) throw new Error(`The log holds two files of the name ${path}`);
  }

  #add(path: string, { inode, at, node }: { inode: number; at: number; node: Node }): void {
    this.#byInode.set(inode, node);
    this.#names.change({ at, names: [{ ...this.#placeOf(path), node }] });
  }

  #changed(inode: number, change: Change): void {
    const node = this.#byInode.get(inode);
    if (node?.kind !== "file") throw new Error(`The log writes to the unknown file ${inode}`);
    node.changes.push(change);
  }

  #flush(inode: number, flush: { at: number; since: number }): void {
    const node = this.#byInode.get(inode);
    if (node === undefined) throw new Error(`The log flushes the unknown file ${inode}`);
    if (node.kind === "folder") this.#names.flush(node, flush);
    else node.flushes.push(flush);
  }

  #placeOf(path: string): { folder: Folder; name: string } {
    const parent = dirname(path);
    const folder = parent === "." ? this.#root : this.#nodeAt(parent);
    if (folder.kind !== "folder") throw new Error(`${parent} is no folder`);
    return { folder, name: basename(path) };
  }

  #nodeAt(path: string): Node {
    const { folder, name } = this.#placeOf(path);
    const node = folder.names.get(name);
    if (node === undefined) throw new Error(`The log misses the creation of ${path}`);
    return node;
  }
}
