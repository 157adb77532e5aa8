/**
 * Numbering of commits, for a service of several processes or instances: the number of the last commit, the journal that decides a commit,
 * and the processes that hear of each commit. In a service of a single process, commits have no numbers.
 */
import type { AppError } from "../../../base/kernel/index.ts";
import { beginning, type ChainPlace, newEntryId } from "../../journal/index.ts";
import { type MigrationSite, type Note, StatementLog } from "../entry.ts";
import type { Lead, TransactionConnection, UndecidedCommit } from "../transaction.ts";
import { writePlace, writePosition } from "./position-table.ts";

/** A commit before the end: the statements for the journal, if a journal decides. */
export class Numbered {
  readonly log: StatementLog | null;
  /** Whether the journal has the commit: from then on the commit has happened, whatever the file says. */
  isDecided = false;
  readonly #numbering: Numbering;
  /** The id of the entry of the commit; null without a journal. */
  readonly #id: string | null;

  constructor(numbering: Numbering, { log, id }: { log: StatementLog | null; id: string | null }) {
    this.#numbering = numbering;
    this.log = log;
    this.#id = id;
  }

  /** Writes the number, and resolves when the journal has the commit; null without a journal. To be called last before COMMIT. */
  decide(
    connection: TransactionConnection,
    notes: readonly Note[],
    { site, giveUp }: { site: MigrationSite | null; giveUp: (reason: AppError) => void },
  ): Promise<void> | null {
    const before = this.#numbering.place.id;
    this.#numbering.write(connection, this.#id);
    if (this.log === null || this.#id === null) return null;
    const commit = { entry: this.log.toEntry(notes, site), notes, state: connection, id: this.#id, before };
    return this.#numbering.append(commit, giveUp).then(() => {
      this.isDecided = true;
    });
  }
}

export class Numbering {
  #led: Lead | null = null;
  #place = beginning;
  /** The id that `write` has written last. */
  #written: string | null = null;

  /** From now on, commits have numbers after a place. */
  start(lead: Lead, place: ChainPlace): void {
    this.#led = lead;
    this.#place = place;
  }

  /** The reason for which no transaction may run now. */
  get refusal(): AppError | null {
    return this.#led?.commitPoint?.refusal ?? null;
  }

  /** The place of the last commit. */
  get place(): ChainPlace {
    return this.#place;
  }

  /** @param replayed the id of the entry, if the journal has the commit already. */
  begin(replayed?: string | null): Numbered {
    const point = this.#led?.commitPoint ?? null;
    if (replayed !== undefined || point === null) return new Numbered(this, { log: null, id: replayed ?? null });
    return new Numbered(this, { log: new StatementLog(), id: newEntryId(point.role) });
  }

  write(connection: TransactionConnection, id: string | null): void {
    if (this.#led === null) return;
    this.#written = id;
    const position = this.#place.position + 1;
    if (this.#led.commitPoint === null) writePosition(connection, position);
    else writePlace(connection, { position, id }, this.#place);
  }

  async append(commit: UndecidedCommit, giveUp: (reason: AppError) => void): Promise<void> {
    await this.#led?.commitPoint?.append(this.#place.position + 1, commit, giveUp);
  }

  /** A commit has happened. Answers what the answer of the commit must wait for. */
  committed(notes: readonly Note[], isMigration: boolean): Promise<void> | null {
    if (this.#led === null) return null;
    this.#place = { position: this.#place.position + 1, id: this.#written };
    return this.#led.followers?.tell({ position: this.#place.position, notes, isMigration }) ?? null;
  }

  async renew(): Promise<void> {
    await this.#led?.followers?.renew();
  }
}
