/** Processes of a service: how many, and the part of each bound that belongs to each process. */
import { availableParallelism } from "node:os";
import { type Config, configWith, type KeyPath } from "../base/config/index.ts";
import { SetupError } from "../base/kernel/index.ts";

/** The most processes of "auto". */
const mostAutomatic = 8;

/** Bounds on what each process has in memory or open: each process has an equal part. */
const shared = [
  "cache.size",
  "limits.answers",
  "limits.connections",
  "limits.filters",
  "limits.liveRecords",
  "limits.subscriptions",
  "realtime.bufferTotal",
] as const satisfies readonly KeyPath[];

/** The number of processes that serve. @throws SetupError for several processes on a system whose processes do not share a port. */
export function processesOf({ processes }: Config): number {
  const isLinux = process.platform === "linux";
  if (processes === "auto") return isLinux ? Math.min(mostAutomatic, availableParallelism()) : 1;
  if (processes > 1 && !isLinux)
    throw new SetupError(`processes: ${processes} needs Linux, where processes share a port; allowed here: 1`);
  return processes;
}

/** The configuration of the leader, with the leader's part of the bounds. Requests of an address count in the leader. */
export function leaderPart(config: Config, processes: number): Config {
  if (processes === 1) return config;
  const parts = Object.fromEntries(shared.map((key) => [key, Math.ceil(config[key] / processes)]));
  return configWith(config, parts);
}

/** The configuration of a reader process. Sockets, reads and writes of records of an address count in the process. */
export function readerPart(config: Config, processes: number): Config {
  const perAddress = Math.ceil(config["limits.connectionsPerAddress"] / processes);
  return configWith(leaderPart(config, processes), { "limits.connectionsPerAddress": perAddress });
}
