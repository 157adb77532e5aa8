/** The configuration of the tracer: one JSON file. */
import { readFileSync } from "node:fs";
import { constants } from "node:os";
import { type CallName, isCallName } from "./syscalls.ts";

/** A fault: a call that matches all fields is refused or delayed. A rule acts while the rule is armed (`Control.arm`). */
export interface Rule {
  readonly calls: readonly CallName[];
  /** A regular expression for the absolute path of a file of the call; without a path, any call matches. */
  readonly path?: string;
  /** The part of the matching calls that is hit, from 0 to 1 (1). */
  readonly probability?: number;
  /** The number of matching calls that pass before the first hit (0), and the most hits (no bound). */
  readonly after?: number;
  readonly times?: number;
  /** The call is not made and fails with this error, for example `ENOSPC`. */
  readonly errno?: string;
  /** The thread waits so long before the call is made, or fails. */
  readonly delayMs?: number;
  /** True (the default) when the rule acts from the start. */
  readonly armed?: boolean;
}

export interface TracerConfig {
  /** An existing folder outside of the recorded folder: the log, the written bytes, and the control file. */
  readonly output: string;
  /** An existing folder, without symbolic links in the path: changes of files below the folder are recorded. */
  readonly record?: string;
  readonly rules?: readonly Rule[];
  /** The seed of the rules' probabilities. */
  readonly seed?: number;
  /** True when the command's time of day can be moved (`Control.clockOffsetMs`). */
  readonly clock?: boolean;
}

/** The number of an error by name, for example `EIO`. */
export function errnoOf(name: string): number {
  const number: unknown = Reflect.get(constants.errno, name);
  if (typeof number !== "number") throw new Error(`There is no error "${name}"`);
  return number;
}

export function readConfig(path: string): TracerConfig {
  const config = JSON.parse(readFileSync(path, "utf8")) as TracerConfig;
  for (const { calls, errno } of config.rules ?? []) {
    for (const call of calls) if (!isCallName(call)) throw new Error(`The tracer knows no call "${call}"`);
    if (errno !== undefined) errnoOf(errno);
  }
  return config;
}
