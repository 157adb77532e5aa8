/** Faults of single system calls under load, which the tracer makes: errors of writes, reads and flushes, and slow flushes. */
import { join } from "node:path";
import { temporaryFolder } from "../kit.ts";
import { Live, loadProject } from "./disks-live.ts";
import { Tally } from "./disks-tally.ts";
import type { Rule } from "./tracer/config.ts";
import { serveTraced } from "./tracer/traced.ts";

interface CallFault {
  readonly rule: Omit<Rule, "armed">;
  /** A text of the log when the service ends; null when the service must go on. */
  readonly ends: RegExp | null;
}

const writes = ["pwrite64", "write", "pwritev", "writev"] as const;
const log = "/socle\\.db-wal$";
const database = "/socle\\.db$";
const either = "/socle\\.db(-wal)?$";
const files = "/storage/";

/** By effect; each probability lets some calls pass, so that a fault comes anywhere in a transaction. */
export const callFaults: { readonly [name: string]: CallFault } = {
  "EIO on a write of the log": { rule: { calls: writes, path: log, errno: "EIO", probability: 0.3 }, ends: null },
  "ENOSPC on a write of the log": { rule: { calls: writes, path: log, errno: "ENOSPC", probability: 0.3 }, ends: null },
  "EROFS on a write of the log": { rule: { calls: writes, path: log, errno: "EROFS", probability: 0.3 }, ends: null },
  "EIO on a write of the database": {
    rule: { calls: writes, path: database, errno: "EIO", probability: 0.3 },
    ends: null,
  },
  "EIO on a read": { rule: { calls: ["pread64"], path: either, errno: "EIO", probability: 0.3 }, ends: null },
  "EIO on a flush of the log": {
    rule: { calls: ["fdatasync", "fsync"], path: log, errno: "EIO", times: 1 },
    ends: /The disk refused a write; nothing more is accepted/,
  },
  "EIO on a flush of the database": {
    rule: { calls: ["fdatasync", "fsync"], path: database, errno: "EIO", probability: 0.5 },
    ends: null,
  },
  "a second for each flush": { rule: { calls: ["fdatasync", "fsync"], path: log, delayMs: 1_000 }, ends: null },
  "ENOSPC on a write of a file": {
    rule: { calls: writes, path: files, errno: "ENOSPC", probability: 0.5 },
    ends: null,
  },
  "EIO on a flush of a file": { rule: { calls: ["fdatasync", "fsync"], path: files, errno: "EIO" }, ends: null },
};

/** Has a fault come up under load, again and again. The service goes on, or ends with a reason and is started again. */
export async function callFault(name: string, random: () => number, rounds: number): Promise<Tally> {
  const tally = new Tally();
  const fault = callFaults[name];
  if (fault === undefined) throw new Error(`There is no fault "${name}"`);
  const cwd = await loadProject();
  const start = () => {
    const rule = { ...fault.rule, armed: false };
    const seed = Math.floor(random() * 2 ** 31);
    return serveTraced(cwd, { output: join(temporaryFolder(), "tracer"), rules: [rule], seed });
  };
  const live = await Live.of(start, { name, tally, random });
  for (let round = 0; round < rounds; round++) {
    await live.acknowledges();
    const { control } = live.server;
    const before = control.hits(0);
    control.arm(0);
    await live.until(
      "the fault has come up",
      async () => control.hits(0) > before || (await live.exitCode()) !== undefined,
    );
    await Bun.sleep(random() * 100);
    control.arm(0, false);
    if (fault.ends !== null) {
      await live.ended(fault.ends);
      await live.restart();
    } else if ((await live.exitCode()) !== undefined) {
      live.problem("it has ended");
      await live.restart();
    }
    await live.acknowledges(5);
    tally.count();
  }
  await live.finish(cwd);
  return tally;
}
