/** Type blocks: what is passed over, and what is remembered of it. */
import { describe, expect, test } from "bun:test";
import type { Reader, Value } from "../database/index.ts";
import { TypeBlocks } from "./type-blocks.ts";

const width = 256;

/** A reader of a log whose blocks hold the types that a function names. */
function open(typesOf: (block: number) => string[]) {
  const read: number[] = [];
  const paused: Promise<void>[] = [];
  const reader: Reader = {
    get: () => null,
    async all<T>(_: string, ...values: Value[]) {
      const block = Number(values[0]) / width;
      read.push(block);
      await paused[0];
      // The statement asks for rows of this shape.
      return typesOf(block).map((type) => ({ type })) as T[];
    },
  };
  const blocks = new TypeBlocks(() => reader);
  /** Skips until it goes no further. */
  const skip = async (after: number, until: number, types: string[]) => {
    for (let seq = after; ; ) {
      const next = await blocks.skip(seq, until, types);
      if (next === seq) return seq;
      seq = next;
    }
  };
  return { blocks, skip, read, paused };
}

describe("type blocks", () => {
  test("hundreds of types in each block are told apart, and each block is read once", async () => {
    const typesOf = (block: number) =>
      Array.from({ length: width }, (_, n) => `collection${(block * 7 + n) % 900}.updated`);
    const { blocks, skip, read } = open(typesOf);
    for (const type of ["collection3.updated", "collection899.updated", "collection500.updated", "none"]) {
      const found = Array.from({ length: 100 }, (_, block) => block).find((block) => typesOf(block).includes(type));
      expect(await skip(0, 100 * width, [type])).toBe((found ?? 100) * width);
    }
    expect(read).toEqual(Array.from({ length: 100 }, (_, block) => block));
    expect(blocks.size).toBe(100);
  });

  test("are forgotten when they are trimmed, also while they are read", async () => {
    const { blocks, skip, read, paused } = open(() => ["a"]);
    expect(await skip(0, 10 * width, ["none"])).toBe(10 * width);
    blocks.trimmed(4 * width - 1);
    expect(blocks.size).toBe(7);
    blocks.trimmed(8 * width);
    expect(blocks.size).toBe(2);
    expect(await skip(8 * width, 10 * width, ["none"])).toBe(10 * width);
    expect(read).toHaveLength(10);
    const { promise, resolve } = Promise.withResolvers<void>();
    paused.push(promise);
    const skipped = blocks.skip(10 * width, 11 * width, ["none"]);
    blocks.trimmed(11 * width);
    resolve();
    expect(await skipped).toBe(10 * width);
    expect(blocks.size).toBe(0);
  });

  test("with more types than there are numbers, nothing is passed over that is there", async () => {
    const { skip } = open((block) => Array.from({ length: width }, (_, n) => `t${block}.${n}`));
    for (const block of [0, 299, 150]) expect(await skip(0, 300 * width, [`t${block}.255`])).toBe(block * width);
  });
});
