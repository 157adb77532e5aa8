/** The reader of Supabase: a dump, with a folder of files, becomes a `MoveSource`. */
import { statSync } from "node:fs";
import { count, parseDatetime, SetupError } from "../../../base/kernel/index.ts";
import { Accounts } from "../accounts.ts";
import type { Choices, MovedRow, MoveFinding, MoveSource, MoveTable } from "../source.ts";
import type { StoredRow } from "../sql/work-rows.ts";
import { timesOf } from "../values.ts";
import { DumpUsers } from "./accounts.ts";
import { TableDefiner, usersDefinition } from "./definitions.ts";
import { Dump } from "./dump.ts";
import { DumpValues } from "./values.ts";
import { DumpWorld, objectsTable, type PlacedColumn, type PlacedTable } from "./world.ts";

interface SupabaseOptions {
  readonly choices: Choices;
  /** A folder for the rows of the dump. */
  readonly work: string;
  /** The folder of the files: FOLDER/BUCKET/PATH. Null without files. */
  readonly files: string | null;
}

/** @throws SetupError for a dump that cannot be moved. The caller disposes of the source. */
export async function readSupabase(
  path: string,
  { choices, work, files }: SupabaseOptions,
): Promise<MoveSource & Disposable> {
  if (files !== null && statSync(files, { throwIfNoEntry: false })?.isDirectory() !== true)
    throw new SetupError(`${files}: is no folder of files, with a folder for each bucket`);
  const dump = await Dump.open(path, work);
  try {
    return { ...new Reader(dump, choices, files).source(), [Symbol.dispose]: () => dump.rows.close() };
  } catch (thrown) {
    dump.rows.close();
    throw thrown;
  }
}

/** The advice on the parts of a database that are not moved. */
const advice: Readonly<Record<string, string>> = {
  FUNCTION: "write functions, endpoints or server queries",
  PROCEDURE: "write functions, endpoints or server queries",
  TRIGGER: "write hooks or functions of events",
  VIEW: "write server queries",
  "MATERIALIZED VIEW": "write server queries",
  EXTENSION: "Socle has no extensions",
  SEQUENCE: "ids are made by Socle, and a field counts with sequence",
  DOMAIN: "the fields are texts: write min, max or regex",
  RULE: "write hooks",
};

class Reader {
  readonly #dump: Dump;
  readonly #world: DumpWorld;
  readonly #values: DumpValues;
  readonly #findings: MoveFinding[] = [];
  readonly #users: DumpUsers;
  readonly #accounts: Accounts;
  readonly #now = new Date().toISOString();
  readonly #report = (kind: MoveFinding["kind"], text: string): void => void this.#findings.push({ kind, text });

  constructor(dump: Dump, choices: Choices, files: string | null) {
    this.#dump = dump;
    this.#world = new DumpWorld(dump, files !== null);
    this.#values = new DumpValues(this.#world, choices, files);
    const [users] = this.#world.tables;
    if (users === undefined) throw new Error("A dump has users");
    this.#users = new DumpUsers(dump, users.copied);
    this.#accounts = new Accounts(this.#users.all(), { choices, report: this.#report });
  }

  source(): MoveSource {
    const builder = new TableDefiner(this.#world, this.#report);
    const tables = this.#world.tables.map((table) => this.#table(table, builder));
    this.#tellRest();
    return { label: "Supabase", tables, findings: this.#findings, size: this.#dump.size };
  }

  #table(table: PlacedTable, builder: TableDefiner): MoveTable {
    const { rows } = this.#dump;
    const { id } = table.copied;
    const { definition, comments, owner } = table.isUsers
      ? { definition: usersDefinition, comments: [], owner: null }
      : builder.build(table);
    const read = (row: StoredRow): MovedRow => (table.isUsers ? this.#user(row, table) : this.#row(row, table, owner));
    return {
      ...{ from: table.from, definition, comments, count: rows.count(id) },
      *rows() {
        for (const row of rows.rows(id)) yield read(row);
      },
      has: (sourceId) => rows.has(id, sourceId),
    };
  }

  #user(row: StoredRow, table: PlacedTable): MovedRow {
    const { key } = row;
    return {
      ...{ sourceId: key, id: table.idFor(key), owner: table.idFor(key) },
      ...this.#times(this.#users.cell(row, "created_at"), this.#users.cell(row, "updated_at")),
      values: ({ fields }, note) => {
        const metadata = this.#users.cell(row, "raw_user_meta_data");
        const isKept = metadata !== null && fields.some(({ name }) => name === "userMetadata");
        const userMetadata = isKept ? this.#values.json(metadata, (oddity) => note(oddity, "userMetadata")) : null;
        return { ...(isKept && { userMetadata }), sourceId: key };
      },
      files: () => [],
      account: this.#accounts.of(this.#users.of(row)),
      address: `/auth/v1/admin/users/${key}`,
    };
  }

  #row(row: StoredRow, table: PlacedTable, owner: PlacedColumn | null): MovedRow {
    const { key } = row;
    const { copied } = table;
    const cell = (to: string): string | null =>
      row.cells[table.columns.find((each) => each.to === to)?.at ?? -1] ?? null;
    const holder = owner === null ? null : (row.cells[owner.at] ?? null);
    const filter = copied.table.key
      .map((name) => `${name}=eq.${encodeURIComponent(row.cells[copied.columns.indexOf(name)] ?? "")}`)
      .join("&");
    return {
      ...{ sourceId: key, id: table.idFor(key) },
      ...this.#times(cell("createdAt"), cell("updatedAt")),
      values: (definition, note) => ({ ...this.#values.of(row, { table, definition, note }), sourceId: key }),
      files: () => (table.isFiles ? this.#values.filesOf(row) : []),
      account: null,
      owner: holder === null ? null : (owner?.target?.idFor(holder) ?? null),
      address: table.isFiles
        ? `/storage/v1/object/info/${encodeURI(`${cell("bucket")}/${cell("path")}`)}`
        : `/rest/v1/${encodeURIComponent(table.from)}?${filter}`,
    };
  }

  #times(created: string | null, updated: string | null) {
    const given = { created: parseDatetime(created ?? ""), updated: parseDatetime(updated ?? "") };
    return timesOf(given, { now: this.#now, otherwise: this.#now });
  }

  /** Findings on all that is neither a table with a place nor a row. */
  #tellRest(): void {
    const { catalogue, copied, rows } = this.#dump;
    this.#report(
      "other",
      "Times have milliseconds: finer digits are cut. A date, and a time without a zone, are in UTC",
    );
    this.#report(
      "other",
      "The dump does not say who may sign up: set auth.registration to false if nobody may, and auth.requireVerified to true if an address must be confirmed",
    );
    for (const { table, id } of this.#world.keyless)
      this.#report(
        "left",
        `${table.name}: ${count(rows.count(id), "row")} without a primary key, by which a later run finds a record again: add a column id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, and dump again`,
      );
    for (const name of catalogue.tables.keys())
      if (name.startsWith("public.") && !copied.has(name))
        this.#report("left", `${name}: the dump has no rows of the table`);
    const schemas = new Set([...catalogue.tables.keys()].map((name) => name.split(".")[0]));
    for (const schema of schemas)
      if (schema !== undefined && !["public", "auth", "storage"].includes(schema))
        this.#report(
          "left",
          `The tables of the schema ${schema}: move the tables to the schema public, and dump again`,
        );
    for (const [kind, names] of catalogue.others)
      this.#report("left", `${kind.toLowerCase()}: ${names.join(", ")}: ${advice[kind] ?? ""}`);
    const factors = copied.get("auth.mfa_factors");
    const secrets = factors === undefined ? 0 : rows.count(factors.id);
    if (secrets > 0)
      this.#report(
        "left",
        `${count(secrets, "second factor")}: ask these users to add an authenticator app or a passkey`,
      );
    const objects = copied.get(objectsTable);
    const files = objects === undefined ? 0 : rows.count(objects.id);
    if (files > 0 && !this.#world.tables.some(({ isFiles }) => isFiles))
      this.#report(
        "left",
        `${count(files, "file")} of storage: download the buckets into a folder, and add --files FOLDER`,
      );
    this.#report(
      "left",
      "Edge functions, webhooks, cron jobs, secrets, sessions, keys, settings of sign-in and mail: users sign in anew; see docs/configuration.md and docs/functions.md",
    );
  }
}
