/** Links between two processes: frames of any size come back whole and in order, and the end of the other process is told. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { randomNumbers, randomSeed } from "../../../test/random.ts";
import { Link, type LinkFrame } from "./link.ts";

const unexpected = (thrown: unknown): void => {
  throw new Error("A frame could not be handled", { cause: thrown });
};

async function open(onFrame: (frame: LinkFrame) => void, onClosed: () => void, onError = unexpected) {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, "../../../test/link-child.ts")], {
    stdio: ["ignore", "inherit", "inherit", "pipe"],
  });
  const descriptor = child.stdio[3];
  if (typeof descriptor !== "number") throw new Error("The child has no link");
  return { child, link: await Link.open(descriptor, { onFrame, onClosed, onError }) };
}

test("frames of any size come back whole and in order", async () => {
  const random = randomNumbers(randomSeed("link"));
  const size = (): number => Math.floor(10 ** (random() * 6.3)) - 1;
  const frames = Array.from({ length: 300 }, (_, id) => ({
    kind: 1 + Math.floor(random() * 20),
    id,
    head: random() < 0.2 ? "" : JSON.stringify(["é漢😀", "x".repeat(size() % 100_000)]),
    body: Buffer.alloc(random() < 0.2 ? 0 : size(), String(id)),
  }));
  const { promise: all, resolve } = Promise.withResolvers<void>();
  const back: LinkFrame[] = [];
  const { link } = await open(
    (frame) => {
      back.push({ ...frame, body: frame.body.slice() });
      if (back.length === frames.length) resolve();
    },
    () => undefined,
  );
  for (const frame of frames) {
    // A body goes as bytes or as text.
    link.send(random() < 0.5 ? frame : { ...frame, body: frame.body.toString() });
    if (random() < 0.3) await new Promise((next) => setImmediate(next));
    if (random() < 0.1) link.flush();
  }
  await all;
  for (const [i, { kind, id, head, body }] of frames.entries()) {
    expect([back[i]?.kind, back[i]?.id, back[i]?.head === head]).toEqual([kind, id, true]);
    expect(Buffer.compare(back[i]?.body ?? Buffer.alloc(0), body)).toBe(0);
  }
  link.end();
});

test("the end of either process closes the link, once", async () => {
  let closed = 0;
  const { promise, resolve } = Promise.withResolvers<void>();
  const { child } = await open(
    () => undefined,
    () => {
      closed += 1;
      resolve();
    },
  );
  child.kill("SIGKILL");
  await promise;
  expect(closed).toBe(1);
  const other = await open(
    () => undefined,
    () => {
      closed += 1;
    },
  );
  other.link.end();
  expect(closed).toBe(2);
  // A frame on a closed link goes nowhere.
  other.link.send({ kind: 1 });
  expect(await other.child.exited).toBe(0);
});

test("an error of the receiver of a frame is reported, and the link does not end by itself", async () => {
  const { promise: reported, resolve } = Promise.withResolvers<unknown>();
  let closed = 0;
  const { link } = await open(
    () => {
      throw new Error("no such record");
    },
    () => {
      closed += 1;
    },
    resolve,
  );
  link.send({ kind: 1 });
  expect(await reported).toEqual(new Error("no such record"));
  await new Promise((next) => setImmediate(next));
  expect(closed).toBe(0);
  link.end();
});
