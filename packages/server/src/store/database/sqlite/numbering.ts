/**
 * Numbering of commits, for a service of several processes or instances: the place of a commit, the journal that decides the commit, and the
 * processes that hear of the commit. In a service of a single process, commits have no numbers.
 */
import type { AppError } from "../../../base/kernel/index.ts";
import { type ChainPlace, newEntryId } from "../../journal/index.ts";
import type { MigrationSite, Note, StatementLog } from "../entry.ts";
import type { Lead, TransactionConnection } from "../transaction.ts";
import { writePlace, writePosition } from "./position-table.ts";

interface NumberedOptions {
  /** The statements of the commit, if the journal decides. */
  readonly log: StatementLog | null;
  /** The id of the entry, if the journal has the commit already. */
  readonly replayed: string | null;
}

/** A commit with a number, whose transactions have run. */
export class NumberedCommit {
  readonly place: ChainPlace;
  /** Whether the journal has the commit: from then on the commit has happened, whatever the file says. */
  isDecided = false;
  readonly #lead: Lead;
  readonly #before: ChainPlace;
  readonly #log: StatementLog | null;

  /** @param before the place of the last commit. */
  constructor(lead: Lead, before: ChainPlace, { log, replayed }: NumberedOptions) {
    this.#lead = lead;
    this.#before = before;
    this.#log = log;
    const id = lead.commitPoint !== null && log !== null ? newEntryId(lead.commitPoint.role) : replayed;
    this.place = { position: before.position + 1, id };
  }

  /** Writes the number, and resolves when the journal has the commit, at once without a journal. To be called last before COMMIT. */
  async decide(
    connection: TransactionConnection,
    notes: readonly Note[],
    { site, giveUp }: { site: MigrationSite | null; giveUp: (reason: AppError) => void },
  ): Promise<void> {
    const { commitPoint } = this.#lead;
    const { position, id } = this.place;
    if (commitPoint === null) writePosition(connection, position);
    else writePlace(connection, this.place, this.#before);
    if (commitPoint === null || this.#log === null || id === null) return;
    const commit = { entry: this.#log.toEntry(notes, site), notes, state: connection, id, before: this.#before.id };
    await commitPoint.append(position, commit, giveUp);
    this.isDecided = true;
  }

  /** Tells the processes of the commit. Answers what the answer of the commit must wait for. */
  tell(notes: readonly Note[], isMigration: boolean): Promise<void> | null {
    return this.#lead.followers?.tell({ position: this.place.position, notes, isMigration }) ?? null;
  }
}
