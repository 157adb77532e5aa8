/** A damaged log: a start tells what SQLite leaves out, and says nothing of a log that is whole. */

import { Database as Driver } from "bun:sqlite";
import { expect, test } from "bun:test";
import { copyFileSync, readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { quietLogger, temporaryFolder } from "../../../../test/kit.ts";
import { Database } from "../database.ts";
import { unrecoveredBytes } from "./unrecovered-frames.ts";

const folder = temporaryFolder();
const frame = 24 + 4_096;

/** A database and the log as left by a kill. `commits` inserts, then a reset, then `later` inserts. */
function killed(name: string, { commits, later = 0 }: { commits: number; later?: number }): string {
  const driver = new Driver(join(folder, `${name}-live.db`), { create: true });
  driver.run("PRAGMA journal_mode = WAL");
  driver.run("PRAGMA wal_autocheckpoint = 0");
  driver.run("CREATE TABLE t (n INTEGER, text TEXT)");
  const write = (n: number): unknown => driver.run("INSERT INTO t VALUES (?, ?)", [n, "x".repeat(500)]);
  for (let n = 0; n < commits; n++) write(n);
  if (later > 0) driver.run("PRAGMA wal_checkpoint(RESTART)");
  for (let n = 0; n < later; n++) write(n);
  const path = join(folder, `${name}.db`);
  copyFileSync(driver.filename, path);
  copyFileSync(`${driver.filename}-wal`, `${path}-wal`);
  driver.close();
  return path;
}

function flip(path: string, at: number): void {
  const bytes = readFileSync(`${path}-wal`);
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  writeFileSync(`${path}-wal`, bytes);
}

async function warnings(path: string): Promise<string[]> {
  const lines: string[] = [];
  const database = new Database({ path, logger: quietLogger(lines), onFatal: () => undefined });
  await database.close();
  return lines.filter((line) => line.startsWith("WARN"));
}

test("a flipped bit in the middle is a single line with the size of the lost part", async () => {
  const path = killed("middle", { commits: 100 });
  const all = (statSync(`${path}-wal`).size - 32) / frame;
  flip(path, 32 + 10 * frame + 1_000);
  expect(unrecoveredBytes(path)).toBe((all - 10) * frame);
  const lines = await warnings(path);
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain(`its last ${(all - 10) * frame} bytes cannot be recovered`);
  expect(await warnings(path)).toEqual([]);
});

test("in the last frame, in a frame's salts, in the header", () => {
  const last = killed("last", { commits: 20 });
  flip(last, statSync(`${last}-wal`).size - 1);
  expect(unrecoveredBytes(last)).toBe(frame);
  const salts = killed("salts", { commits: 20 });
  flip(salts, 32 + 5 * frame + 8);
  expect(unrecoveredBytes(salts)).toBe(statSync(`${salts}-wal`).size - 32 - 5 * frame);
  for (const at of [2, 9, 13, 18, 30]) {
    const header = killed(`header-${at}`, { commits: 20 });
    flip(header, at);
    expect(unrecoveredBytes(header)).toBe(statSync(`${header}-wal`).size - 32);
  }
});

test("an intact log, a log after a reset, and a transaction without a commit are no damage", async () => {
  expect(await warnings(killed("whole", { commits: 50 }))).toEqual([]);
  expect(unrecoveredBytes(killed("reset", { commits: 50, later: 3 }))).toBe(0);
  const cut = killed("cut", { commits: 50 });
  truncateSync(`${cut}-wal`, statSync(`${cut}-wal`).size - 100);
  expect(unrecoveredBytes(cut)).toBe(0);
  expect(unrecoveredBytes(join(folder, "missing.db"))).toBe(0);
});

test("after a reset, old frames behind a damaged frame are not counted", () => {
  const path = killed("reset-damage", { commits: 50, later: 3 });
  flip(path, 32 + 2 * frame + 100);
  expect(unrecoveredBytes(path)).toBeLessThanOrEqual(4 * frame);
  expect(unrecoveredBytes(path)).toBeGreaterThan(0);
});
