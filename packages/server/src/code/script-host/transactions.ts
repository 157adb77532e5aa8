/**
 * Transactions of the user's code (`db.transaction`). The code runs outside of the writer: reads are answered at once, and
 * writes wait in the script process for the commit, which is a batch. Before the first change of the batch, each read is looked
 * at again; if a read would be answered otherwise, the commit changes nothing, and the code runs again. From the second time
 * on, transactions that conflict take turns, with a share for each caller.
 */
import { AppError, type System, shareOf } from "../../base/kernel/index.ts";
import { type Conflicting, type Operation, parseOperations, type Records } from "../../data/records/index.ts";
import type { Transactor } from "../../store/database/index.ts";
import type { Caller } from "./call-transport.ts";
import { type Commit, hashOf, type Read, type TransactionState } from "./protocol.ts";
import { actingAs, type Reads } from "./reads.ts";

/** The time for which a commit makes reads again, in milliseconds: other writes wait. */
const lookMs = 250;
/** Looks at the reads before a commit, each followed by a transaction, until the reads count as changed. */
const maxLooks = 5;

const adding = "tx.jobs.enqueue";
const sending = "tx.mail.send";

/** The reads of a transaction have changed. */
class ReadsChanged extends Error {
  override readonly name = "ReadsChanged";
  readonly key: string;

  constructor(key: string) {
    super("The reads of a transaction have changed");
    this.key = key;
  }
}

/** The records have changed between a look at the reads that see the writes, and the commit. */
class Moved extends Error {
  override readonly name = "Moved";
}

/** The answer to a transaction with a changed read: the key of the turn. */
interface Changed {
  readonly changed: string;
}

interface TransactionsOptions {
  readonly records: Records;
  readonly reads: Reads;
  /** The runs that a commit adds to queues, as work of the batch. */
  readonly enqueue: (value: unknown, principal: System) => (tx: Transactor) => void;
  /** The mails that a commit writes into the outbox, as work of the batch. */
  readonly sendMails: (value: unknown, principal: System) => (tx: Transactor) => void;
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
    const outcome = await this.#options.reads.changedOutside(reads.filter(({ after }) => after === 0));
    return "key" in outcome ? { changed: outcome.key } : outcome;
  }

  /** A read that sees the writes of the transaction so far. @throws AppError: see `Records.rehearse` and `Reads.own`. */
  async own(
    principal: System,
    state: TransactionState,
    read: Pick<Read, "method" | "args" | "as">,
  ): Promise<Changed | { readonly now: string; readonly version: string; readonly text: string }> {
    const { reads } = this.#options;
    let answer = { now: "", version: "", text: "" };
    try {
      await this.#rehearse(principal, state, (tx) => {
        const make = (): string => reads.own(tx, read);
        // A refusal under rules is the caller's.
        const text = read.as === undefined ? ofCode("A read after a write", make) : make();
        answer = { now: reads.now, version: reads.versionOf(read), text };
      });
      return answer;
    } catch (thrown) {
      if (thrown instanceof ReadsChanged) return { changed: thrown.key };
      throw thrown;
    }
  }

  /**
   * Makes the writes of a transaction, unless a read has changed. The turn ends when the writes are made, before the writes are on
   * disk: the next transaction reads them. If a read has changed, the transaction keeps its turn for the next call.
   * @throws AppError: see `Records.batch`.
   */
  async commit(principal: System, commit: Commit, caller: Caller): Promise<Changed | object> {
    const { turns } = this.#options.records;
    const { turn } = commit;
    const written = operationsOf(principal, commit).map(({ collection, id }) => `${collection}/${id}`);
    // A write beside a transaction with a turn takes no turn: the holder of the turn may wait for the write.
    if (turn === null && !principal.isHook && !turns.hasAny(principal))
      await turns.pass(written, conflicting(caller.task));
    try {
      await this.#make(principal, commit, () => this.leave(turn));
      return {};
    } catch (thrown) {
      if (thrown instanceof ReadsChanged) return { changed: thrown.key };
      this.leave(turn);
      throw thrown;
    }
  }

  async #make(principal: System, commit: Commit, onMade: () => void): Promise<void> {
    const { records, reads: looker } = this.#options;
    const runs = ofCode(adding, () => this.#options.enqueue(commit.enqueue, principal));
    const mails = ofCode(sending, () => this.#options.sendMails(commit.mails, principal));
    let { reads } = commit;
    const after = (tx: Transactor): void => {
      ofCode(adding, () => runs(tx));
      ofCode(sending, () => mails(tx));
      onMade();
    };
    // With a turn, others wait: a long transaction begins sooner than the commit that short transactions share.
    const isShort = commit.turn === null && reads.every((read) => read.after === 0);
    if (isShort && (await this.#makeShort(principal, commit, after))) return;
    for (let looks = 1; ; looks += 1) {
      // Most changed reads are found here, where no other write waits.
      const looked = await looker.refreshed(reads);
      if ("key" in looked) throw new ReadsChanged(looked.key);
      reads = await this.#withOwn(principal, { ...commit, reads: looked.reads });
      const own = reads.filter(({ after }) => after > 0);
      try {
        await records.batch(principal, operationsOf(principal, commit), {
          before: async () => {
            await this.#refuseChanged(reads);
            if (!own.every((read) => this.#ownVersion(read) === read.version)) throw new Moved();
          },
          after,
        });
        return;
      } catch (thrown) {
        if (!(thrown instanceof Moved)) throw thrown;
        const [first] = own;
        if (looks >= maxLooks && first !== undefined) throw new ReadsChanged(this.#options.reads.keyOf(first));
      }
    }
  }

  /** Makes the writes in a short transaction. Answers false where that is not possible. @throws ReadsChanged. */
  async #makeShort(principal: System, commit: Commit, after: (tx: Transactor) => void): Promise<boolean> {
    const { records, reads: looker } = this.#options;
    const before = (tx: Transactor): void => {
      const key = looker.changedIn(tx, commit.reads);
      if (key === undefined) throw new Moved();
      if (key !== null) throw new ReadsChanged(key);
    };
    try {
      return await records.batchShort(principal, operationsOf(principal, commit), { before, after });
    } catch (thrown) {
      if (thrown instanceof Moved) return false;
      throw thrown;
    }
  }

  /**
   * Makes the reads again that have seen writes of the transaction, if their collections have changed. Answers all reads, with the
   * present versions. @throws ReadsChanged.
   */
  async #withOwn(principal: System, state: TransactionState): Promise<readonly Read[]> {
    const { reads } = state;
    if (reads.every((read) => read.after === 0 || this.#isSame(read))) return reads;
    let versions = new Map<Read, string>();
    await this.#rehearse(principal, state, () => {
      versions = new Map(reads.map((read) => [read, this.#ownVersion(read)]));
    });
    return reads.map((read) => (read.after === 0 ? read : { ...read, version: versions.get(read) ?? "" }));
  }

  /**
   * Makes the writes on trial, and each read that has seen writes at its place.
   * @param atEnd called with all writes in place.
   * @throws ReadsChanged, also for a refused write that may follow from a read that has changed; AppError.
   */
  async #rehearse(principal: System, state: TransactionState, atEnd: (tx: Transactor) => void): Promise<void> {
    const { records, reads: looker } = this.#options;
    const { reads, operations, at } = state;
    // The same time in each trial: reads show the time.
    const tried = operationsOf(principal, state).map((operation) => (at === null ? operation : { ...operation, at }));
    let doubtful: readonly Read[] = [];
    try {
      await records.rehearse(principal, tried, {
        before: async () => {
          await this.#refuseChanged(reads);
          doubtful = reads.filter((read) => read.after > 0 && !this.#isSame(read));
        },
        at: (tx, done) => {
          for (const read of doubtful) {
            if (read.after !== done) continue;
            if (hashOf(looker.own(tx, read)) !== read.hash) throw new ReadsChanged(looker.keyOf(read));
          }
          if (done === operations.length) atEnd(tx);
        },
      });
    } catch (thrown) {
      const [first] = doubtful;
      if (first !== undefined && thrown instanceof AppError) throw new ReadsChanged(looker.keyOf(first));
      throw thrown;
    }
  }

  #isSame(read: Read): boolean {
    return read.version !== "" && this.#options.reads.versionOf(read) === read.version;
  }

  /** The version of a read that sees writes: for a read without a version, the moment. */
  #ownVersion(read: Read): string {
    const { reads } = this.#options;
    return reads.versionOf(read) || reads.now;
  }

  /**
   * Waits for the turn of a key, which replaces the turn that the transaction has of another key. The turn ends with the commit, with the
   * attempt, or after a second. Answers the number of the turn; 0 without a turn: a hook gets none, because the write that waits for the
   * hook may have the turn; nor does a transaction inside another that has the turn.
   * @throws AppError `unavailable` when the attempt has ended meanwhile.
   */
  async turn(key: string, before: number | null, { ended, task }: Caller): Promise<number> {
    const { turns } = this.#options.records;
    if (task.principal.isHook || turns.isOf(key, task.principal)) return before ?? 0;
    this.leave(before);
    let hasEnded = false;
    void ended.then(() => {
      hasEnded = true;
    });
    const { release } = await turns.take(key, conflicting(task));
    if (hasEnded) {
      release();
      throw new AppError("unavailable", "The run has ended before its transaction had the turn.");
    }
    this.#lastTurn += 1;
    const turn = this.#lastTurn;
    this.#turns.set(turn, release);
    void ended.then(() => this.leave(turn));
    return turn;
  }

  leave(turn: number | null): void {
    if (turn === null) return;
    this.#turns.get(turn)?.();
    this.#turns.delete(turn);
  }

  /** @throws ReadsChanged. */
  async #refuseChanged(reads: readonly Read[]): Promise<void> {
    const base = reads.filter(({ after }) => after === 0);
    const key = await this.#options.reads.changed(base, performance.now() + lookMs);
    if (key !== null) throw new ReadsChanged(key);
  }
}

function conflicting({ principal, path }: Caller["task"]): Conflicting {
  return { owner: principal, caller: shareOf(principal) ?? path };
}

/** Work whose refusal is an error of the code, and no matter of the caller of an endpoint. */
function ofCode<T>(name: string, work: () => T): T {
  try {
    return work();
  } catch (thrown) {
    if (!(thrown instanceof AppError) || thrown.code === "unavailable") throw thrown;
    throw new AppError("internal_error", `${name}: ${thrown.message}`);
  }
}

/** The writes as operations of a batch; a create makes the record with the id that the code has been told. */
function operationsOf(code: System, { operations, ids, callers }: TransactionState): Operation[] {
  return parseOperations(operations).map((operation, i) => {
    const [newId, as] = [ids[i] ?? null, callers[i] ?? null];
    return { ...operation, ...(newId !== null && { newId }), ...(as !== null && { as: actingAs(as, code) }) };
  });
}
