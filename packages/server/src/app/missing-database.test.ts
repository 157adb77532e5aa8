/** The refusal of a start without the database, and the starts that make a database. */
import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "../../test/kit.ts";
import { loadConfig } from "../base/config/index.ts";
import { refuseMissingDatabase } from "./service.ts";

async function start(folder: string, content: object = {}): Promise<string | null> {
  const file = join(folder, "config.json");
  writeFileSync(file, JSON.stringify(content));
  const { config } = await loadConfig({ file, environment: {} });
  try {
    refuseMissingDatabase(config);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function storeFile(folder: string): void {
  mkdirSync(join(folder, "storage/a7"), { recursive: true });
  writeFileSync(join(folder, "storage/a7/fil_019a0000-0000-7000-8000-0000000000a7"), "x");
}

test("an empty folder, or a folder whose storage has no file, gets a database", async () => {
  const folder = temporaryFolder();
  expect(await start(folder)).toBeNull();
  mkdirSync(join(folder, "storage/.work"), { recursive: true });
  mkdirSync(join(folder, "storage/a7"));
  writeFileSync(join(folder, "storage/note.txt"), "x");
  expect(await start(folder)).toBeNull();
});

test.each([
  ["is missing", null],
  ["is empty", ""],
])("a database that %s beside stored files is refused, and nothing is made", async (state, content) => {
  const folder = temporaryFolder();
  storeFile(folder);
  if (content !== null) writeFileSync(join(folder, "socle.db"), content);
  const before = readdirSync(folder);
  expect(await start(folder)).toContain(`socle.db: ${state}, but ${join(folder, "storage")} holds the files`);
  expect(readdirSync(folder).filter((name) => name !== "config.json")).toEqual(before);
  expect(existsSync(join(folder, "socle.db-wal"))).toBe(false);
});

test("a database with all data in its log is a database", async () => {
  const folder = temporaryFolder();
  storeFile(folder);
  writeFileSync(join(folder, "socle.db"), "");
  writeFileSync(join(folder, "socle.db-wal"), "frames");
  expect(await start(folder)).toBeNull();
});

test("database.mustExist refuses a first start, also with the database named in the same place", async () => {
  const folder = temporaryFolder();
  expect(await start(folder, { "database.mustExist": true, database: "./data/my.db" })).toBe(
    `database ${join(folder, "data/my.db")}: is missing, and database.mustExist says that it must be there`,
  );
  expect(await start(folder, { database: { mustExist: true } })).toContain(
    "socle.db: is missing, and database.mustExist",
  );
  expect(await start(folder, { database: { mustExist: false } })).toBeNull();
});
