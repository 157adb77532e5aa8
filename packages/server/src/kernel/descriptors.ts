/** File descriptors of this process: how many are open, and how many may be. Known on Linux alone. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { isObject } from "./json.ts";

const folder = "/proc/self/fd";

/** Whether counting takes time for each that is open: before Linux 6.2, when the folder has no size. */
export function countsDescriptorsSlowly(): boolean {
  try {
    return statSync(folder).size === 0;
  } catch {
    // Another system has no such folder.
    return false;
  }
}

/** How many are open; null where the system does not tell. */
export function openDescriptors(): number | null {
  try {
    const { size } = statSync(folder);
    // Before Linux 6.2 the size is 0.
    return size > 0 ? size : readdirSync(folder).length;
  } catch (thrown) {
    // Another system has no such folder. Where it cannot be read, no descriptor is left to read it with.
    return isObject(thrown) && thrown["code"] === "ENOENT" ? null : descriptorLimit();
  }
}

let limit: number | null | undefined;

/** How many may be open; null where the system does not tell. It is read once. */
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

/** A thread needs about ten. Without them the runtime ends the process. */
const forThread = 24;

/** Whether a thread can be started. */
export function canStartThread(): boolean {
  const [open, most] = [openDescriptors(), descriptorLimit()];
  return open === null || most === null || most - open >= forThread;
}
