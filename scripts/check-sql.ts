/**
 * Checks the places of the server's SQL. Statements stand only in files with a name for SQL: `*-table.ts`, `table.ts`,
 * `schema.ts`, `sql.ts`, in folders named `sql`, and in the module `database`. A private table (`_users`) is named only in
 * the module whose schema creates the table. The exceptions are listed below: `people/auth` has statements in `auth.ts`
 * and `sessions.ts`, and commands and backups read the tables of other modules.
 *
 * A statement must do the same on each instance of a cluster (docs/cluster.md): the check finds functions of SQL whose value differs, and deletions
 * and updates of some rows without an order.
 *
 * The check reads texts, so the check cannot see a statement or a name that is put together at run time.
 */
import { join, sep } from "node:path";
import { Glob } from "bun";
import { moduleOf } from "./check-modules.ts";

const base = "packages/server/src";
const forSql = /(^|\/)((.*-)?table|schema|sql)\.ts$|\/sql\/|^store\/database\//;
const statement =
  /\b(SELECT\s[\s\S]*?\bFROM\b|INSERT\s+(OR\s+[A-Z]+\s+)?INTO\b|UPDATE\s+\S+\s+SET\b|DELETE\s+FROM\b|(CREATE|ALTER|DROP)\s+(TABLE|UNIQUE\s+INDEX|INDEX|TRIGGER)\b|PRAGMA\s+\w)/;
const creation = /\bCREATE\s+TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?(_\w+)/g;

/** Functions of SQL whose value another instance cannot repeat. */
const unrepeatable =
  /(?<![.\w])(?:(?:random|randomblob|last_insert_rowid|total_changes|unixepoch)\(|CURRENT_(?:TIME|DATE|TIMESTAMP)\b)|'now'/;
/** A change of the rows that a bounded query finds in any order. */
const unordered = /\b(?:UPDATE|DELETE)\b(?:(?!["`;]|\bORDER BY\b)[\s\S])*\bLIMIT\b/;
/** Statements of PostgreSQL. */
const ofEngine = /^store\/journal\//;

/** Files of the server that may break a rule, and the reason. */
export interface Exceptions {
  /** Files with statements outside the places for SQL. */
  readonly statements: readonly string[];
  /** Files that name tables of other modules. */
  readonly tables: readonly string[];
}

const exceptions: Exceptions = {
  statements: [
    "operate/backup/pack-worker.ts",
    "operate/backup/restore.ts",
    "operate/backup/verify.ts",
    "cli/commands/backup.ts",
    // The only users of the tables of `people/auth`.
    "people/auth/auth.ts",
    "people/auth/sessions.ts",
  ],
  tables: [
    // The tables of PocketBase.
    "operate/move-in/pocketbase/sql/data-folder.ts",
    "operate/backup/pack-worker.ts",
    "operate/backup/restore.ts",
    "operate/backup/verify.ts",
    "cli/commands/backup.ts",
    "code/jobs/schema.ts",
  ],
};

interface Source {
  /** The path of the file inside the folder of modules. */
  readonly file: string;
  readonly module: string;
  /** The source without comments. */
  readonly code: string;
}

function withoutComments(source: string): string {
  return source.replaceAll(/^[ \t]*\/\*[\s\S]*?\*\//gm, "").replaceAll(/^[ \t]*\/\/.*$/gm, "");
}

async function readSources(root: string): Promise<Source[]> {
  const files = [...new Glob(`${base}/**/*.ts`).scanSync(root)].filter((file) => !/test[^/]*\.ts$/.test(file));
  return Promise.all(
    files.map(async (path) => {
      const file = path
        .split(sep)
        .join("/")
        .slice(base.length + 1);
      const module = moduleOf(file);
      return { file, module, code: withoutComments(await Bun.file(join(root, path)).text()) };
    }),
  );
}

/** The module that creates each private table. */
function ownersOf(sources: readonly Source[]): Map<string, string> {
  return new Map(
    sources.flatMap(({ module, code }) =>
      [...code.matchAll(creation)].map(([, table = ""]) => [table, module] as const),
    ),
  );
}

/** The problems of files without an exception, and the exceptions that no file needs. */
function compare(found: ReadonlyMap<string, string>, allowed: readonly string[]): string[] {
  return [
    ...[...found].filter(([file]) => !allowed.includes(file)).map(([file, problem]) => `${base}/${file}: ${problem}`),
    ...allowed
      .filter((file) => !found.has(file))
      .map((file) => `${base}/${file}: keeps the rule; it goes from the list of exceptions`),
  ].sort();
}

/** Every file that breaks a rule, as a line that names file and reason. */
export async function findSqlProblems(root: string, allowed: Exceptions = exceptions): Promise<string[]> {
  const sources = await readSources(root);
  const owners = ownersOf(sources);
  const statements = new Map<string, string>();
  const tables = new Map<string, string>();
  const changes: string[] = [];
  for (const { file, module, code } of sources) {
    const [text] = statement.exec(code) ?? [];
    if (text !== undefined && !forSql.test(file)) statements.set(file, `holds SQL: ${text.slice(0, 40).trim()} …`);
    const [differs] = unrepeatable.exec(code) ?? unordered.exec(code) ?? [];
    if (differs !== undefined && !ofEngine.test(file))
      changes.push(`${base}/${file}: instances of a cluster would differ: ${differs.slice(0, 60)} …`);
    const foreign = [...owners].filter(([table, owner]) => owner !== module && new RegExp(`\\b${table}\\b`).test(code));
    if (foreign.length > 0)
      tables.set(file, foreign.map(([table, owner]) => `names ${table}, a table of ${owner}`).join("; "));
  }
  return [...compare(statements, allowed.statements), ...compare(tables, allowed.tables), ...changes];
}

if (import.meta.main) {
  const problems = await findSqlProblems(join(import.meta.dir, ".."));
  for (const problem of problems) console.error(problem);
  process.exit(problems.length > 0 ? 1 : 0);
}
