/**
 * Debugging of the user's code (`socle dev --inspect`): the process of each lane listens for a debugger on a fixed port of this
 * machine. The runtime refuses sockets of web pages. A paused process answers nothing, so no time limit applies.
 */
import { SetupError } from "../../base/kernel/index.ts";
import type { ScriptTask } from "./attempt.ts";
import type { FramedProcess } from "./frames.ts";
import type { SpawnOptions } from "./host-process.ts";
import type { Lane } from "./load.ts";

export const usualInspectPort = 6499;
/** The lanes, by the distance from the first port. */
const debuggedLanes: readonly Lane[] = ["endpoints", "hooks", "runs"];
export const maxInspectPort = 65_536 - debuggedLanes.length;
const host = "127.0.0.1";
/** The longest time of a timer, in milliseconds: 24 days. */
const endlessMs = 2 ** 31 - 1;

/** The addresses for a debugger, by lane. */
export function inspectAddresses(port: number): { readonly lane: Lane; readonly url: string }[] {
  return debuggedLanes.map((lane, i) => ({ lane, url: `ws://${addressOf(port + i)}` }));
}

function addressOf(port: number): string {
  return `${host}:${port}/socle`;
}

/** @throws SetupError for a port on which this process cannot listen. */
export function refuseTakenPorts(first: number): void {
  const last = first + debuggedLanes.length - 1;
  for (let port = first; port <= last; port += 1)
    try {
      Bun.listen({ hostname: host, port, socket: { data: () => undefined } }).stop();
    } catch {
      throw new SetupError(
        `--inspect needs the ports ${first} to ${last}, and ${port} is taken or not allowed; choose others: --inspect=PORT`,
      );
    }
}

/** A task without time limits. */
export function endless({ patienceMs: _, ...task }: ScriptTask): ScriptTask {
  return { ...task, timeoutMs: endlessMs };
}

/** The ports of the lanes. The port of a lane belongs to the oldest process; a process beside this process has no debugger. */
export class DebugPorts {
  readonly #first: number;
  readonly #owners = new Map<Lane, FramedProcess>();

  constructor(first: number) {
    this.#first = first;
  }

  /** Starts a process of a lane. @throws what `spawn` throws. */
  spawn(lane: Lane, options: SpawnOptions, spawn: (options: SpawnOptions) => FramedProcess): FramedProcess {
    const distance = debuggedLanes.indexOf(lane);
    if (distance < 0 || this.#owners.get(lane)?.hasExited === false) return spawn(options);
    const process = spawn({ ...options, inspect: addressOf(this.#first + distance) });
    this.#owners.set(lane, process);
    return process;
  }
}
