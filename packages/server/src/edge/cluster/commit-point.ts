/**
 * Journal commits: the commit point of a leader. A commit has happened when the journal has the entry; an append that fails is rolled back, and
 * an append without an answer is decided before anything else happens.
 */
import { AppError } from "../../base/kernel/index.ts";
import type { Mirror } from "../../operate/mirror/index.ts";
import type { CommitPoint, UndecidedCommit } from "../../store/database/index.ts";
import { type Journal, JournalAway, OutcomeUnknown } from "../../store/journal/index.ts";
import { leaseMs } from "./timing.ts";

/** The pause between two tries to decide an append. */
const pauseMs = 200;
/** How long callers wait for the outcome of an append without an answer. */
const unknownMs = 1_000;

/** How often an append without an answer is tried with the mirror: an engine that the mirror holds up goes on without the mirror. */
const mirrorTries = 2;

interface JournalCommitsOptions {
  readonly journal: Journal;
  readonly term: number;
  /** Called once: another instance leads, so that no commit of this instance happens any more. */
  readonly onLost: () => void;
  /** Called with the outcome of each contact with the engine. */
  readonly onContact: (isThere: boolean) => void;
}

export class JournalCommits implements CommitPoint {
  readonly #options: JournalCommitsOptions;
  /** Grows when an append had no answer. */
  #term: number;
  #isAway = false;
  #isLost = false;
  #bytes = 0;
  /** The newest position that the journal has, or may have while an append has no answer yet; 0 before the first append. */
  newest = 0;
  /** Changes with each commit; null without a mirror. */
  mirror: Mirror | null = null;

  constructor(options: JournalCommitsOptions) {
    this.#options = options;
    this.#term = options.term;
  }

  get term(): number {
    return this.#term;
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

  async append(position: number, commit: UndecidedCommit, giveUp: (reason: AppError) => void): Promise<void> {
    const { newest } = this;
    this.newest = position;
    try {
      await this.#append(position, commit, giveUp);
    } catch (thrown) {
      this.newest = newest;
      throw thrown;
    }
  }

  async #append(position: number, commit: UndecidedCommit, giveUp: (reason: AppError) => void): Promise<void> {
    const body = Buffer.from(commit.entry);
    this.#bytes += body.byteLength;
    const { mirror } = this;
    const changes = mirror === null ? null : await mirror.changesOf(position, commit);
    for (let tries = 0; ; tries++) {
      const term = this.#term;
      if (tries === mirrorTries) changes?.failed("PostgreSQL has not answered an append with the changes");
      const beside = tries < mirrorTries ? changes : null;
      try {
        const outcome = await this.#options.journal.append({ position, term, body }, beside);
        if (outcome === "appended") {
          mirror?.appended(position);
          return;
        }
        // A new term of this leader began meanwhile.
        if (term !== this.#term) continue;
        this.lose();
        throw deposed();
      } catch (thrown) {
        if (thrown instanceof JournalAway) {
          this.reached(false);
          throw away();
        }
        if (!(thrown instanceof OutcomeUnknown)) throw thrown;
        if (!(await this.#decide(position, term, giveUp))) continue;
        mirror?.appended(position);
        return;
      }
    }
  }

  /**
   * Whether the journal has the entry that was appended without an answer. Afterwards the entry cannot come any more: a new term has
   * begun.
   */
  async #decide(position: number, term: number, giveUp: (reason: AppError) => void): Promise<boolean> {
    const timer = setTimeout(() => giveUp(unknown()), unknownMs);
    try {
      for (;;) {
        try {
          const next = await this.#options.journal.nextTerm(this.#term, leaseMs);
          if (next === null) {
            this.lose();
            throw unknown();
          }
          this.#term = next;
          const [found] = await this.#options.journal.read(position - 1, 1);
          this.reached(true);
          return found?.position === position && found.term === term;
        } catch (thrown) {
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

/** The error for a change whose outcome this instance cannot learn. */
export function unknown(): AppError {
  return new AppError(
    "unavailable",
    "The outcome is not known: the change may have happened. Look before you repeat it.",
    {
      retryAfter: 1,
    },
  );
}
