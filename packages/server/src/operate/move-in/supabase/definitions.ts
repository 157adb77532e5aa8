/** Definitions for the tables of a dump: fields, indexes and rules, with findings on all that differs. */
import {
  type CollectionDefinition,
  DEFINITION_LIMITS,
  type FieldDefinition,
  type IndexDefinition,
  type JsonValue,
  USERS,
} from "@socle/protocol";
import { count, parseDatetime } from "../../../base/kernel/index.ts";
import { areValues, isIndexable } from "../names.ts";
import { type ReportFinding, sourceIdField } from "../source.ts";
import { callerFieldsOf, PolicyTranslator } from "./policies.ts";
import { type DumpWorld, isKnownType, type PlacedColumn, type PlacedTable } from "./world.ts";

export interface TableDefinition {
  readonly definition: CollectionDefinition;
  readonly comments: readonly string[];
  /** The column that shows the owner. */
  readonly owner: PlacedColumn | null;
}

const operations = { read: "select", create: "insert", update: "update", delete: "delete" } as const;

export const usersDefinition: CollectionDefinition = {
  name: USERS,
  fields: [{ name: "userMetadata", type: "json" }, sourceIdField],
  permissions: { read: "owner", update: "owner" },
};

export class TableDefiner {
  readonly #world: DumpWorld;
  readonly #report: ReportFinding;

  constructor(world: DumpWorld, report: ReportFinding) {
    this.#world = world;
    this.#report = report;
  }

  build(table: PlacedTable): TableDefinition {
    const owner = this.#ownerOf(table);
    const fields = new Map<string, FieldDefinition>();
    for (const placed of table.columns)
      if (!["id", "createdAt", "updatedAt"].includes(placed.to))
        fields.set(placed.to, this.#field(table, placed, owner));
    if (table.isFiles) fields.set("file", { name: "file", type: "file" });
    else this.#tellColumns(table);
    const indexes = this.#indexes(table, fields);
    const { permissions, comments } = this.#rules(table, owner);
    const definition: CollectionDefinition = {
      name: table.to,
      fields: [...fields.values(), sourceIdField],
      permissions,
      ...(indexes.length > 0 && { indexes }),
    };
    return { definition, comments, owner };
  }

  /** The key of a profile, the owner of a file, or a relation to users that the policies for INSERT demand to be the caller. */
  #ownerOf(table: PlacedTable): PlacedColumn | null {
    const demanded = callerFieldsOf(new PolicyTranslator(this.#world, table, null).translate("insert").rule);
    const ofUsers = table.columns.filter(({ target }) => target?.isUsers);
    return table.profileKey ?? ofUsers.find(({ to }) => table.isFiles || demanded.includes(to)) ?? null;
  }

  #field(table: PlacedTable, placed: PlacedColumn, owner: PlacedColumn | null): FieldDefinition {
    const { column, to, type, sqlType, items, target, foreignKey } = placed;
    const tell = (text: string): void => this.#report("other", `${table.from}.${column.name}: ${text}`);
    const field: FieldDefinition = { name: to, type };
    if (to !== column.name && !table.isFiles) tell(`is named ${to}`);
    if (column.isRequired && items === 0) field.required = true;
    if (items > 0) Object.assign(field, { multiple: true, ...(items > 100 && { max: items }) });
    if (type === "string" && column.size !== null && !column.isArray) field.max = column.size;
    const values = this.#world.catalogue.enums.get(column.type);
    if (values !== undefined && type === "string" && areValues(values)) field.values = [...values];
    else if (values !== undefined && type === "string")
      tell("has values that Socle does not list: any text is allowed");
    if (column.isArray && type === "json")
      tell("is an array in JSON: a multiple field has distinct texts, neither empty nor null");
    else if (items > 0) tell("is a multiple field: null is an empty array");
    if (sqlType === "bigint" && type === "string") tell("has whole numbers beyond 2^53, and is a text");
    if (sqlType === "numeric") tell("is a double: amounts of money are exact as whole numbers of the smallest unit");
    if (!isKnownType(column, this.#world.catalogue)) tell(`is a text here, because Socle has no type ${column.type}`);
    if (target !== null) this.#relation(field, placed, owner);
    else if (foreignKey !== null && !table.isFiles)
      tell(
        `leads to ${foreignKey.table}(${foreignKey.targets.join(", ")}), and is no relation here: relations lead to the ids of collections`,
      );
    if (placed === owner && placed !== table.profileKey && !table.isFiles)
      tell(
        "shows the owner of the record, because the policies for INSERT demand the caller; only an admin changes the field",
      );
    this.#default(field, placed, tell);
    return field;
  }

  #relation(field: FieldDefinition, { target, foreignKey }: PlacedColumn, owner: PlacedColumn | null): void {
    field.collection = target?.to ?? USERS;
    if (field.name === owner?.to) field.owner = true;
    const isCleared = foreignKey === null || foreignKey.onDelete === "set null";
    field.onDelete =
      foreignKey?.onDelete === "cascade" ? "cascade" : isCleared && field.required !== true ? "clear" : "restrict";
  }

  #default(field: FieldDefinition, placed: PlacedColumn, tell: (text: string) => void): void {
    const { column, target, type } = placed;
    const text = column.default;
    if (text === null || /^NULL\b/i.test(text) || field.owner === true) return;
    const isNow = /^(?:now\(\)|current_timestamp|timezone\('utc'::text, now\(\)\))$/i.test(text);
    const value =
      isNow && type === "datetime"
        ? "@now"
        : text === "auth.uid()" && target?.isUsers
          ? "@user.id"
          : constantOf(text, placed);
    if (value === undefined)
      tell(
        text.startsWith("nextval(")
          ? 'is numbered by a sequence: add "sequence": true to the field in place of "required" and "unique"'
          : `has the default ${text}, which is no constant: set the value in a beforeCreate hook`,
      );
    else if (Array.isArray(value) && value.length === 0) return;
    else if (field.values?.includes(String(value)) ?? true) field.default = value;
    else tell(`has the default ${text}, which is no value of the field`);
  }

  /** The columns that are left out, and what the table checks. */
  #tellColumns({ copied: { table }, from, columns }: PlacedTable): void {
    for (const { name, type, isGenerated } of table.columns.filter(
      (each) => !columns.some(({ column }) => column === each),
    ))
      this.#report(
        "left",
        /tsvector|tsquery/.test(type)
          ? `${from}.${name}: name the searched fields in "search" of the definition`
          : isGenerated
            ? `${from}.${name}: is computed from other columns: compute the value where it is shown, or in a hook`
            : `${from}.${name}: bytes (${type}) are no value of a field: store the bytes as files`,
      );
    for (const check of table.checks) this.#report("other", `${from}: ${check}: write min, max, regex or a hook`);
    for (const { columns: several, table: to } of table.foreignKeys.filter((each) => each.columns.length > 1))
      this.#report(
        "other",
        `${from}: the foreign key (${several.join(", ")}) to ${to} is over several columns, and is no relation here`,
      );
  }

  #indexes(table: PlacedTable, fields: ReadonlyMap<string, FieldDefinition>): IndexDefinition[] {
    const { key, uniques, indexes, name } = table.copied.table;
    const found = new Map<string, IndexDefinition>();
    // A table without a primary key has an empty key.
    const constraints = [key, ...uniques].filter((columns) => columns.length > 0);
    const unique = constraints.map((columns) => {
      return { columns, isUnique: true, sql: `${name}: UNIQUE (${columns.join(", ")})` };
    });
    for (const { columns, isUnique, sql } of [...unique, ...indexes]) {
      const placed = columns?.map((each) => table.column(each)) ?? [];
      const names = placed.map((each) => each?.to ?? "");
      const only = names.length === 1 ? fields.get(names[0] ?? "") : undefined;
      // The id has an index.
      if (names.join() === "id") continue;
      const isTakable = columns !== null && isIndexable(names, fields);
      if (isTakable && only !== undefined && isUnique) only.unique = placed[0]?.sqlType === "citext" ? "nocase" : true;
      else if (!isTakable || found.size === DEFINITION_LIMITS.indexes)
        this.#report(
          "other",
          `${sql} has no counterpart: ${isUnique ? "check the rule in a hook" : "the index is only for speed"}`,
        );
      // Relations and unique fields have an index.
      else if (only?.type !== "relation" && only?.unique === undefined && !found.has(names.join()))
        found.set(names.join(), isUnique ? { fields: names, unique: true } : names);
    }
    for (const field of fields.values())
      if (field.unique !== undefined && field.default !== undefined && field.default !== "@user.id") {
        this.#report("other", `${table.from}.${field.name}: has a default, which a unique field cannot have`);
        delete field.default;
      }
    return [...found.values()];
  }

  #rules(table: PlacedTable, owner: PlacedColumn | null) {
    const { hasRowSecurity, policies } = table.copied.table;
    const translator = new PolicyTranslator(this.#world, table, owner);
    const comments: string[] = [];
    const permissions = { read: "admin", create: "admin", update: "admin", delete: "admin" };
    const isOpen = this.#world.catalogue.isGranted(table.copied.table, "select", "anon");
    if (!hasRowSecurity) {
      const rows = count(this.#world.dump.rows.count(table.copied.id), "record");
      if (isOpen)
        this.#report(
          "leak",
          `${table.from}: has no row level security, so every holder of the anon key reads ${rows}, or also writes: write the rules`,
        );
      else
        this.#report("other", `${table.from}: has no row level security, and is not granted to anon: write the rules`);
      return { permissions, comments };
    }
    for (const [operation, command] of Object.entries(operations) as [keyof typeof operations, "select"][]) {
      const { rule, closed } = translator.translate(command);
      permissions[operation] = rule;
      if (closed.length === 0) continue;
      this.#report("closed", `${table.from}: ${command.toUpperCase()}: ${closed.join("; ")}`);
      comments.push(`${command.toUpperCase()}:`, ...closed.map((each) => `  left out: ${each}`), `  now: ${rule}`);
    }
    if (policies.length === 0)
      this.#report("other", `${table.from}: has row level security and no policy, and is for admins alone`);
    return { permissions, comments };
  }
}

/** A default that is a constant; undefined for another expression. */
function constantOf(text: string, { type, items, column, target }: PlacedColumn): JsonValue | undefined {
  const [, quoted] = /^'((?:[^']|'')*)'(?:::[\w." ]+(?:\(\d+(?:,\d+)?\))?(?:\[\])?)?$/.exec(text) ?? [];
  const literal =
    quoted?.replaceAll("''", "'") ??
    (/^(?:\(?-?[\d.]+\)?(?:::[\w ]+)?|true|false)$/.test(text) ? text.replace(/::.*|[()]/g, "") : null);
  if (literal === null || target !== null) return undefined;
  if (items > 0) return literal === "{}" ? [] : undefined;
  if (column.isArray) return literal === "{}" ? [] : undefined;
  switch (type) {
    case "integer":
    case "float":
      return Number.isFinite(Number(literal)) ? Number(literal) : undefined;
    case "boolean":
      return literal === "true";
    case "datetime":
      return parseDatetime(literal) ?? undefined;
    case "json":
      return JSON.parse(literal);
    default:
      return literal;
  }
}
