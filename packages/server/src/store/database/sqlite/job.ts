/** Jobs of the writer: transactions, and the answers to their callers after the flush. */
import { nextTurn } from "../../../base/kernel/index.ts";
import type { Logger } from "../../../base/logging/index.ts";
import type { Migration, MigrationSite, Transactor } from "../store.ts";
import type { JobTransactor } from "./job-transactor.ts";

/** The longest time for which effects of flushed transactions hold the event loop; the other effects run in the next turn. */
const effectsMs = 8;

/** A transaction that waits, runs or has ended; `settle` answers its caller. */
export interface Asked {
  /** The position in the order of requests. */
  readonly number: number;
  readonly resolve: (value: unknown) => void;
  readonly reject: (reason: unknown) => void;
  /** Whether the transaction frees space, or admits a caller that does: the transaction may use the reserve of the disk. */
  readonly makesRoom: boolean;
  outcome: { value: unknown; tx: JobTransactor } | { error: unknown } | null;
}

/** A short transaction: see `Writer`. */
export interface ShortJob extends Asked {
  readonly work: (tx: Transactor) => unknown;
  /** See `TransactOptions`. */
  readonly isRepeatable: boolean;
}

export interface LongOptions {
  /** The caller in whose turn the transaction runs. */
  readonly caller: string;
  /** The site of a migration; null for any other long transaction. */
  readonly site: MigrationSite | null;
  readonly makesRoom: boolean;
}

export interface LongJob extends Asked, LongOptions {
  readonly work: (tx: Migration) => unknown;
}

/**
 * Answers each job of a batch after its effects. If the effects of a job are slow, the job is answered at once, and the next
 * job's effects and answer wait for the slow effects.
 */
export async function settle(batch: readonly Asked[], logger: Logger): Promise<void> {
  let until = performance.now() + effectsMs;
  for (const { outcome, resolve, reject } of batch) {
    if (outcome === null) continue;
    if ("error" in outcome) {
      reject(outcome.error);
      continue;
    }
    for (const effect of outcome.tx.durableEffects) {
      const running = runEffect(effect, logger);
      if (running === undefined && performance.now() < until) continue;
      resolve(outcome.value);
      await (running ?? nextTurn());
      until = performance.now() + effectsMs;
    }
    resolve(outcome.value);
  }
}

/** Runs an effect. The change is on disk, so an error of the effect does not change the answer. */
function runEffect(effect: () => unknown, logger: Logger): Promise<void> | undefined {
  const failed = (error: unknown): void => logger.error("What follows a change failed", { error });
  try {
    const running = effect();
    return running === undefined ? undefined : Promise.resolve(running).then(() => undefined, failed);
  } catch (error) {
    failed(error);
    return undefined;
  }
}
