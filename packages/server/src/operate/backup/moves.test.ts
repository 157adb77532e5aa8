/** Moves of a restore: whatever interrupts moves, the next look makes the rest, once, also where the data have another path. */
// Promises: R3.
import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { temporaryFolder } from "../../../test/kit.ts";
import { SetupError } from "../../base/kernel/index.ts";
import { type DataPaths, finishMoves, hasMoves, type Move, recordMoves } from "./data-paths.ts";

const s3 = { endpoint: undefined, region: undefined, accessKeyId: undefined, secretAccessKey: undefined };

/** The paths of data with database and files in separate folders. */
function pathsIn(database: string, files: string): DataPaths {
  return { database: join(database, "data.db"), files: { address: files, workFolder: join(files, ".work"), s3 } };
}

function prepare(): { folder: string; paths: DataPaths; moves: Move[] } {
  const folder = temporaryFolder();
  const [data, files] = [join(folder, "data"), join(folder, "files")];
  const restore = join(data, "data.db-restore");
  for (const path of [restore, join(files, "ab"), join(files, "cd"), join(files, ".work/restore/ab")])
    mkdirSync(path, { recursive: true });
  writeFileSync(join(data, "data.db"), "old");
  writeFileSync(join(data, "data.db-wal"), "old log");
  writeFileSync(join(files, "ab/1"), "old file");
  writeFileSync(join(restore, "socle.db"), "new");
  writeFileSync(join(files, ".work/restore/ab/1"), "new file");
  const moves: Move[] = [
    [join(data, "data.db"), join(data, "aside/data.db")],
    [join(data, "data.db-wal"), join(data, "aside/data.db-wal")],
    [join(files, "ab"), join(files, ".aside/ab")],
    [join(files, "cd"), join(files, ".aside/cd")],
    [join(files, ".work/restore/ab"), join(files, "ab")],
    [join(restore, "socle.db"), join(data, "data.db")],
  ];
  return { folder, paths: pathsIn(data, files), moves };
}

function textOf(folder: string, name: string): string | null {
  const path = join(folder, name);
  return existsSync(path) ? readFileSync(path, "utf8") : null;
}

function expectDone(data: string, files: string): void {
  expect(textOf(data, "data.db")).toBe("new");
  expect(textOf(data, "data.db-wal")).toBeNull();
  expect(textOf(files, "ab/1")).toBe("new file");
  expect(existsSync(join(files, "cd"))).toBe(false);
  expect(textOf(data, "aside/data.db")).toBe("old");
  expect(textOf(data, "aside/data.db-wal")).toBe("old log");
  expect(textOf(files, ".aside/ab/1")).toBe("old file");
  expect(existsSync(join(data, "data.db-restore"))).toBe(false);
}

/** Makes the first moves, as a process did that was killed then. */
function interrupt(moves: readonly Move[]): void {
  for (const [from, to] of moves) {
    mkdirSync(dirname(to), { recursive: true });
    renameSync(from, to);
  }
}

test("all are made, once", () => {
  const { folder, paths, moves } = prepare();
  recordMoves(paths, moves);
  expect(finishMoves(paths)).toBe(true);
  expectDone(join(folder, "data"), join(folder, "files"));
  expect(finishMoves(paths)).toBe(false);
});

test("interrupted after any move, the rest follows", () => {
  for (let made = 0; made <= 6; made++) {
    const { folder, paths, moves } = prepare();
    recordMoves(paths, moves);
    interrupt(moves.slice(0, made));
    expect(finishMoves(paths)).toBe(true);
    expectDone(join(folder, "data"), join(folder, "files"));
  }
});

test("interrupted after any move, the rest follows also with new paths of database and files", () => {
  for (let made = 0; made <= 6; made++) {
    const { folder, paths, moves } = prepare();
    recordMoves(paths, moves);
    interrupt(moves.slice(0, made));
    const [data, files] = [join(folder, "mounted/database"), join(temporaryFolder(), "files")];
    mkdirSync(dirname(data));
    renameSync(join(folder, "data"), data);
    renameSync(join(folder, "files"), files);
    const moved = pathsIn(data, files);
    expect(hasMoves(moved)).toBe(true);
    expect(finishMoves(moved)).toBe(true);
    expectDone(data, files);
  }
});

test("while a moved object is missing, nothing is moved, and the record stays", () => {
  const { folder, paths, moves } = prepare();
  recordMoves(paths, moves);
  interrupt(moves.slice(0, 3));
  // The volume of the files is not mounted.
  renameSync(join(folder, "files"), join(folder, "elsewhere"));
  expect(() => finishMoves(paths)).toThrow(SetupError);
  expect(existsSync(paths.database)).toBe(false);
  renameSync(join(folder, "elsewhere"), join(folder, "files"));
  expect(finishMoves(paths)).toBe(true);
  expectDone(join(folder, "data"), join(folder, "files"));
});

test("without a complete record nothing is moved", () => {
  const { folder, paths } = prepare();
  writeFileSync(join(folder, "data/data.db-restore/moves.json.new"), "[");
  expect(finishMoves(paths)).toBe(false);
  expect(textOf(join(folder, "data"), "data.db")).toBe("old");
});
