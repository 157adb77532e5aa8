/** The checks after each kill: the clients' knowledge, the events, the files and the sessions against the service's data. */
import { Database } from "bun:sqlite";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { Caller } from "./kills-caller.ts";
import type { FollowedLog } from "./kills-log.ts";
import { areWhole, type Knowledge, type StoredItem } from "./kills-model.ts";

/** The service's time to clean up after broken uploads. */
const sweepMs = 10_000;

/** The ids of files with bytes on the disk. */
function storedBytes(cwd: string): string[] {
  const storage = join(cwd, "storage");
  if (!existsSync(storage)) return [];
  const folders = readdirSync(storage).filter((name) => !name.startsWith("."));
  return folders.flatMap((folder) => readdirSync(join(storage, folder)));
}

function leftovers(cwd: string): string[] {
  const uploads = join(cwd, "storage/.work/uploads");
  return existsSync(uploads) ? readdirSync(uploads) : [];
}

/** Everything in one snapshot of the database: requests of functions may go on. */
function compareDatabase(cwd: string, known: Knowledge, log: FollowedLog): string[] {
  using database = new Database(join(cwd, "socle.db"), { readonly: true });
  database.run("BEGIN");
  const read = (name: string): StoredItem[] =>
    database.query<StoredItem, []>(`SELECT id, n, version, text FROM ${name}`).all();
  const problems = [
    ...log.compare(database, ["items", "notes", "effects"]),
    ...known.items.compare(read("items")),
    ...known.notes.compare(read("notes")),
    ...compareMigrations(database, known),
    ...compareJobs(database, known),
  ];
  database.run("COMMIT");
  return problems;
}

function compareMigrations(database: Database, known: Knowledge): string[] {
  const row = database
    .query<{ definition: string }, []>("SELECT definition FROM _collections WHERE name = 'notes'")
    .get();
  const { fields } = JSON.parse(row?.definition ?? '{"fields":[]}') as { fields: { name: string }[] };
  const extra = fields.map(({ name }) => name).find((name) => name.startsWith("extra")) ?? null;
  const columns = database.query<{ name: string }, []>("SELECT name FROM pragma_table_info('notes')").all();
  const column = columns.map(({ name }) => name).find((name) => name.startsWith("extra")) ?? null;
  const problems: string[] = [];
  if (extra !== column) problems.push(`notes: the definition has ${extra}, the table ${column}`);
  if (extra !== known.extra && !known.triedExtras.includes(extra))
    problems.push(`notes: ${extra} is in force, ${known.extra} was acknowledged`);
  known.extra = extra;
  known.triedExtras = [];
  return problems;
}

function compareJobs(database: Database, known: Knowledge): string[] {
  const find = database.query<{ n: number }, [string]>("SELECT count(*) AS n FROM _job_runs WHERE runId = ?");
  const problems = known.jobRuns
    .filter((runId) => find.get(runId)?.n === 0)
    .map((runId) => `run ${runId} of a job was acknowledged, and is not there`);
  known.jobRuns = [];
  return problems;
}

/** An acknowledged file has the bytes; a deleted or incomplete file has no bytes. */
async function compareFiles(cwd: string, known: Knowledge, admin: Caller): Promise<string[]> {
  using database = new Database(join(cwd, "socle.db"), { readonly: true });
  const remains = (): number =>
    database.query<{ n: number }, []>("SELECT count(*) AS n FROM _file_remains").get()?.n ?? 0;
  const problems: string[] = [];
  const end = performance.now() + sweepMs;
  while ((remains() > 0 || leftovers(cwd).length > 0) && performance.now() < end) await Bun.sleep(5);
  if (remains() > 0) problems.push(`${remains()} files are marked as remains, and stay`);
  for (const name of leftovers(cwd)) problems.push(`an upload has left ${name}`);
  const ids = database
    .query<{ id: string }, []>("SELECT id FROM _files")
    .all()
    .map(({ id }) => id);
  const bytes = new Set(storedBytes(cwd));
  for (const id of bytes) if (!ids.includes(id)) problems.push(`bytes of ${id} are there, which is no file`);
  for (const id of ids) if (!bytes.has(id)) problems.push(`the bytes of file ${id} are lost`);
  for (const id of ids) {
    const answer = await admin.download(id);
    if (answer.status !== 200 || !areWhole(answer.bytes)) problems.push(`file ${id} is not whole (${answer.status})`);
  }
  for (const [id, { deletion }] of known.files) {
    if (deletion === "none" && !ids.includes(id)) problems.push(`file ${id} is lost`);
    if (deletion === "acknowledged" && ids.includes(id)) problems.push(`file ${id} is back after its deletion`);
  }
  known.files.clear();
  for (const id of ids) known.files.set(id, { n: 0, deletion: "none" });
  return problems;
}

async function compareSessions(known: Knowledge, admin: Caller): Promise<string[]> {
  const problems: string[] = [];
  for (const { token, logout } of known.sessions) {
    const { status } = await new Caller(admin.url, token).ask("GET", "/api/auth/me");
    if (logout === "none" && status !== 200) problems.push(`a session is lost (${status})`);
    if (logout === "acknowledged" && status !== 401) problems.push(`a session is back after its logout (${status})`);
  }
  known.sessions = [];
  return problems;
}

/** To be called while no client works. Afterwards the clients know the stored data. */
export async function check(options: {
  cwd: string;
  known: Knowledge;
  log: FollowedLog;
  admin: Caller;
}): Promise<string[]> {
  const { cwd, known, log, admin } = options;
  return [
    ...compareDatabase(cwd, known, log),
    ...(await compareFiles(cwd, known, admin)),
    ...(await compareSessions(known, admin)),
  ];
}
