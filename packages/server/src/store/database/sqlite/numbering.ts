/**
 * Numbering of commits, for a service of several processes or instances: the place of a commit, the journal that decides the commit, and the
 * processes that hear of the commit. In a service of a single process, commits have no numbers.
 */
import type { AppError } from "../../../base/kernel/index.ts";
import { type ChainPlace, newEntryId } from "../../journal/index.ts";
import type { MigrationSite, Note, StatementLog } from "../entry.ts";
import type { KeptCommit, Lead, TransactionConnection } from "../transaction.ts";
import { writePlace, writePosition } from "./position-table.ts";

interface NumberedOptions {
  /** The statements of the commit, if the journal decides. */
  readonly log: StatementLog | null;
  /** The id of the entry, if the journal has the commit already. */
  readonly replayed: string | null;
}

/** The role that begins the ids of the entries; null in a service whose commits make no entries. */
export function roleIn(lead: Lead | null): string | null {
  return lead?.commitPoint?.role ?? lead?.copies?.role ?? null;
}

/** A commit with a number, whose transactions have run. */
export class NumberedCommit {
  readonly place: ChainPlace;
  /** Whether the journal has the commit: from then on the commit has happened, whatever the file says. */
  isDecided = false;
  readonly #lead: Lead;
  readonly #before: ChainPlace;
  readonly #log: StatementLog | null;
  #kept: KeptCommit | null = null;

  /** @param before the place of the last commit. */
  constructor(lead: Lead, before: ChainPlace, { log, replayed }: NumberedOptions) {
    this.#lead = lead;
    this.#before = before;
    this.#log = log;
    const role = roleIn(lead);
    const id = role !== null && log !== null ? newEntryId(role) : replayed;
    this.place = { position: before.position + 1, id };
  }

  /** Writes the number, and resolves when the journal has the commit, at once without a journal. To be called last before COMMIT. */
  async decide(
    connection: TransactionConnection,
    notes: readonly Note[],
    { site, giveUp }: { site: MigrationSite | null; giveUp: (reason: AppError) => void },
  ): Promise<void> {
    const { commitPoint, copies } = this.#lead;
    const { position, id } = this.place;
    if (roleIn(this.#lead) === null) writePosition(connection, position);
    else writePlace(connection, this.place, this.#before);
    if (this.#log === null || id === null) return;
    const before = this.#before.id;
    const entry = this.#entryOf(this.#log, notes, site);
    if (copies !== null) this.#kept = { position, id, before, at: Date.now(), entry, notes };
    if (commitPoint === null || entry === null) return;
    await commitPoint.append(position, { entry, notes, state: connection, id, before }, giveUp);
    this.isDecided = true;
  }

  /** The entry; null for a commit that is too large, if no journal decides. @throws Error if a journal decides. */
  #entryOf(log: StatementLog, notes: readonly Note[], site: MigrationSite | null): string | null {
    try {
      return log.toEntry(notes, site);
    } catch (thrown) {
      if (this.#lead.commitPoint !== null) throw thrown;
      return null;
    }
  }

  /** Tells the processes of the commit. Answers what the answer of the commit must wait for. */
  tell(notes: readonly Note[], isMigration: boolean): Promise<void> | null {
    return this.#lead.followers?.tell({ position: this.place.position, notes, isMigration }) ?? null;
  }

  /** Gives the commit to the copies, when the commit is on disk. */
  keep(): void {
    if (this.#kept !== null) this.#lead.copies?.take(this.#kept);
  }
}
