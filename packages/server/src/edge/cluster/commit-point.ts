/**
 * Journal commits: the commit point of a leader. A commit has happened when the journal has the entry; an append that fails is rolled back, and
 * an append without an answer is decided before anything else happens.
 */
import { AppError } from "../../base/kernel/index.ts";
import type { Mirror } from "../../operate/mirror/index.ts";
import { type CommitPoint, outcomeUnknown, type UndecidedCommit } from "../../store/database/index.ts";
import { ChainBroken, type Journal, JournalAway, type Lease, OutcomeUnknown } from "../../store/journal/index.ts";
import { leaseMs } from "./timing.ts";

/** The pause between two tries to decide an append. */
const pauseMs = 200;
/** How long callers wait for the outcome of an append without an answer. */
const unknownMs = 1_000;

/** How often an append without an answer is tried with the mirror: an engine that the mirror holds up goes on without the mirror. */
const mirrorTries = 2;

interface JournalCommitsOptions {
  readonly journal: Journal;
  readonly lease: Lease;
  /** Called once: another instance leads, so that no commit of this instance happens any more. */
  readonly onLost: () => void;
  /** Called when the journal is not the journal that has the commits of this instance. */
  readonly onBroken: (broken: ChainBroken) => void;
  /** Called with the outcome of each contact with the engine. */
  readonly onContact: (isThere: boolean) => void;
}

export class JournalCommits implements CommitPoint {
  readonly #options: JournalCommitsOptions;
  /** The term grows when an append had no answer. */
  #lease: Lease;
  #isAway = false;
  #isLost = false;
  /** Resolves when the appends that are held up go on; null while none is held up. */
  #held: Promise<void> | null = null;
  /** The append under way, or the last append. */
  #appending: Promise<void> = Promise.resolve();
  #bytes = 0;
  /** The newest position that the journal has, or may have while an append has no answer yet; 0 before the first append. */
  newest = 0;
  /** Changes with each commit; null without a mirror. */
  mirror: Mirror | null = null;

  constructor(options: JournalCommitsOptions) {
    this.#options = options;
    this.#lease = options.lease;
  }

  get lease(): Lease {
    return this.#lease;
  }

  get term(): number {
    return this.#lease.term;
  }

  get role(): string {
    return this.#lease.role;
  }

  /** The bytes of the entries that this instance has appended in the role. */
  get bytes(): number {
    return this.#bytes;
  }

  get refusal(): AppError | null {
    if (this.#isLost) return deposed();
    return this.#isAway ? away() : null;
  }

  /** The engine of the journal was reached, or was not. */
  reached(isThere: boolean): void {
    this.#isAway = !isThere;
    this.#options.onContact(isThere);
  }

  /** The lease of the term is over: another instance leads, or may lead. */
  lose(): void {
    if (this.#isLost) return;
    this.#isLost = true;
    this.#options.onLost();
  }

  #break(broken: ChainBroken): void {
    this.#options.onBroken(broken);
    this.lose();
  }

  /**
   * Holds up new appends, and waits for the append under way. Answers how to end the hold: an append goes on then, or is refused when the lease is
   * lost. @throws AppError `unavailable` when an append takes longer than `ms`, `conflict` during another hold; nothing is held up then.
   */
  async hold(ms: number): Promise<() => void> {
    if (this.#held !== null) throw new AppError("conflict", "A hand-over is under way.");
    const gate = Promise.withResolvers<void>();
    this.#held = gate.promise;
    const release = (): void => {
      this.#held = null;
      gate.resolve();
    };
    const isStill = await Promise.race([this.#appending.then(() => true), Bun.sleep(ms).then(() => false)]);
    if (isStill) return release;
    release();
    throw new AppError("unavailable", `A commit waits for the journal for more than ${ms} ms.`);
  }

  async append(position: number, commit: UndecidedCommit, giveUp: (reason: AppError) => void): Promise<void> {
    while (this.#held !== null) await this.#held;
    if (this.#isLost) throw deposed();
    const { newest } = this;
    this.newest = position;
    try {
      const appending = this.#append(position, commit, giveUp);
      this.#appending = appending.catch(() => undefined);
      await appending;
    } catch (thrown) {
      this.newest = newest;
      throw thrown;
    }
  }

  async #append(position: number, commit: UndecidedCommit, giveUp: (reason: AppError) => void): Promise<void> {
    const { id, before } = commit;
    const body = Buffer.from(commit.entry);
    this.#bytes += body.byteLength;
    const { mirror } = this;
    const changes = mirror === null ? null : await mirror.changesOf(position, commit);
    for (let tries = 0; ; tries++) {
      const { term } = this.#lease;
      if (tries === mirrorTries) changes?.failed("PostgreSQL has not answered an append with the changes");
      const beside = tries < mirrorTries ? changes : null;
      try {
        const outcome = await this.#options.journal.append({ position, term, id, before, body }, beside);
        if (outcome === "appended") {
          mirror?.appended(position);
          return;
        }
        // A new term of this leader began meanwhile.
        if (term !== this.term) continue;
        this.lose();
        throw deposed();
      } catch (thrown) {
        if (thrown instanceof JournalAway) {
          this.reached(false);
          throw away();
        }
        if (thrown instanceof ChainBroken) {
          this.#break(thrown);
          throw deposed();
        }
        if (!(thrown instanceof OutcomeUnknown)) throw thrown;
        if (!(await this.#decide(position, commit, giveUp))) continue;
        mirror?.appended(position);
        return;
      }
    }
  }

  /**
   * Whether the journal has the entry that was appended without an answer. Afterwards the entry cannot come any more: a new term has
   * begun.
   */
  async #decide(
    position: number,
    { id, before }: UndecidedCommit,
    giveUp: (reason: AppError) => void,
  ): Promise<boolean> {
    const timer = setTimeout(() => giveUp(outcomeUnknown()), unknownMs);
    try {
      for (;;) {
        try {
          const next = await this.#options.journal.nextTerm(this.#lease, leaseMs);
          if (next === null) {
            this.lose();
            throw outcomeUnknown();
          }
          this.#lease = next;
          const [found] = await this.#options.journal.read({ position: position - 1, id: before }, 1);
          this.reached(true);
          return found?.id === id;
        } catch (thrown) {
          if (thrown instanceof ChainBroken) {
            this.#break(thrown);
            throw outcomeUnknown();
          }
          if (!(thrown instanceof JournalAway)) throw thrown;
          this.reached(false);
          await Bun.sleep(pauseMs);
        }
      }
    } finally {
      clearTimeout(timer);
    }
  }
}

function away(): AppError {
  return new AppError("unavailable", "The journal of the cluster cannot be reached; nothing was changed.", {
    retryAfter: 1,
  });
}

function deposed(): AppError {
  return new AppError("unavailable", "Another instance leads now; nothing was changed. Try again in a moment.", {
    retryAfter: 1,
  });
}
