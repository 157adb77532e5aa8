/**
 * Faults of a disk that lie in the bytes: damaged pages, flipped bits of the database and of the log. A row of the
 * table for each kind.
 */
import { rmSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { inParallel } from "../kit.ts";
import { damagePage, flipBit, type PageFault, pageBytes, pageFaults } from "./disks-damage.ts";
import { type DiskData, withCopy, withDatabase } from "./disks-data.ts";
import { look, startAndStop, verified } from "./disks-look.ts";
import { halves } from "./disks-state.ts";
import { Tally } from "./disks-tally.ts";

/** So many services at a time. */
const width = 2;

/** The table of "posts" and the indexes. */
const ofPosts = new Set(["posts", "posts.title", "sqlite_autoindex_posts_1"]);

/** As far as the tables can be read: each write near the damage is whole, or absent. */
function readableHalves(folder: string): string[] {
  try {
    return halves(folder, ["posts", "notes"]);
  } catch {
    // The damage is in the tables that are read.
    return [];
  }
}

async function damageOnce(
  tally: Tally,
  data: DiskData,
  { fault, random }: { fault: PageFault; random: () => number },
): Promise<void> {
  await withCopy(data, async (folder) => {
    damagePage(folder, fault, random);
    // Free pages hold nothing that anybody needs.
    if (fault.page.kind !== "free" && (await verified(folder)).length === 0)
      tally.problem(`${fault.name}: socle verify finds nothing`);
    const table = ofPosts.has(fault.page.owner) && fault.harm !== "swapped" ? "posts" : null;
    const isEvident = fault.harm === "zeroed" || fault.harm === "truncated";
    tally.add(fault.name, await look({ folder, data, table, isEvident }));
    if (isEvident) for (const half of readableHalves(folder)) tally.problem(`${fault.name}: ${half}`);
  });
}

/** Damages pages of each table and index. */
export async function damagedPages(
  data: DiskData,
  random: () => number,
  choose: (all: PageFault[]) => PageFault[],
): Promise<Tally> {
  const all = new Tally();
  await inParallel(choose(pageFaults(data.folder, random)), width, (fault) => damageOnce(all, data, { fault, random }));
  return all;
}

/** Flips bits of the database file. A flip in a text looks like any other text: no answer can be called wrong. */
export async function flippedDatabase(data: DiskData, random: () => number, count: number): Promise<Tally> {
  const all = new Tally();
  await inParallel(Array.from({ length: count }).keys(), width, (n) =>
    withCopy(data, async (folder) => {
      // Some in the header and the schema, because each bit matters there.
      const at = flipBit(join(folder, "socle.db"), random, n % 5 === 0 ? pageBytes : undefined);
      all.add(`bit of byte ${at} of the database`, await look({ folder, data, table: null, isEvident: false }));
    }),
  );
  return all;
}

const logHead = 32;
const frameBytes = 24 + pageBytes;

/** All that a change writes, in the order of the log; the service's own writes at the start are left out. */
function stateOf(folder: string): string {
  return withDatabase(folder, (database) =>
    [
      "SELECT id, title, body FROM posts ORDER BY id",
      "SELECT id, text FROM notes ORDER BY id",
      "SELECT id FROM _users ORDER BY id",
      "SELECT id FROM _files ORDER BY id",
      "SELECT seq, type, payload FROM _events ORDER BY seq",
    ]
      .map((sql) => {
        try {
          return JSON.stringify(database.query(sql).all());
        } catch (error) {
          // The log is cut off before the table is made.
          return String(error);
        }
      })
      .join("\n"),
  );
}

/** The content of the log before a place: nothing before the place may be lost, and nothing behind may come back in part. */
async function intactState(data: DiskData, at: number): Promise<string> {
  return withCopy(data, async (folder) => {
    const frame = Math.floor((at - logHead) / frameBytes);
    truncateSync(join(folder, "socle.db-wal"), at < logHead ? 0 : logHead + frame * frameBytes);
    rmSync(join(folder, "socle.db-shm"), { force: true });
    return stateOf(folder);
  });
}

/**
 * Flips bits of the log that a kill has left.
 * @param data was killed, before a checkpoint: a database file that is newer than the part of the log that can be read
 * is as good as damaged.
 */
export async function flippedLog(data: DiskData, random: () => number, count: number): Promise<Tally> {
  const all = new Tally();
  await inParallel(Array.from({ length: count }).keys(), width, (n) =>
    withCopy(data, async (folder) => {
      const at = flipBit(join(folder, "socle.db-wal"), random, n % 20 === 0 ? logHead : undefined);
      const name = `bit of byte ${at} of the log`;
      const wanted = await intactState(data, at);
      const start = await startAndStop(folder);
      all.add(name, start);
      if (!start.isStarted) return;
      if (stateOf(folder) !== wanted) all.problem(`${name}: what is there is not what the log holds before it`);
      for (const half of halves(folder, ["posts", "notes", "slow"])) all.problem(`${name}: ${half}`);
      for (const problem of await verified(folder)) all.problem(`${name}: ${problem}`);
    }),
  );
  return all;
}
