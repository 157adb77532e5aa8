/**
 * A power-cut run: the executable below the tracer in an empty folder, the work, a clean stop, and a second start with more work.
 */
import { mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { randomNumbers } from "../../../packages/server/test/random.ts";
import { temporaryFolder } from "../../kit.ts";
import { Control } from "../tracer/control.ts";
import { serveTraced, type Traced } from "../tracer/traced.ts";
import { Client } from "./client.ts";
import { Disk } from "./disk.ts";
import { Ledger } from "./ledger.ts";
import { type Amount, effectFunction, load, setUp, type Work } from "./workload.ts";

export interface Run {
  readonly disk: Disk;
  readonly ledger: Ledger;
  /** The folder without a power cut. */
  readonly cwd: string;
}

const config = {
  port: 0,
  "limits.wal": "8MiB",
  "limits.rate.register": "off",
  "limits.rate.login": "off",
  "limits.rate.refresh": "off",
};

async function stop(server: Traced): Promise<void> {
  const code = await server.stop();
  const faults = server
    .output()
    .split("\n")
    .filter((line) => line.includes(" ERROR "));
  if (code !== 0 || faults.length > 0) throw new Error(`The service stopped with ${code}: ${faults.join("\n")}`);
}

export async function makeRun(seed: number, amount: Amount): Promise<Run> {
  const folder = realpathSync(temporaryFolder());
  const [cwd, output] = [join(folder, "data"), join(folder, "tracer")];
  mkdirSync(join(cwd, "functions/tasks"), { recursive: true });
  mkdirSync(output);
  writeFileSync(join(cwd, "functions/tasks/effect.ts"), effectFunction);
  writeFileSync(join(cwd, "config.json"), JSON.stringify(config));
  const ledger = new Ledger(new Control(output));
  const work: Work = { ledger, cwd, random: randomNumbers(seed), amount };

  const first = await serveTraced(cwd, { output, record: cwd });
  const token = await setUp(work, first.url, first.output());
  await load(work, new Client(first.url, token), true);
  await stop(first);

  const second = await serveTraced(cwd, { output, record: cwd });
  await load(work, new Client(second.url, token), false);
  await stop(second);
  return { disk: new Disk(output), ledger, cwd };
}
