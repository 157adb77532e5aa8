/** The machine under the process: its file descriptors, which are counted on Linux alone, its disk, its threads, and the memory of processes. */
import { existsSync, lstatSync, readdirSync, readFileSync, statSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { dirname, join } from "node:path";
import { SetupError } from "./app-error.ts";
import { isObject } from "./json.ts";

const descriptorFolder = "/proc/self/fd";

/** Whether counting takes time for each open descriptor: before Linux 6.2, when the folder has no size. */
export function countsDescriptorsSlowly(): boolean {
  try {
    return statSync(descriptorFolder).size === 0;
  } catch {
    // Other systems lack the folder.
    return false;
  }
}

/** How many descriptors are open; null on a system that does not tell. */
export function openDescriptors(): number | null {
  try {
    const { size } = statSync(descriptorFolder);
    // Before Linux 6.2 the size is 0.
    return size > 0 ? size : readdirSync(descriptorFolder).length;
  } catch (thrown) {
    // Other systems lack the folder. A folder that cannot be read says that no descriptor is left for reading.
    return isObject(thrown) && thrown["code"] === "ENOENT" ? null : descriptorLimit();
  }
}

let limit: number | null | undefined;

/** How many descriptors may be open; null on a system that does not tell. The limit is read once. */
export function descriptorLimit(): number | null {
  if (limit !== undefined) return limit;
  try {
    const soft = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1];
    limit = soft === undefined ? null : Number(soft);
  } catch {
    // Another system.
    limit = null;
  }
  return limit;
}

/** A thread needs about ten descriptors. Without free descriptors the runtime ends the process. */
const forThread = 24;

export function canStartThread(): boolean {
  const [open, most] = [openDescriptors(), descriptorLimit()];
  return open === null || most === null || most - open >= forThread;
}

/** Free bytes for this user on the disk of a path, or of the folder while the path is free. */
export async function freeBytes(path: string): Promise<number> {
  const { bavail, bsize } = await statfs(path).catch(() => statfs(dirname(path)));
  return bavail * bsize;
}

/** Bytes of a page of memory on Linux. */
const pageSize = 4_096;
const memoryLookMs = 2_000;

/** Resident memory of a process in bytes; null for a process that has ended, and on a system without a cheap way to tell. */
export function residentBytes(pid: number): number | null {
  if (process.platform === "linux") {
    try {
      return Number(readFileSync(`/proc/${pid}/statm`, "utf8").split(" ")[1]) * pageSize;
    } catch {
      return null;
    }
  }
  if (process.platform !== "darwin") return null;
  const { stdout } = Bun.spawnSync(["ps", "-o", "rss=", "-p", String(pid)]);
  const kilobytes = Number(stdout.toString());
  return kilobytes > 0 ? kilobytes * 1_024 : null;
}

/** Looks at the resident memory of a process every two seconds, and calls `onMore` while the process has more than the limit. */
export function watchMemory(pid: number, limit: number, onMore: () => void): Timer {
  const look = (): void => {
    if ((residentBytes(pid) ?? 0) > limit) onMore();
  };
  return setInterval(look, memoryLookMs).unref();
}

/**
 * Makes sure that a new file may take a path: that the path is free, or that a regular file has the path. A device, a
 * pipe, a socket or a link would be lost.
 * @throws SetupError
 */
export function refuseIrreplaceable(path: string): void {
  if (!existsSync(dirname(path))) throw new SetupError(`${path}: its folder does not exist`);
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined || stats.isFile()) return;
  if (stats.isDirectory()) throw new SetupError(`${path}: is a folder; name a file in the folder`);
  throw new SetupError(`${path}: is not a regular file; name a new file, or a file to replace`);
}

/**
 * The address of a module that runs as a worker thread. In the executable, `import.meta.url` is a path of the build machine,
 * and a relative path that is not embedded would be read from the current folder. So the address starts from the embedded
 * program: `scripts/compile.ts` places every entry beside the program, as in the source tree.
 * @param path of the module, relative to `packages/server/src`, without the ending: "store/database/sqlite/thread-worker".
 */
export function threadEntry(path: string): string {
  if (!Bun.isStandaloneExecutable) return join(import.meta.dir, "../..", `${path}.ts`);
  return join(dirname(Bun.main), `${path}.js`);
}

/**
 * The executable of this process, for a child. On Linux the kernel's link, which leads to the file that runs, also when the file was replaced or deleted:
 * a child of another version would not understand this process.
 */
export function ownExecutable(): string {
  return existsSync("/proc/self/exe") ? "/proc/self/exe" : process.execPath;
}
