/**
 * Rewrites of the journal in the cluster suite: PostgreSQL is set back to an earlier moment, and perhaps another history begins there. The instances with the
 * lost commits serve nothing; an operator makes their state the state of the journal, so that no acknowledged change is lost.
 */
import { differences, openFile } from "../cluster-content.ts";
import { copyData, setBack } from "../cluster-engine.ts";
import type { TestInstance } from "../cluster-kit.ts";
import { until } from "../kit.ts";
import { type Finished, runCommand } from "../service-process.ts";
import type { Gate } from "./cluster-clients.ts";
import type { World } from "./cluster-world.ts";

interface Rewrite {
  readonly gate: Gate;
  /** Waits for acknowledged changes that are sent from now on. */
  readonly writes: () => Promise<void>;
  /** The instance that leads in the other history; null for no other history. */
  readonly late: TestInstance | null;
}

function command({ folder, env }: TestInstance, ...args: string[]): Promise<Finished> {
  return runCommand(["cluster", ...args], { cwd: folder, env: { ...env } });
}

function positionOf(instance: TestInstance): number {
  using file = openFile(instance);
  return file.query<{ position: number }, []>("SELECT position FROM _position").get()?.position ?? 0;
}

async function readiness({ url }: TestInstance): Promise<number> {
  const answer = await fetch(`${url}/health/ready`, { signal: AbortSignal.timeout(5_000) }).catch(() => null);
  return answer?.status ?? 0;
}

const refusal = /Restore PostgreSQL to its last state.*socle cluster rejoin.*socle cluster adopt/;

/** Rewrites the journal, and mends the cluster. Answers the promises that were broken. */
export async function rewriteJournal({ engine, instances }: World, { gate, writes, late }: Rewrite): Promise<string[]> {
  const problems: string[] = [];
  for (const each of instances) await until(async () => (await readiness(each)) === 200);
  await late?.running.stop();
  await copyData(engine);
  await writes();
  await gate.shut();
  const ahead = instances.filter((each) => each !== late);
  if ((await differences(ahead)).length > 0) problems.push("the instances differ before the journal is set back");
  await setBack(engine);
  await late?.start();
  if (late !== null) await until(async () => (await readiness(late)) === 200);
  for (const each of ahead) await until(() => refusal.test(each.running.output()));
  for (const each of ahead)
    if ((await readiness(each)) !== 503) problems.push(`${each.url} is ready, and the journal does not have its state`);
  for (const { url, running } of instances) {
    const code = await running.stop();
    if (code !== 0) problems.push(`${url} stopped with ${code}`);
  }
  const [highest] = ahead.toSorted((a, b) => positionOf(b) - positionOf(a));
  if (highest === undefined) throw new Error("no instance is ahead");
  // The lease of the earlier moment has an end, too.
  await until(async () => (await command(highest, "adopt", "--force")).code === 0);
  await highest.start();
  for (const each of ahead) if (each !== highest) await each.start();
  if (late !== null) {
    const wasRefused = await late.start().then(
      () => false,
      (thrown: unknown) => refusal.test(String(thrown)),
    );
    if (!wasRefused) problems.push(`${late.url} starts with commits of another history`);
    const { code, stderr } = await command(late, "rejoin");
    if (code !== 0) problems.push(`socle cluster rejoin: ${stderr}`);
    await late.start();
  }
  return problems;
}
