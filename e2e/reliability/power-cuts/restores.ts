/**
 * Power cuts of a restore: `socle restore` runs below the tracer, over other data or in an empty folder. After a cut the folder holds
 * the old data or the restored data, whole; after the end of the command, the restored data.
 */
import { Database } from "bun:sqlite";
import { cpSync, mkdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { executable, serve, socle, temporaryFolder } from "../../kit.ts";
import { readLog } from "../tracer/log.ts";
import { tracedCommand } from "../tracer/traced.ts";
import { type Cut, Disk } from "./disk.ts";
import type { Run } from "./run.ts";

export interface Restore {
  readonly disk: Disk;
  /** The entry of the log after the rename of the list of moves: from then on, a start makes the moves. */
  readonly listed: number;
  /** Digests of the old data, and of the restored data. */
  readonly before: string;
  readonly after: string;
}

/** All data that a service keeps for the users, without the data that a start may change. */
function digest(cwd: string): string {
  const database = new Database(join(cwd, "socle.db"), { readonly: true });
  try {
    const collections = database.query<{ name: string }, []>("SELECT name FROM _collections ORDER BY name").all();
    const tables = [...collections.map(({ name }) => name), "_users", "_files"].filter((name) => name !== "effects");
    const rows = tables.map((name) => [name, database.query(`SELECT * FROM "${name}" ORDER BY id`).all()]);
    return Bun.SHA256.hash(JSON.stringify(rows), "hex");
  } finally {
    database.close();
  }
}

/** The data of a folder after a start of the service; a fault is an error. */
async function startedDigest(cwd: string): Promise<string> {
  const server = await serve(cwd);
  const code = await server.stop();
  const verified = await socle(["verify"], { cwd });
  if (code !== 0 || verified.code !== 0) throw new Error(`${code}: ${verified.stdout}${verified.stderr}`);
  return digest(cwd);
}

function emptyFolder(): string {
  const cwd = join(realpathSync(temporaryFolder()), "data");
  mkdirSync(cwd);
  writeFileSync(join(cwd, "config.json"), JSON.stringify({ port: 0 }));
  return cwd;
}

/** Restores the backup of a run below the tracer: in the run's folder as left at the end, or in an empty folder. */
export async function makeRestore({ cwd: old, ledger }: Run, { isEmpty }: { isEmpty: boolean }): Promise<Restore> {
  const name = ledger.of("backup")[0]?.id ?? "none";
  const file = join(old, "backups", name);
  const [target, plain] = [emptyFolder(), emptyFolder()];
  const restored = await socle(["restore", file], { cwd: plain });
  if (restored.code !== 0) throw new Error(`The backup cannot be restored: ${restored.stderr}`);
  if (!isEmpty) cpSync(old, target, { recursive: true });
  const untouched = emptyFolder();
  const before = isEmpty ? await startedDigest(untouched) : digest(target);

  const output = realpathSync(temporaryFolder());
  const command = [executable, "restore", file, "--force"];
  const child = Bun.spawn(tracedCommand({ output, record: target }, command), {
    cwd: target,
    stdio: ["ignore", "ignore", "inherit"],
  });
  if ((await child.exited) !== 0) throw new Error("The traced restore has failed");
  const list = readLog(output).findIndex((entry) => entry.op === "rename" && entry.to.endsWith("/moves.json"));
  if (list < 0) throw new Error("The traced restore has written no list of moves");
  return { disk: new Disk(output), listed: list + 1, before, after: digest(plain) };
}

/** Rebuilds the folder after a cut, and answers the faults. */
export async function sufferRestore({ disk, before, after }: Restore, cut: Cut): Promise<string[]> {
  const folder = join(temporaryFolder(), "data");
  disk.rebuild(folder, cut);
  try {
    const found = await startedDigest(folder);
    const allowed = cut.at < disk.entries ? [before, after] : [after];
    return allowed.includes(found) ? [] : [`a restore has left ${found === before ? "the old data" : "a mixture"}`];
  } catch (thrown) {
    return [String(thrown)];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
