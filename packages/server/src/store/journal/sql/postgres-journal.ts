/** PostgresJournal: the driver of a journal in PostgreSQL, over three connections, so that a lease never waits behind a page of entries. */
import { messageOf, SetupError } from "../../../base/kernel/index.ts";
import type { Logger } from "../../../base/logging/index.ts";
import type { Address } from "../address.ts";
import { EngineConnection, isRefusal } from "../connection.ts";
import {
  type Beside,
  type Entry,
  type InstanceRow,
  type Journal,
  JournalAway,
  type JournalExtent,
  JournalGap,
  type Leader,
  OutcomeUnknown,
  type SnapshotRow,
} from "../journal.ts";
import { creation, format } from "./schema.ts";
import * as sql from "./statements.ts";

/** The most entries that one `read` answers. */
const pageEntries = 1_000;
/** The most entries that one step of `trim` removes. */
const trimEntries = 500;

/** An `int8` of the engine, which arrives as text. */
type Long = string;

export class PostgresJournal implements Journal {
  readonly #cluster: string;
  /** For appends alone, so that appends run in the order of the calls. */
  readonly #appends: EngineConnection;
  /** For the short statements of leases and instances. */
  readonly #leases: EngineConnection;
  /** For reads, snapshots and trims. */
  readonly #pages: EngineConnection;

  constructor(options: { address: Address; cluster: string; logger: Logger; timeoutMs: number }) {
    this.#cluster = options.cluster;
    this.#appends = new EngineConnection(options);
    this.#leases = new EngineConnection(options);
    this.#pages = new EngineConnection(options);
  }

  async open(): Promise<{ id: string; isNew: boolean }> {
    try {
      await this.#pages.run(creation);
      const made = await this.#ask(this.#pages, sql.newCluster, [crypto.randomUUID(), format]);
      const [found] = await this.#ask<{ id: string; format: number }>(this.#pages, sql.cluster);
      if (found === undefined) throw new Error(`the cluster ${this.#cluster} has lost its row`);
      if (found.format !== format)
        throw new SetupError(
          `cluster.journal: the cluster ${this.#cluster} has the format ${found.format}, and this version knows the format ${format}.`,
        );
      return { id: found.id, isNew: made.length > 0 };
    } catch (error) {
      if (!(error instanceof JournalAway || error instanceof OutcomeUnknown)) throw error;
      throw new SetupError(`cluster.journal: ${error.message}`, { cause: error });
    }
  }

  async append(entry: Entry, beside: Beside | null = null): Promise<"appended" | "fenced"> {
    const { position, term, body } = entry;
    const values = [this.#cluster, position, term, body];
    type Row = { holds: boolean; added: boolean };
    let done: Row | undefined;
    try {
      [done] = await (beside === null
        ? this.#appends.run<Row>(sql.append, values)
        : this.#appends.run<Row>(sql.appendBeside(beside.call), [...values, ...beside.values]));
    } catch (error) {
      if (beside === null || !isRefusal(error)) throw error;
      beside.failed(messageOf(error));
      return this.append(entry);
    }
    if (done?.added === true) return "appended";
    // The entry may stand since an earlier call of the same term.
    const [row] = await this.#lookUp(position, body);
    if (row?.same === true && toNumber(row.term) === term) return "appended";
    if (done?.holds !== true || (row !== undefined && toNumber(row.term) !== term)) return "fenced";
    throw new Error(
      row === undefined
        ? `The entry ${position} does not follow the newest entry of the journal.`
        : `The position ${position} holds another entry of the term ${term}.`,
    );
  }

  async read(after: number, maxBytes: number): Promise<readonly Entry[]> {
    type Row = { trimmed: Long; position: Long | null; term: Long; body: Uint8Array };
    const rows = await this.#ask<Row>(this.#pages, sql.read, [after, maxBytes, pageEntries]);
    const trimmed = toNumber(rows[0]?.trimmed ?? 0);
    if (after < trimmed) throw new JournalGap(`The entries after ${after} were trimmed, up to ${trimmed}.`);
    const entries: Entry[] = [];
    for (const { position, term, body } of rows) {
      if (position === null) continue;
      const next = after + 1 + entries.length;
      if (toNumber(position) !== next) throw new JournalGap(`The entry ${next} is missing.`);
      const bytes = new Uint8Array(body.buffer, body.byteOffset, body.byteLength);
      entries.push({ position: next, term: toNumber(term), body: bytes });
    }
    return entries;
  }

  async extent(): Promise<JournalExtent> {
    type Row = Record<"trimmed" | "trimmed_term" | "bytes", Long> & Record<"first" | "last" | "term", Long | null>;
    const [row] = await this.#ask<Row>(this.#pages, sql.extent);
    const trimmed = toNumber(row?.trimmed ?? 0);
    const last = toNumber(row?.last ?? trimmed);
    return {
      first: toNumber(row?.first ?? (trimmed === 0 ? 0 : trimmed + 1)),
      last,
      bytes: toNumber(row?.bytes ?? 0),
      term: toNumber(row?.term ?? row?.trimmed_term ?? 0),
    };
  }

  async leader(): Promise<Leader | null> {
    type Row = { term: Long; instance: string; address: string; live: boolean };
    const [row] = await this.#ask<Row>(this.#leases, sql.leader);
    if (row === undefined) return null;
    return { term: toNumber(row.term), instance: row.instance, address: row.address, isLive: row.live };
  }

  async takeLease(me: { instance: string; address: string; ms: number }): Promise<number | null> {
    return this.#term(sql.takeLease, [me.instance, me.address, me.ms]);
  }

  async renewLease(term: number, ms: number): Promise<boolean> {
    return (await this.#term(sql.renewLease, [term, ms])) !== null;
  }

  async nextTerm(term: number, ms: number): Promise<number | null> {
    return this.#term(sql.nextTerm, [term, ms]);
  }

  async releaseLease(term: number): Promise<void> {
    await this.#term(sql.renewLease, [term, 0]);
  }

  async register(me: {
    name: string;
    address: string;
    version: string;
    position: number;
    run: string;
    ms: number;
  }): Promise<boolean> {
    const values = [me.name, me.run, me.address, me.version, me.position, me.ms];
    return (await this.#ask(this.#leases, sql.register, values)).length > 0;
  }

  async unregister(name: string, run: string): Promise<void> {
    await this.#ask(this.#leases, sql.unregister, [name, run]);
  }

  async instances(): Promise<readonly InstanceRow[]> {
    type Row = { name: string; run: string; address: string; version: string; position: Long; live: boolean };
    const rows = await this.#ask<Row>(this.#leases, sql.instances);
    return rows.map(({ name, run, address, version, position, live }) => ({
      name,
      address,
      version,
      position: toNumber(position),
      isLive: live,
      run,
    }));
  }

  async addSnapshot({ position, name, bytes, madeAt }: SnapshotRow): Promise<void> {
    await this.#ask(this.#pages, sql.addSnapshot, [position, name, bytes, madeAt]);
  }

  async removeSnapshot(position: number): Promise<void> {
    await this.#ask(this.#pages, sql.removeSnapshot, [position]);
  }

  async snapshots(): Promise<readonly SnapshotRow[]> {
    type Row = { position: Long; name: string; bytes: Long; made_at: Long };
    const rows = await this.#ask<Row>(this.#pages, sql.snapshots);
    return rows.map(({ position, name, bytes, made_at }) => ({
      position: toNumber(position),
      name,
      bytes: toNumber(bytes),
      madeAt: toNumber(made_at),
    }));
  }

  async trim(position: number): Promise<void> {
    await this.#ask(this.#pages, sql.markTrimmed, [position]);
    let removed: number;
    do removed = (await this.#ask(this.#pages, sql.removeTrimmed, [trimEntries])).length;
    while (removed === trimEntries);
  }

  async ask<Row>(statement: string, values: readonly unknown[] = []): Promise<Row[]> {
    return this.#known(() => this.#pages.run<Row>(statement, values));
  }

  async close(): Promise<void> {
    await Promise.all([this.#appends.close(), this.#leases.close(), this.#pages.close()]);
  }

  /** The entry at a position; a look that fails leaves the outcome of an append unknown. */
  async #lookUp(position: number, body: Uint8Array): Promise<{ term: Long; same: boolean }[]> {
    try {
      return await this.#appends.run(sql.standing, [this.#cluster, position, body]);
    } catch (error) {
      if (!(error instanceof JournalAway)) throw error;
      throw new OutcomeUnknown(error.message, { cause: error });
    }
  }

  async #term(statement: string, values: readonly unknown[]): Promise<number | null> {
    const [row] = await this.#ask<{ term: Long }>(this.#leases, statement, values);
    return row === undefined ? null : toNumber(row.term);
  }

  /** Runs a statement that is no append: a lost answer is `JournalAway`. */
  async #ask<Row>(connection: EngineConnection, statement: string, values: readonly unknown[] = []): Promise<Row[]> {
    return this.#known(() => connection.run<Row>(statement, [this.#cluster, ...values]));
  }

  async #known<T>(run: () => Promise<T>): Promise<T> {
    try {
      return await run();
    } catch (error) {
      if (!(error instanceof OutcomeUnknown)) throw error;
      throw new JournalAway(error.message, { cause: error });
    }
  }
}

/** A number of the engine. @throws Error for a number that this process cannot hold exactly. */
function toNumber(value: Long | number): number {
  const number = Number(value);
  if (!Number.isSafeInteger(number)) throw new Error(`The journal holds the number ${value}, which is out of range.`);
  return number;
}
