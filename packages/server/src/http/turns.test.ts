import { expect, test } from "bun:test";
import { Turns } from "./turns.ts";

/** A body whose pieces come when they are pushed. */
function body(): { stream: ReadableStream<Uint8Array>; push: (n: number) => void; end: () => void; fail: () => void } {
  const { promise, resolve } = Promise.withResolvers<ReadableStreamDefaultController<Uint8Array>>();
  const stream = new ReadableStream<Uint8Array>({ start: (controller) => resolve(controller) });
  return {
    stream,
    push: (n) => void promise.then((controller) => controller.enqueue(new Uint8Array([n]))),
    end: () => void promise.then((controller) => controller.close()),
    fail: () => void promise.then((controller) => controller.error(new Error("broke off"))),
  };
}

function whole(...bytes: number[]) {
  const made = body();
  for (const byte of bytes) made.push(byte);
  made.end();
  return made.stream;
}

async function readAll(turns: Turns, stream: ReadableStream<Uint8Array>): Promise<number[]> {
  const read: number[] = [];
  for await (const piece of turns.read(stream)) read.push(...piece);
  return read;
}

test("a body that brings nothing lets the others go first, and is read when it does", async () => {
  const turns = new Turns(1);
  const slow = body();
  const reading = readAll(turns, slow.stream);
  slow.push(1);
  await Bun.sleep(1);
  expect(await readAll(turns, whole(7, 8))).toEqual([7, 8]);
  slow.push(2);
  slow.end();
  expect(await reading).toEqual([1, 2]);
  expect(await readAll(turns, whole(9))).toEqual([9]);
});

test("no more are taken at a time than there are turns", async () => {
  const turns = new Turns(2);
  let running = 0;
  let most = 0;
  const all = Array.from({ length: 10 }, async (_, n) => {
    for await (const _piece of turns.read(whole(n, n))) {
      running += 1;
      most = Math.max(most, running);
      await Bun.sleep(2);
      running -= 1;
    }
  });
  await Promise.all(all);
  expect(most).toBe(2);
});

test("a body that breaks off, before or after it was slow, and one that is given up give their turn back", async () => {
  const turns = new Turns(1);
  for (const wait of [0, 150]) {
    const broken = body();
    const reading = readAll(turns, broken.stream);
    await Bun.sleep(wait);
    broken.fail();
    await expect(reading).rejects.toThrow("broke off");
  }
  const endless = body();
  endless.push(1);
  for await (const _piece of turns.read(endless.stream)) break;
  expect(await readAll(turns, whole(5))).toEqual([5]);
});
