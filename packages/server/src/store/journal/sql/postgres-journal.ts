/** PostgresJournal: the driver of a journal in PostgreSQL, over three connections, so that a lease never waits behind a page of entries. */
import { messageOf, SetupError } from "../../../base/kernel/index.ts";
import type { Logger } from "../../../base/logging/index.ts";
import type { Address } from "../address.ts";
import { ChainBroken, type ChainPlace, type History, newRole, roleOf } from "../chain.ts";
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
  type Lease,
  OutcomeUnknown,
  type SnapshotRow,
} from "../journal.ts";
import { creation, format, ids, isWithoutIds } from "./schema.ts";
import * as sql from "./statements.ts";

/** The most entries that one `read` answers. */
const pageEntries = 1_000;
/** The most entries that one step of `trim` removes. */
const trimEntries = 500;

/** An `int8` of the engine, which arrives as text. */
type Long = string;

/** See `check` of the statements. */
interface Standing {
  readonly journal: string;
  readonly trimmed: Long;
  readonly trimmed_id: string | null;
  readonly stands: string | null;
}

export class PostgresJournal implements Journal {
  readonly #cluster: string;
  /** The id of the journal, from `open` on. */
  #id: string | null = null;
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

  async open(mayBegin = true): Promise<{ id: string; isNew: boolean }> {
    try {
      await this.#pages.run(creation);
      if ((await this.#pages.run(isWithoutIds)).length > 0) await this.#pages.run(ids);
      const made = mayBegin ? await this.#ask(this.#pages, sql.newCluster, [crypto.randomUUID(), format]) : [];
      const [found] = await this.#ask<{ id: string; format: number }>(this.#pages, sql.cluster);
      if (found === undefined) throw new ChainBroken(`the journal has no cluster of the name ${this.#cluster}`);
      if (found.format !== format)
        throw new SetupError(
          `cluster.journal: the cluster ${this.#cluster} has the format ${found.format}, and this version knows the format ${format}.`,
        );
      this.#id = found.id;
      return { id: found.id, isNew: made.length > 0 };
    } catch (error) {
      if (!(error instanceof JournalAway || error instanceof OutcomeUnknown)) throw error;
      throw new SetupError(`cluster.journal: ${error.message}`, { cause: error });
    }
  }

  async append(entry: Entry, beside: Beside | null = null): Promise<"appended" | "fenced"> {
    const { position, term, body, id, before } = entry;
    const values = [this.#cluster, position, term, body, id, before];
    const begins = roleOf(id) !== roleOf(before);
    type Row = { holds: boolean; added: boolean };
    let done: Row | undefined;
    try {
      [done] = await this.#appends.run<Row>(sql.append(begins, beside?.call ?? null), [
        ...values,
        ...(beside?.values ?? []),
      ]);
    } catch (error) {
      if (beside === null || !isRefusal(error)) throw error;
      beside.failed(messageOf(error));
      return this.append(entry);
    }
    if (done?.added === true) return "appended";
    // The entry may stand since an earlier call of the same term.
    const [row] = await this.#lookUp(position, id);
    if (row?.same === true && toNumber(row.term) === term) return "appended";
    if (done?.holds !== true || (row !== undefined && toNumber(row.term) !== term)) return "fenced";
    throw new ChainBroken(
      row === undefined
        ? `the entry ${position} does not follow the newest entry of the journal`
        : `the position ${position} holds another entry of the term ${term}`,
    );
  }

  async read(after: ChainPlace, maxBytes: number): Promise<readonly Entry[]> {
    type Row = Standing & { position: Long | null; term: Long; body: Uint8Array } & Pick<Entry, "id" | "before">;
    const rows = await this.#ask<Row>(this.#pages, sql.read, [after.position, maxBytes, pageEntries]);
    const standing = rows[0];
    const trimmed = toNumber(standing?.trimmed ?? 0);
    await this.#compare(after, standing);
    if (after.position < trimmed)
      throw new JournalGap(`The entries after ${after.position} were trimmed, up to ${trimmed}.`);
    const entries: Entry[] = [];
    let last = after;
    for (const { position, term, body, id, before } of rows) {
      if (position === null) continue;
      const next = last.position + 1;
      if (toNumber(position) !== next) throw new JournalGap(`The entry ${next} is missing.`);
      if (last.id !== null && id !== null && before !== last.id)
        throw new ChainBroken(`the entry ${next} does not follow the entry before`);
      const bytes = new Uint8Array(body.buffer, body.byteOffset, body.byteLength);
      entries.push({ position: next, term: toNumber(term), id, before, body: bytes });
      last = { position: next, id };
    }
    return entries;
  }

  async check(place: ChainPlace): Promise<string | null> {
    const [standing] = await this.#ask<Standing>(this.#leases, sql.check, [place.position]);
    return this.#compare(place, standing);
  }

  async history(): Promise<History> {
    const rows = await this.#ask<{ id: string; position: Long }>(this.#leases, sql.roles);
    const { last, id } = await this.extent();
    return {
      roles: rows.map((row) => ({ id: row.id, position: toNumber(row.position) })),
      end: { position: last, id },
    };
  }

  async begin({ roles, end }: History): Promise<void> {
    const known = JSON.stringify(roles.map(({ position, id }) => [position, id]));
    await this.#ask(this.#pages, sql.begin, [end.position, end.id, known]);
  }

  async extent(): Promise<JournalExtent> {
    type Row = Record<"trimmed" | "trimmed_term" | "bytes", Long> &
      Record<"first" | "last" | "term", Long | null> &
      Record<"id" | "trimmed_id", string | null>;
    const [row] = await this.#ask<Row>(this.#pages, sql.extent);
    const trimmed = toNumber(row?.trimmed ?? 0);
    const last = toNumber(row?.last ?? trimmed);
    return {
      first: toNumber(row?.first ?? (trimmed === 0 ? 0 : trimmed + 1)),
      last,
      bytes: toNumber(row?.bytes ?? 0),
      term: toNumber(row?.term ?? row?.trimmed_term ?? 0),
      id: (row?.last == null ? row?.trimmed_id : row.id) ?? null,
    };
  }

  async leader(): Promise<Leader | null> {
    type Row = { term: Long; instance: string; address: string; live: boolean };
    const [row] = await this.#ask<Row>(this.#leases, sql.leader);
    if (row === undefined) return null;
    return { term: toNumber(row.term), instance: row.instance, address: row.address, isLive: row.live };
  }

  async takeLease(me: { instance: string; address: string; ms: number }): Promise<Lease | null> {
    const role = newRole();
    const term = await this.#term(sql.takeLease, [me.instance, me.address, me.ms, role]);
    return term === null ? null : { term, role };
  }

  async renewLease({ term, role }: Lease, ms: number): Promise<boolean> {
    return (await this.#term(sql.renewLease, [term, role, ms])) !== null;
  }

  async nextTerm({ term, role }: Lease, ms: number): Promise<Lease | null> {
    const next = await this.#term(sql.nextTerm, [term, role, ms]);
    return next === null ? null : { term: next, role };
  }

  async passLease(
    { term, role }: Lease,
    { instance, address, ms }: { instance: string; address: string; ms: number },
  ): Promise<boolean> {
    return (await this.#term(sql.passLease, [term, role, instance, address, ms])) !== null;
  }

  async releaseLease(lease: Lease): Promise<void> {
    await this.renewLease(lease, 0);
  }

  async register(me: {
    name: string;
    address: string;
    version: string;
    position: number;
    run: string;
    problem?: string | null;
    files?: string | null;
    ms: number;
  }): Promise<boolean> {
    const { problem = null, files = null } = me;
    const values = [me.name, me.run, me.address, me.version, me.position, me.ms, problem, files];
    return (await this.#ask(this.#leases, sql.register, values)).length > 0;
  }

  async files(): Promise<readonly string[]> {
    return (await this.#ask<{ files: string }>(this.#leases, sql.files)).map(({ files }) => files);
  }

  async addFiles(files: string): Promise<void> {
    if ((await this.files()).at(-1) !== files) await this.#ask(this.#leases, sql.addFiles, [files]);
  }

  async unregister(name: string, run: string): Promise<void> {
    await this.#ask(this.#leases, sql.unregister, [name, run]);
  }

  async removeInstance(name: string): Promise<boolean> {
    return (await this.#ask(this.#leases, sql.removeInstance, [name])).length > 0;
  }

  async instances(): Promise<readonly InstanceRow[]> {
    type Row = Omit<InstanceRow, "position" | "isLive"> & { position: Long; live: boolean };
    const rows = await this.#ask<Row>(this.#leases, sql.instances);
    return rows.map(({ position, live, ...row }) => ({ ...row, position: toNumber(position), isLive: live }));
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

  /**
   * Compares a place with the row of `check`; answers the id of the entry there.
   * @throws ChainBroken when the journal does not have the place.
   */
  async #compare({ position, id }: ChainPlace, standing: Standing | undefined): Promise<string | null> {
    if (standing === undefined || (this.#id !== null && standing.journal !== this.#id))
      throw new ChainBroken("the journal is another journal than before");
    if (position === 0) return null;
    const trimmed = toNumber(standing.trimmed);
    if (position < trimmed) {
      if (id === null) return null;
      const roles = (await this.history()).roles;
      const at = roles.findIndex((each) => roleOf(each.id) === roleOf(id));
      const next = roles[at + 1]?.position ?? Number.POSITIVE_INFINITY;
      if (at >= 0 && position < next) return id;
    } else {
      // A version without ids has trimmed the entry.
      const stands = position === trimmed ? (standing.trimmed_id ?? id ?? "") : standing.stands;
      if (stands !== null && (id === null || stands === id)) return stands === "" ? null : stands;
    }
    throw new ChainBroken(`the journal does not have the commit ${position} of this instance`);
  }

  /** The entry at a position; a look that fails leaves the outcome of an append unknown. */
  async #lookUp(position: number, id: string | null): Promise<{ term: Long; same: boolean }[]> {
    try {
      return await this.#appends.run(sql.standing, [this.#cluster, position, id]);
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
      if (this.#id !== null && error instanceof JournalAway && isMissingTable(error.cause))
        throw new ChainBroken("the tables of the journal are missing", { cause: error });
      if (!(error instanceof OutcomeUnknown)) throw error;
      throw new JournalAway(error.message, { cause: error });
    }
  }
}

function isMissingTable(error: unknown): boolean {
  return error instanceof Bun.SQL.PostgresError && error.errno === "42P01";
}

/** A number of the engine. @throws Error for a number that this process cannot hold exactly. */
function toNumber(value: Long | number): number {
  const number = Number(value);
  if (!Number.isSafeInteger(number)) throw new Error(`The journal holds the number ${value}, which is out of range.`);
  return number;
}
