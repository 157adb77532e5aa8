/** Queues for tests: jobs that log their work, runs of the jobs, and a wait for the end of all runs. */
import { AppError, system } from "../src/base/kernel/index.ts";
import type { TestScripts } from "./scripts.ts";

export const queue = (options = "{ concurrency: 4 }"): string => `export const queue = ${options};\n`;
/** Logs the arguments of the call. */
export const echo = `${queue()}export default ({ payload, attempt, logger }) => logger.info("ran " + JSON.stringify(payload) + " " + attempt);\n`;
/** Logs the begin, and ends once a file with the name in the payload exists. */
export const waiting = `import { existsSync } from "node:fs";
${queue()}export default async ({ payload, logger }) => {
  logger.info("began " + payload);
  while (!existsSync("./go-" + payload)) await Bun.sleep(5);
  logger.info("ended " + payload);
};\n`;

type Options = { at?: string; key?: string };

/** Enqueues a run of a queue; without a payload, its payload is null. */
export function enqueue({ scripts }: TestScripts, name: string, ...run: [payload?: unknown, options?: Options]) {
  const [payload = null, options = {}] = run;
  return scripts.jobs.queues.enqueue(name, { payload: JSON.stringify(payload), options }, system);
}

export async function idle({ scripts }: TestScripts, name: string): Promise<void> {
  const { queues } = scripts.jobs;
  for (;;) {
    const { waiting: waits, running } = await queues.counts(name);
    if (waits + running === 0) break;
    await Bun.sleep(3);
  }
  await scripts.jobs.settled();
}

export const ran = ({ log }: TestScripts): string[] =>
  log.filter((line) => line.startsWith("INFO ran")).map((l) => l.slice(9));

export async function refusal(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof AppError)) throw new Error(`It was not refused: ${String(error)}`);
  return `${error.code}: ${error.message}`;
}
