/**
 * Numbering of commits, for a service of several processes or instances: the number of the last commit, the journal that decides a commit,
 * and the processes that hear of each commit. In a service of a single process, commits have no numbers.
 */
import type { AppError } from "../../../base/kernel/index.ts";
import { type MigrationSite, type Note, StatementLog } from "../entry.ts";
import type { Lead, TransactionConnection, UndecidedCommit } from "../transaction.ts";
import { writePosition } from "./position-table.ts";

/** A commit before the end: the statements for the journal, if a journal decides. */
export class Numbered {
  readonly log: StatementLog | null;
  /** Whether the journal has the commit: from then on the commit has happened, whatever the file says. */
  isDecided = false;
  readonly #numbering: Numbering;

  constructor(numbering: Numbering, log: StatementLog | null) {
    this.#numbering = numbering;
    this.log = log;
  }

  /** Writes the number, and resolves when the journal has the commit; null without a journal. To be called last before COMMIT. */
  decide(
    connection: TransactionConnection,
    notes: readonly Note[],
    { site, giveUp }: { site: MigrationSite | null; giveUp: (reason: AppError) => void },
  ): Promise<void> | null {
    this.#numbering.write(connection);
    if (this.log === null) return null;
    const commit = { entry: this.log.toEntry(notes, site), notes, state: connection };
    return this.#numbering.append(commit, giveUp).then(() => {
      this.isDecided = true;
    });
  }
}

export class Numbering {
  #led: (Lead & { position: number }) | null = null;

  /** From now on, commits have numbers after `position`. */
  start(lead: Lead, position: number): void {
    this.#led = { ...lead, position };
  }

  /** The reason for which no transaction may run now. */
  get refusal(): AppError | null {
    return this.#led?.commitPoint?.refusal ?? null;
  }

  get position(): number {
    return this.#led?.position ?? 0;
  }

  /** @param isReplay whether the journal has the commit already. */
  begin(isReplay = false): Numbered {
    const isLogged = !isReplay && this.#led !== null && this.#led.commitPoint !== null;
    return new Numbered(this, isLogged ? new StatementLog() : null);
  }

  write(connection: TransactionConnection): void {
    if (this.#led !== null) writePosition(connection, this.#led.position + 1);
  }

  async append(commit: UndecidedCommit, giveUp: (reason: AppError) => void): Promise<void> {
    await this.#led?.commitPoint?.append(this.#led.position + 1, commit, giveUp);
  }

  /** A commit has happened. Answers what the answer of the commit must wait for. */
  committed(notes: readonly Note[], isMigration: boolean): Promise<void> | null {
    if (this.#led === null) return null;
    this.#led.position += 1;
    return this.#led.followers?.tell({ position: this.#led.position, notes, isMigration }) ?? null;
  }

  async renew(): Promise<void> {
    await this.#led?.followers?.renew();
  }
}
