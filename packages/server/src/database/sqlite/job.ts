/** Jobs of the writer: transactions that wait, run or have ended, and how their callers are answered once they are on disk. */
import { type Awaitable, inTurn, nextTurn } from "../../kernel/index.ts";
import type { Logger } from "../../logging/index.ts";
import type { MigrationSite, Transactor } from "../store.ts";
import type { JobTransactor } from "./job-transactor.ts";

/** Effects of flushed transactions hold the event loop for so long at most; the others come in the next turn. */
const effectsMs = 8;

/** One transaction that waits, runs or has ended; `settle` answers whoever asked for it. */
export interface Job {
  readonly work: (tx: Transactor) => Awaitable<unknown>;
  readonly resolve: (value: unknown) => void;
  readonly reject: (reason: unknown) => void;
  /** Where a migration runs; null for any other transaction. */
  readonly migration: MigrationSite | null;
  /** Whether it makes room, or lets somebody in who does: it may use the reserve of the disk. */
  readonly makesRoom: boolean;
  /** See `TransactOptions`. */
  readonly isRepeatable: boolean;
  readonly weight: number;
  outcome: { value: unknown; tx: JobTransactor } | { error: unknown } | null;
}

/** Answers each job of a batch when its effects have run, or take longer: then the next job waits for them, and not its own. */
export async function settle(batch: readonly Job[], logger: Logger): Promise<void> {
  let until = performance.now() + effectsMs;
  const run = (effect: () => unknown): Awaitable<unknown> => {
    const running = runEffect(effect, logger);
    if (running === undefined && performance.now() < until) return undefined;
    return (running ?? nextTurn()).then(() => {
      until = performance.now() + effectsMs;
    });
  };
  for (const { outcome, resolve, reject } of batch) {
    if (outcome === null) continue;
    if ("error" in outcome) {
      reject(outcome.error);
    } else {
      const running = inTurn(outcome.tx.durableEffects, run);
      resolve(outcome.value);
      if (running !== undefined) await running;
    }
  }
}

/** The change is on disk: an effect that throws is no reason to answer otherwise. */
function runEffect(effect: () => unknown, logger: Logger): Promise<unknown> | undefined {
  const failed = (error: unknown): void => logger.error("What follows a change failed", { error });
  try {
    const result = effect();
    return result instanceof Promise ? result.catch(failed) : undefined;
  } catch (error) {
    failed(error);
    return undefined;
  }
}
