/**
 * Transactions of the user's code (`db.transaction`). The code runs outside of the writer: reads are answered at once, and
 * writes wait in the script process for the commit, which is a batch. Before the first change of the batch, each read is looked
 * at again; if a read would be answered otherwise, the commit changes nothing, and the code runs again. From the second time
 * on, transactions that conflict take turns.
 */
import { AppError, isObject, type System } from "../../base/kernel/index.ts";
import { type Operation, parseBatch, type Records } from "../../data/records/index.ts";
import type { Transactor } from "../../store/database/index.ts";
import type { Caller } from "./call-transport.ts";
import type { Commit, Read, TransactionState } from "./protocol.ts";
import { keyOf, type Reads } from "./reads.ts";

/** The longest time for which a transaction has the turn, in milliseconds: then the transaction goes on without the turn. */
const turnMs = 5_000;

/** The reads of a transaction have changed. */
class ReadsChanged extends Error {
  override readonly name = "ReadsChanged";
  readonly answer: Changed;

  constructor(key: string, turn: number | null) {
    super("The reads of a transaction have changed");
    this.answer = { changed: key, turn };
  }
}

/** The answer to a transaction with a changed read: the key of the turn, and the turn if the transaction has the turn already. */
interface Changed {
  readonly changed: string;
  readonly turn: number | null;
}

interface TransactionsOptions {
  readonly records: Records;
  readonly reads: Reads;
  /** The runs that a commit adds to queues, as work of the batch. */
  readonly enqueue: (value: unknown, principal: System) => (tx: Transactor, ids: readonly string[]) => void;
}

export class Transactions {
  readonly #options: TransactionsOptions;
  /** The turns that transactions have, by number. */
  readonly #turns = new Map<number, () => void>();
  #lastTurn = 0;

  constructor(options: TransactionsOptions) {
    this.#options = options;
  }

  /** Whether the reads are still answered alike. @returns the moment of the look, or the key of a changed read. */
  async check(reads: readonly Read[]): Promise<Changed | { readonly now: string }> {
    const outcome = await this.#options.reads.changedOutside(reads);
    return "key" in outcome ? { changed: outcome.key, turn: null } : outcome;
  }

  /** A read that sees the writes of the transaction so far. @throws AppError: see `Records.batch` and `Reads.own`. */
  async own(
    principal: System,
    state: TransactionState,
    read: Pick<Read, "method" | "args">,
  ): Promise<Changed | { readonly now: string; readonly version: string; readonly text: string }> {
    const { records, reads } = this.#options;
    return told(() =>
      records.rehearse(principal, operationsOf(state), {
        before: () => this.#refuseChanged(state.reads),
        read: (tx) => ({ now: reads.now, version: reads.versionOf(read), text: reads.own(tx, read) }),
      }),
    );
  }

  /**
   * Makes the writes of a transaction, unless a read has changed. The turn ends when the writes are made, before the writes are on
   * disk: the next transaction reads them. A commit without a turn waits for the transactions that have the turn; if a read has
   * changed then, the transaction keeps the turn for the next call.
   * @throws AppError: see `Records.batch`.
   */
  async commit(principal: System, commit: Commit, caller: Caller): Promise<Changed | object> {
    const { records, reads: looker } = this.#options;
    const { reads, enqueue } = commit;
    const operations = operationsOf(commit);
    const runs = this.#options.enqueue(enqueue, principal);
    const busy = commit.turn === null ? reads.map(keyOf).find((key) => records.turns.isTaken(key)) : undefined;
    const turn = busy === undefined ? commit.turn : await this.turn(busy, caller);
    let isKept = false;
    try {
      return await told(async () => {
        await records.batch(principal, operations, {
          before: async () => {
            const key = await looker.changed(reads);
            if (key === null) return;
            isKept = true;
            throw new ReadsChanged(key, turn);
          },
          after: (tx, ids) => {
            runs(tx, ids);
            this.leave(turn);
          },
        });
        return {};
      });
    } finally {
      if (!isKept) this.leave(turn);
    }
  }

  /**
   * Waits for the turn of a key. The turn ends with the commit, with the attempt, or after some seconds. A hook gets no turn: the
   * write that waits for the hook may have the turn. Answers the number of the turn; 0 without a turn.
   * @throws AppError `unavailable` when the attempt has ended meanwhile.
   */
  async turn(key: string, { ended, task }: Caller): Promise<number> {
    if (task.principal.isHook) return 0;
    let hasEnded = false;
    void ended.then(() => {
      hasEnded = true;
    });
    const place = await this.#options.records.turns.take(key);
    if (hasEnded) {
      place.release();
      throw new AppError("unavailable", "The run has ended before its transaction had the turn.");
    }
    this.#lastTurn += 1;
    const turn = this.#lastTurn;
    const timer = setTimeout(() => this.leave(turn), turnMs);
    this.#turns.set(turn, () => {
      clearTimeout(timer);
      place.release();
    });
    void ended.then(() => this.leave(turn));
    return turn;
  }

  leave(turn: number | null): void {
    if (turn === null) return;
    this.#turns.get(turn)?.();
    this.#turns.delete(turn);
  }

  async #refuseChanged(reads: readonly Read[]): Promise<void> {
    const key = await this.#options.reads.changed(reads);
    if (key !== null) throw new ReadsChanged(key, null);
  }
}

/** The answer of work, or the key of the read that has changed. */
async function told<T extends object>(work: () => Promise<T>): Promise<T | Changed> {
  try {
    return await work();
  } catch (thrown) {
    if (thrown instanceof ReadsChanged) return thrown.answer;
    throw thrown;
  }
}

/** The writes as operations of a batch; a create makes the record with the id that the code has been told. */
function operationsOf({ operations, ids }: TransactionState): Operation[] {
  if (!operations.every(isObject)) throw new AppError("bad_request", "A write of a transaction is no object.");
  return parseBatch({ operations }).map((operation, i) => {
    const newId = ids[i] ?? null;
    return newId === null ? operation : { ...operation, newId };
  });
}
