/** Moves: whatever they are interrupted after, the next look brings them to their end, once. */
import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { temporaryFolder } from "../../test/kit.ts";
import { finishMoves, type Move, makeMoves } from "./moves.ts";

function prepare(): { folder: string; work: string; moves: Move[] } {
  const folder = temporaryFolder();
  const work = join(folder, "work");
  for (const name of ["work", "files/ab", "files/cd", "work/files/ab"])
    mkdirSync(join(folder, name), { recursive: true });
  writeFileSync(join(folder, "data.db"), "old");
  writeFileSync(join(folder, "data.db-wal"), "old log");
  writeFileSync(join(folder, "files/ab/1"), "old file");
  writeFileSync(join(work, "data.db"), "new");
  writeFileSync(join(work, "files/ab/1"), "new file");
  const moves: Move[] = [
    [join(folder, "data.db"), join(folder, "aside/data.db")],
    [join(folder, "data.db-wal"), join(folder, "aside/data.db-wal")],
    [join(folder, "files/ab"), join(folder, "aside/files/ab")],
    [join(folder, "files/cd"), join(folder, "aside/files/cd")],
    [join(work, "files/ab"), join(folder, "files/ab")],
    [join(work, "data.db"), join(folder, "data.db")],
  ];
  return { folder, work, moves };
}

function textOf(folder: string, name: string): string | null {
  const path = join(folder, name);
  return existsSync(path) ? readFileSync(path, "utf8") : null;
}

function expectDone(folder: string): void {
  expect(textOf(folder, "data.db")).toBe("new");
  expect(textOf(folder, "data.db-wal")).toBeNull();
  expect(textOf(folder, "files/ab/1")).toBe("new file");
  expect(existsSync(join(folder, "files/cd"))).toBe(false);
  expect(textOf(folder, "aside/data.db")).toBe("old");
  expect(textOf(folder, "aside/data.db-wal")).toBe("old log");
  expect(textOf(folder, "aside/files/ab/1")).toBe("old file");
  expect(existsSync(join(folder, "work"))).toBe(false);
}

test("all are made", () => {
  const { folder, work, moves } = prepare();
  makeMoves(work, moves);
  expectDone(folder);
  expect(finishMoves(work)).toBe(false);
});

test("interrupted after any of them, the rest follows", () => {
  for (let made = 0; made <= 6; made++) {
    const { folder, work, moves } = prepare();
    writeFileSync(join(work, "moves.json"), JSON.stringify(moves));
    for (const [from, to] of moves.slice(0, made)) {
      mkdirSync(dirname(to), { recursive: true });
      renameSync(from, to);
    }
    expect(finishMoves(work)).toBe(true);
    expectDone(folder);
  }
});

test("without a list nothing is moved", () => {
  const { folder, work, moves } = prepare();
  writeFileSync(join(work, "moves.json.new"), JSON.stringify(moves).slice(0, 20));
  expect(finishMoves(work)).toBe(false);
  expect(textOf(folder, "data.db")).toBe("old");
});
