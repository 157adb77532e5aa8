/**
 * Rehearsal: transactions of which nothing stays. Each is taken back at its end, and runs the statements of the transactions before
 * first: the work sees the earlier changes, and other writes go on between two transactions.
 */
import { AppError } from "../../base/kernel/index.ts";
import { type Note, StatementLog } from "./entry.ts";
import { hasMetDamage, isOutOfRoom } from "./sqlite/errors.ts";
import { replayIn } from "./sqlite/replay.ts";
import { JobTransactor, type Migration, type Transactor } from "./transaction.ts";

/** Statements that a rehearsal runs again, in all: 2,000 changes one after another. */
const maxRepeated = 2_000_000;
/** Characters of the values that a rehearsal keeps. */
const maxCharacters = 32 * 1024 ** 2;

export interface RehearsalOptions {
  /** Runs work in a transaction of its own turn; an error of the work takes the transaction back. */
  readonly transact: (work: (tx: Migration) => Promise<never>) => Promise<never>;
  /** Whether the next transactions see a statement: statements with numbers that other writes take, too, must be left out. */
  readonly keeps: (sql: string) => boolean;
  /** Called after the work of a transaction, in the transaction, with the notes of the work. */
  readonly onMade: (tx: Transactor, notes: readonly Note[]) => void;
}

/** Takes a transaction of a rehearsal back. */
const takenBack = new Error("The transaction of a rehearsal is taken back");

export class Rehearsal {
  readonly #options: RehearsalOptions;
  readonly #log: KeptStatements;
  #turn: Promise<unknown> = Promise.resolve();
  #repeated = 0;
  #isOver = false;
  /** The refusal of a rehearsal that cannot go on, because others have changed what the rehearsal has changed; null before. */
  torn: AppError | null = null;

  constructor(options: RehearsalOptions) {
    this.#options = options;
    this.#log = new KeptStatements(options.keeps);
  }

  get hasChanges(): boolean {
    return this.#log.length > 0;
  }

  /** The last transaction, which the bound of repeated statements does not refuse. All further transactions are refused. */
  conclude<T>(work: (tx: Transactor) => T | Promise<T>): Promise<T> {
    this.#repeated = 0;
    return this.transact(work).finally(() => {
      this.#isOver = true;
    });
  }

  /** @throws AppError `conflict` when the rehearsal is torn, `bad_request` and `payload_too_large` beyond the bounds; errors of `work`. */
  transact<T>(work: (tx: Transactor) => T | Promise<T>): Promise<T> {
    const made = this.#turn.then(() => this.#make(work));
    this.#turn = made.catch(() => undefined);
    return made;
  }

  async #make<T>(work: (tx: Transactor) => T | Promise<T>): Promise<T> {
    if (this.#isOver) throw new AppError("unavailable", "The preview has ended.");
    const { length } = this.#log;
    this.#repeated += length;
    if (this.#repeated > maxRepeated)
      throw new AppError(
        "bad_request",
        "A preview makes about 2,000 changes at most, one after another: use db.batch.",
      );
    const made: { answer?: { readonly value: T } } = {};
    const attempt = async (outer: Migration): Promise<never> => {
      await this.#replay(outer);
      const notes: Note[] = [];
      const tx = new JobTransactor({ connection: outer, thread: null, notes, log: this.#log });
      try {
        const value = await work(tx);
        this.#options.onMade(tx, notes);
        made.answer = { value };
      } finally {
        tx.end();
      }
      throw takenBack;
    };
    await this.#options.transact(attempt).catch((thrown: unknown) => {
      if (thrown === takenBack) return;
      this.#log.cut(length);
      throw thrown;
    });
    if (made.answer === undefined) throw new Error("A transaction of a rehearsal has ended before its end");
    return made.answer.value;
  }

  async #replay(tx: Migration): Promise<void> {
    try {
      await replayIn(tx, { ...this.#log.statements, site: null, notes: [] });
    } catch (thrown) {
      if (hasMetDamage(thrown) || isOutOfRoom(thrown)) throw thrown;
      // A number of rows, a unique value or a table is another now.
      const message = "Records that the preview changes were changed by others meanwhile. Try again.";
      this.torn = new AppError("conflict", message, { retryAfter: 1, cause: thrown });
      throw this.torn;
    }
  }
}

/** The statements that the next transactions of a rehearsal see. */
class KeptStatements extends StatementLog {
  readonly #keeps: RehearsalOptions["keeps"];
  /** The characters of the values up to each statement. */
  readonly #sums: number[] = [];

  constructor(keeps: RehearsalOptions["keeps"]) {
    super();
    this.#keeps = keeps;
  }

  override cut(length: number): void {
    super.cut(length);
    this.#sums.length = length;
  }

  override add(...[sql, values, changes]: Parameters<StatementLog["add"]>): void {
    if (!this.#keeps(sql)) return;
    const size = values.reduce<number>((sum, value) => sum + (typeof value === "string" ? value.length : 8), 0);
    const sum = (this.#sums.at(-1) ?? 0) + size;
    if (sum > maxCharacters)
      throw new AppError(
        "payload_too_large",
        `The changes of a preview are larger than ${maxCharacters / 1024 ** 2} MiB.`,
      );
    this.#sums.push(sum);
    super.add(sql, values, changes);
  }
}
