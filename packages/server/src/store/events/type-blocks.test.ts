/** Type blocks: the blocks that a replay skips, and the blocks that stay in memory. */
import { describe, expect, test } from "bun:test";
import type { Reader, Value } from "../database/index.ts";
import { TypeBlocks } from "./type-blocks.ts";

const width = 256;

/** A reader of a log in which a function names the types of each block. */
function open(typesOf: (block: number) => string[]) {
  const read: number[] = [];
  const reader: Reader = {
    get: () => null,
    all<T>(_: string, ...values: Value[]) {
      const block = Number(values[0]) / width;
      read.push(block);
      // The statement asks for rows of this shape.
      return typesOf(block).map((type) => ({ type })) as T[];
    },
    some: () => [],
  };
  const blocks = new TypeBlocks(() => reader);
  /** Skips until a call makes no progress. */
  const skip = (after: number, until: number, types: string[]) => {
    for (let seq = after; ; ) {
      const next = blocks.skip(seq, until, types);
      if (next === seq) return seq;
      seq = next;
    }
  };
  return { blocks, skip, read };
}

describe("type blocks", () => {
  test("hundreds of types in each block are distinguished, and each block is read once", () => {
    const typesOf = (block: number) =>
      Array.from({ length: width }, (_, n) => `collection${(block * 7 + n) % 900}.updated`);
    const { blocks, skip, read } = open(typesOf);
    for (const type of ["collection3.updated", "collection899.updated", "collection500.updated", "none"]) {
      const found = Array.from({ length: 100 }, (_, block) => block).find((block) => typesOf(block).includes(type));
      expect(skip(0, 100 * width, [type])).toBe((found ?? 100) * width);
    }
    expect(read).toEqual(Array.from({ length: 100 }, (_, block) => block));
    expect(blocks.size).toBe(100);
  });

  test("are removed when the log is trimmed", () => {
    const { blocks, skip, read } = open(() => ["a"]);
    expect(skip(0, 10 * width, ["none"])).toBe(10 * width);
    blocks.trimmed(4 * width - 1);
    expect(blocks.size).toBe(7);
    blocks.trimmed(8 * width);
    expect(blocks.size).toBe(2);
    expect(skip(8 * width, 10 * width, ["none"])).toBe(10 * width);
    expect(read).toHaveLength(10);
  });

  test("with more types than numbers, no present event is skipped", () => {
    const { skip } = open((block) => Array.from({ length: width }, (_, n) => `t${block}.${n}`));
    for (const block of [0, 299, 150]) expect(skip(0, 300 * width, [`t${block}.255`])).toBe(block * width);
  });
});
