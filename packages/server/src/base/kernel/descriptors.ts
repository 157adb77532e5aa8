/** File descriptors of this process: how many are open, and how many may be. Known on Linux alone. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { isObject } from "./json.ts";

const folder = "/proc/self/fd";

/** Whether counting takes time for each that is open: before Linux 6.2, when the folder has no size. */
export function countsDescriptorsSlowly(): boolean {
  try {
    return statSync(folder).size === 0;
  } catch {
    // Other systems lack the folder.
    return false;
  }
}

/** How many descriptors are open; null on a system that does not tell. */
export function openDescriptors(): number | null {
  try {
    const { size } = statSync(folder);
    // Before Linux 6.2 the size is 0.
    return size > 0 ? size : readdirSync(folder).length;
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

/** A thread needs about ten descriptors. Without these the runtime ends the process. */
const forThread = 24;

/** Whether a thread can be started. */
export function canStartThread(): boolean {
  const [open, most] = [openDescriptors(), descriptorLimit()];
  return open === null || most === null || most - open >= forThread;
}
