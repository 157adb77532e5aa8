/** The catalogue of a dump: tables, columns, keys, indexes, types and policies, read from the statements of pg_dump. */
import { Cursor } from "./tokens.ts";

export interface Column {
  readonly name: string;
  /** As printed, without quotes, size and `[]`: `text`, `public.post_status`. */
  readonly type: string;
  readonly isArray: boolean;
  /** The number of characters of a type as `character varying(200)`. */
  readonly size: number | null;
  isRequired: boolean;
  /** An expression. */
  default: string | null;
  /** Whether PostgreSQL computes the value from other columns; the dump has no values then. */
  readonly isGenerated: boolean;
}

export interface ForeignKey {
  readonly columns: readonly string[];
  readonly table: string;
  readonly targets: readonly string[];
  /** `cascade`, `set null`, or "" for an action that refuses. */
  readonly onDelete: string;
}

interface Index {
  readonly sql: string;
  readonly isUnique: boolean;
  /** Null for an index over expressions, over some rows, or of another kind than btree. */
  readonly columns: readonly string[] | null;
}

const commands = ["select", "insert", "update", "delete"] as const;
export type PolicyCommand = (typeof commands)[number];

export interface RowPolicy {
  readonly name: string;
  readonly commands: readonly PolicyCommand[];
  readonly isRestrictive: boolean;
  readonly roles: readonly string[];
  /** Expressions; null without one. */
  readonly using: string | null;
  readonly check: string | null;
}

export interface SqlTable {
  /** With the schema: `public.posts`. */
  readonly name: string;
  readonly columns: readonly Column[];
  key: readonly string[];
  readonly uniques: (readonly string[])[];
  readonly foreignKeys: ForeignKey[];
  readonly indexes: Index[];
  readonly checks: string[];
  hasRowSecurity: boolean;
  readonly policies: RowPolicy[];
}

export class Catalogue {
  readonly tables = new Map<string, SqlTable>();
  /** The values of enum types. */
  readonly enums = new Map<string, readonly string[]>();
  /** Names of functions, triggers and so on, by the kind. */
  readonly others = new Map<string, string[]>();

  /** Commands that a role may run on a table, as "public.posts anon select". Empty for a dump without privileges. */
  readonly #grants = new Set<string>();

  /** Whether a role may run a command on a table, if the policies let it. In a dump without privileges, every role may. */
  isGranted(table: SqlTable, command: PolicyCommand, role: string): boolean {
    const isFor = (each: string): boolean => this.#grants.has(`${table.name} ${each} ${command}`);
    return this.#grants.size === 0 || isFor(role) || isFor("public");
  }

  /** Takes a statement. A statement of another kind says nothing about the data. @throws SqlError for a form that pg_dump does not write. */
  take(sql: string): void {
    const [, kind = ""] =
      /^CREATE (?:OR REPLACE )?(?:UNLOGGED )?(?:FOREIGN )?(?:UNIQUE )?(TABLE|INDEX|TYPE|POLICY|FUNCTION|PROCEDURE|(?:CONSTRAINT )?TRIGGER|(?:MATERIALIZED )?VIEW|EXTENSION|SEQUENCE|DOMAIN|RULE)\b/.exec(
        sql,
      ) ?? [];
    const rest = (): Cursor => new Cursor(sql.slice(sql.indexOf(kind) + kind.length));
    if (kind === "TABLE") this.#table(rest());
    else if (kind === "INDEX") this.#index(sql, rest());
    else if (kind === "TYPE") this.#type(rest());
    else if (kind === "POLICY") this.#policy(rest());
    else if (kind !== "") this.#other(kind.replace("CONSTRAINT ", ""), sql.slice(sql.indexOf(kind) + kind.length));
    else if (sql.startsWith("GRANT ")) this.#grant(sql);
    else if (/^ALTER\sTABLE /.test(sql)) this.#alter(new Cursor(sql.replace(/^ALTER\sTABLE /, "")));
  }

  /** A privilege of some columns is none of the table. */
  #grant(sql: string): void {
    const [, granted = "", table = "", role = ""] =
      /^GRANT ([A-Z, ]+) ON TABLE (.+) TO (\S+?)(?: WITH GRANT OPTION)?;$/.exec(sql) ?? [];
    for (const command of commands)
      if (/\bALL\b/.test(granted) || granted.split(",").includes(command.toUpperCase()))
        this.#grants.add(`${table.replaceAll('"', "")} ${role.toLowerCase()} ${command}`);
  }

  #other(kind: string, text: string): void {
    const cursor = new Cursor(text.slice(0, 2_000));
    cursor.take("if", "not", "exists");
    const named = cursor.qualified();
    const on = kind === "TRIGGER" ? (/ ON (\S+)/.exec(text)?.[1] ?? "") : named;
    // The other objects of these schemas belong to the service.
    if (kind === "TRIGGER" && on.startsWith("auth.") && !/EXECUTE FUNCTION public\./.test(text)) return;
    if (kind !== "EXTENSION" && kind !== "TRIGGER" && !named.startsWith("public.")) return;
    if (kind === "TRIGGER" && on.startsWith("storage.")) return;
    const list = this.others.getOrInsertComputed(kind, () => []);
    list.push(kind === "TRIGGER" ? `${named} on ${on}` : named.replace(/^public\./, ""));
  }

  #table(cursor: Cursor): void {
    cursor.take("if", "not", "exists");
    const name = cursor.qualified();
    const columns: Column[] = [];
    const checks: string[] = [];
    if (cursor.take("(") && !cursor.is(")"))
      do {
        if (cursor.is("constraint") || cursor.is("check")) checks.push(cursor.until(",", ")"));
        else columns.push(columnOf(cursor));
      } while (cursor.take(","));
    this.tables.set(name, {
      ...{ name, columns, key: [], uniques: [], foreignKeys: [], indexes: [], checks },
      ...{ hasRowSecurity: false, policies: [] },
    });
  }

  #type(cursor: Cursor): void {
    const name = cursor.qualified();
    if (!cursor.take("as", "enum")) return;
    cursor.need("(");
    const values: string[] = [];
    while (!cursor.take(")")) {
      values.push(cursor.any().text);
      cursor.take(",");
    }
    this.enums.set(name, values);
  }

  #alter(cursor: Cursor): void {
    cursor.take("if", "exists");
    cursor.take("only");
    const table = this.tables.get(cursor.qualified());
    if (table === undefined) return;
    if (cursor.take("enable", "row", "level", "security")) table.hasRowSecurity = true;
    else if (cursor.take("alter", "column")) {
      const column = table.columns.find(({ name }) => name === cursor.next?.text);
      cursor.name();
      if (column !== undefined && cursor.take("set", "default")) column.default = cursor.until(";");
      if (column !== undefined && cursor.take("set", "not", "null")) column.isRequired = true;
    } else if (cursor.take("add", "constraint")) {
      cursor.name();
      if (cursor.take("primary", "key")) table.key = cursor.names();
      else if (cursor.take("unique")) {
        cursor.take("nulls", "not", "distinct");
        table.uniques.push(cursor.names());
      } else if (cursor.take("foreign", "key")) table.foreignKeys.push(foreignKeyOf(cursor));
      else table.checks.push(cursor.until(";"));
    }
  }

  #index(sql: string, cursor: Cursor): void {
    cursor.name();
    cursor.need("on");
    cursor.take("only");
    const table = this.tables.get(cursor.qualified());
    const isTree = cursor.take("using", "btree");
    if (!isTree) cursor.until("(");
    const columns = cursor
      .inside()
      .split(",")
      .map((part) =>
        /^\s*(?:"([^"]+)"|([\p{L}_][\p{L}\p{N}_$]*))(?: (?:ASC|DESC))?(?: NULLS (?:FIRST|LAST))?\s*$/u.exec(part),
      )
      .map((match) => match?.[1] ?? match?.[2] ?? null);
    const isPlain = isTree && cursor.until(";") === "" && columns.every((column) => column !== null);
    table?.indexes.push({ sql, isUnique: /^CREATE UNIQUE /.test(sql), columns: isPlain ? columns : null });
  }

  #policy(cursor: Cursor): void {
    const name = cursor.name();
    cursor.need("on");
    const table = this.tables.get(cursor.qualified());
    const isRestrictive = cursor.take("as", "restrictive");
    cursor.take("as", "permissive");
    const command = cursor.take("for") ? cursor.any().text : "all";
    const roles = cursor.take("to") ? [cursor.name()] : ["public"];
    while (cursor.take(",")) roles.push(cursor.name());
    const using = cursor.take("using") ? cursor.inside() : null;
    const check = cursor.take("with", "check") ? cursor.inside() : null;
    const named = commands.filter((each) => command === "all" || each === command);
    table?.policies.push({ name, commands: named, isRestrictive, roles, using, check });
  }
}

function columnOf(cursor: Cursor): Column {
  const name = cursor.name();
  const printed = cursor.until("default", "not", "null", "generated", "collate", "constraint", ",", ")");
  const size = Number(/\((\d+)\)/.exec(printed)?.[1] ?? 0);
  const type = printed
    .replace(/\([^)]*\)|\[\]|"/g, "")
    .replace(/\s+/g, " ")
    .trim();
  let [isRequired, isGenerated] = [false, false];
  let value: string | null = null;
  while (!cursor.is(",") && !cursor.is(")")) {
    if (cursor.take("not", "null")) isRequired = true;
    else if (cursor.take("default")) value = cursor.until("not", "null", "constraint", ",", ")");
    else if (cursor.take("generated", "always", "as") && cursor.is("(")) {
      isGenerated = true;
      cursor.inside();
    } else cursor.any();
  }
  const isArray = printed.includes("[]");
  return { name, type, isArray, size: size === 0 ? null : size, isRequired, default: value || null, isGenerated };
}

function foreignKeyOf(cursor: Cursor): ForeignKey {
  const columns = cursor.names();
  cursor.need("references");
  const table = cursor.qualified();
  const targets = cursor.names();
  cursor.until("delete", ";");
  const [onDelete = ""] = /cascade|set null/.exec(cursor.take("delete") ? cursor.until(";").toLowerCase() : "") ?? [];
  return { columns, table, targets, onDelete };
}
