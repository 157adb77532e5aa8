/** Previews: calls the handler of a run in a rehearsal of the database, and collects the effects that the run would have. */
import type { RunPreview } from "@socle/protocol";
import { Admission, AppError, quote } from "../../base/kernel/index.ts";
import type { Waiter } from "../../store/database/index.ts";
import type { Functions } from "../functions/index.ts";
import type { Jobs } from "../jobs/index.ts";
import type { RunTask } from "../runs/index.ts";
import { type CallOutcome, failureOf, type PreviewProcesses, type ScriptHost } from "../script-host/index.ts";
import { EffectRecord, type EffectSources } from "./effect-record.ts";

/** Previews at a time, each with up to two processes. */
const width = 2;
/** The longest time of a handler: a caller waits for the answer. */
const longestMs = 60_000;
/** Calls of a preview whose changes meet changes of others. */
const maxTimes = 3;

interface PreviewsOptions extends EffectSources {
  readonly host: ScriptHost;
  readonly functions: Pick<Functions, "taskOf">;
  readonly jobs: Pick<Jobs, "taskOf">;
}

export class Previews {
  readonly #options: PreviewsOptions;
  readonly #admission = new Admission({
    limit: "previews",
    message: `${width} previews are under way. Try again in a moment.`,
    width,
    maxWaiting: 0,
  });

  constructor(options: PreviewsOptions) {
    this.#options = options;
  }

  /**
   * @throws AppError `bad_request` for an id of no run, `not_found` for an unknown run, `conflict` when the input or the code of the run
   * is gone, or others change the same records again and again; `unavailable` when too many previews are under way.
   */
  make(runId: string, waiter: Waiter): Promise<RunPreview> {
    return this.#admission.run(async () => {
      const task = await this.#taskOf(runId, waiter);
      for (let times = 1; ; times += 1) {
        const made = await this.#attempt(task);
        if ("outcome" in made) return { runId, ...made };
        if (times === maxTimes) throw made.torn;
      }
    }, waiter);
  }

  async #taskOf(runId: string, waiter: Waiter): Promise<RunTask> {
    const { functions, jobs } = this.#options;
    const kinds = "Runs of functions, jobs and queues have a preview; hooks, endpoints, queries and mails have none.";
    if (/^(?!run_)[a-z]+_/.test(runId))
      throw new AppError("bad_request", `${quote(runId)} is no id of a run. ${kinds}`);
    const task = (await functions.taskOf(runId, waiter)) ?? jobs.taskOf(runId);
    if (task === null) throw new AppError("not_found", `There is no run ${quote(runId)} any more. ${kinds}`);
    return task;
  }

  /** Calls the handler once. Answers the error when others have changed what the preview has changed. */
  async #attempt(task: RunTask): Promise<Omit<RunPreview, "runId"> | { readonly torn: AppError }> {
    const { host } = this.#options;
    const effects = new EffectRecord(this.#options);
    const processes = host.openPreview(effects);
    if (processes === null) throw new AppError("unavailable", "The code is not loaded yet.");
    try {
      const called = await call(processes, { ...task, principal: { ...task.principal, preview: effects } });
      // The end of the handler is the end of its code, too: no timer goes on.
      host.closePreview(effects);
      const found = await effects.collect();
      const { torn } = effects;
      return torn === null ? { filePath: task.path, handler: task.handler, ...called, ...found } : { torn };
    } catch (thrown) {
      if (effects.torn === null) throw thrown;
      return { torn: effects.torn };
    } finally {
      host.closePreview(effects);
    }
  }
}

async function call(
  processes: PreviewProcesses,
  { path, timeoutMs, ...task }: RunTask,
): Promise<Pick<RunPreview, "outcome" | "durationMs">> {
  const loaded = await processes.load("runs", path);
  if ("error" in loaded) throw new AppError("conflict", `${path} does not load: ${loaded.error.message}`);
  const limitMs = Math.min(timeoutMs, longestMs);
  const start = performance.now();
  const outcome = await processes.call("runs", { ...task, path, timeoutMs: limitMs });
  const durationMs = Math.round(performance.now() - start);
  if (outcome.status === "stopped") throw new AppError("unavailable", "The service is stopping.");
  return { outcome: toldOutcome(outcome, { limitMs, isLate: durationMs >= limitMs }), durationMs };
}

function toldOutcome(
  outcome: CallOutcome,
  { limitMs, isLate }: { limitMs: number; isLate: boolean },
): RunPreview["outcome"] {
  const error = failureOf(outcome, limitMs);
  if (error === null) return { status: "completed", error: null };
  const { message, stack = null, source = null } = error;
  const status = outcome.status === "late" || (outcome.status === "lost" && isLate) ? "late" : "failed";
  return { status, error: { message, stack, source } };
}
