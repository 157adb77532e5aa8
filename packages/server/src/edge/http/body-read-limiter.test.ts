import { expect, test } from "bun:test";
import { SlowBody } from "./bodies.ts";
import { BodyReadLimiter, type ReadInTurns, type Sender } from "./body-read-limiter.ts";

function sender(caller = "me", signal = new AbortController().signal): Sender {
  return { caller, signal };
}

/** A body with pieces that arrive with each push. */
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

async function bytesOf(read: ReadInTurns, stream: ReadableStream<Uint8Array>): Promise<number[]> {
  const bytes: number[] = [];
  for await (const piece of read(stream)) bytes.push(...piece);
  return bytes;
}

function readAll(turns: BodyReadLimiter, stream: ReadableStream<Uint8Array>, by = sender()): Promise<number[]> {
  return turns.run(by, (read) => bytesOf(read, stream));
}

test("a body without bytes lets others go first, and is read when bytes arrive", async () => {
  const turns = new BodyReadLimiter({ width: 1, maxWaiting: 100 });
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

test("the bodies that are read at a time have a bound", async () => {
  const turns = new BodyReadLimiter({ width: 2, maxWaiting: 100 });
  let running = 0;
  let most = 0;
  const all = Array.from({ length: 10 }, (_, n) =>
    turns.run(sender(`caller ${n % 5}`), async (read) => {
      for await (const _piece of read(whole(n, n))) {
        running += 1;
        most = Math.max(most, running);
        await Bun.sleep(2);
        running -= 1;
      }
    }),
  );
  await Promise.all(all);
  expect(most).toBe(2);
});

test("a body that breaks off, before or after it was slow, and a body that is given up release their turn", async () => {
  const turns = new BodyReadLimiter({ width: 1, maxWaiting: 100 });
  for (const wait of [0, 150]) {
    const broken = body();
    const reading = readAll(turns, broken.stream);
    await Bun.sleep(wait);
    broken.fail();
    await expect(reading).rejects.toThrow("broke off");
  }
  const endless = body();
  endless.push(1);
  await turns.run(sender(), async (read) => {
    for await (const _piece of read(endless.stream)) break;
  });
  expect(await readAll(turns, whole(5))).toEqual([5]);
});

test("the bodies of a caller, however many, leave a turn for another caller", async () => {
  const turns = new BodyReadLimiter({ width: 2, maxWaiting: 100 });
  const { promise: held, resolve: letGo } = Promise.withResolvers<void>();
  const busy = Array.from({ length: 20 }, () =>
    turns.run(sender("busy"), async (read) => {
      for await (const _piece of read(whole(1))) await held;
    }),
  );
  await Bun.sleep(1);
  expect(await readAll(turns, whole(7), sender("other"))).toEqual([7]);
  letGo();
  await Promise.all(busy);
});

test("beyond its places a body is refused unread; slow bodies count, a caller has half of the places", async () => {
  const turns = new BodyReadLimiter({ width: 1, maxWaiting: 8 });
  const begun: { end: () => void; reading: Promise<number[]> }[] = [];
  const begin = (caller: string): void => {
    const slow = body();
    slow.push(1);
    begun.push({ end: slow.end, reading: readAll(turns, slow.stream, sender(caller)) });
  };
  const refusal = { code: "unavailable", limit: "uploads", retryAfter: 1 };
  const refused = async (caller: string): Promise<void> => {
    let isRead = false;
    const attempt = turns.run(sender(caller), async () => {
      isRead = true;
    });
    await expect(attempt).rejects.toMatchObject(refusal);
    expect(isRead).toBe(false);
  };
  for (let n = 0; n < 5; n++) begin("one");
  await refused("one");
  for (const caller of ["two", "two", "two", "three"]) begin(caller);
  await refused("four");
  for (const { end } of begun) end();
  for (const { reading } of begun) expect(await reading).toEqual([1]);
  expect(await readAll(turns, whole(5), sender("one"))).toEqual([5]);
});

test("a client that disconnects while its body waits frees its place, and is never read", async () => {
  const turns = new BodyReadLimiter({ width: 1, maxWaiting: 1 });
  const { promise: held, resolve: letGo } = Promise.withResolvers<void>();
  const first = turns.run(sender("a"), async (read) => {
    for await (const _piece of read(whole(1))) await held;
  });
  const leaving = new AbortController();
  const untouched = body();
  const left = readAll(turns, untouched.stream, sender("b", leaving.signal));
  await expect(readAll(turns, whole(1), sender("c"))).rejects.toMatchObject({ limit: "uploads" });
  leaving.abort();
  await expect(left).rejects.toMatchObject({ code: "bad_request" });
  expect(untouched.stream.locked).toBe(false);
  const next = readAll(turns, whole(3), sender("c"));
  letGo();
  expect(await next).toEqual([3]);
  await first;
});

/** Limits at which only a test's own delay is slow. */
const patient = { patienceMs: 1, turnMs: 500, stalledMs: 60_000, slowMs: 60_000, lookMs: 1 };
const tooSlow = { code: "bad_request", message: "The body came too slowly." };

/** A body of which a byte comes every few milliseconds, until the end by `cancel`. */
function trickle(ms: number) {
  let isCancelled = false;
  const stream = new ReadableStream<Uint8Array>({
    async pull(controller) {
      await Bun.sleep(ms);
      if (!isCancelled) controller.enqueue(new Uint8Array(1));
    },
    cancel() {
      isCancelled = true;
    },
  });
  return { stream, isCancelled: () => isCancelled };
}

test("a body without bytes, or with next to none, ends, and its place is free", async () => {
  const turns = new BodyReadLimiter({ width: 1, maxWaiting: 1 }, { ...patient, stalledMs: 100 });
  const [silent, thin] = [body(), trickle(10)];
  const readings = [readAll(turns, silent.stream, sender("a")), readAll(turns, thin.stream, sender("b"))];
  await expect(readAll(turns, whole(1), sender("c"))).rejects.toMatchObject({ limit: "uploads" });
  for (const reading of readings) {
    const thrown = await reading.catch((error: unknown) => error);
    expect(thrown).toBeInstanceOf(SlowBody);
    expect(thrown).toMatchObject(tooSlow);
  }
  expect(thin.isCancelled()).toBe(true);
  expect(await readAll(turns, whole(5), sender("c"))).toEqual([5]);
});

test("a body that waits for its turn is not slow, however long", async () => {
  const turns = new BodyReadLimiter({ width: 1, maxWaiting: 1 }, { ...patient, stalledMs: 100, slowMs: 100 });
  const { promise: held, resolve: letGo } = Promise.withResolvers<void>();
  const first = turns.run(sender("a"), async (read) => {
    for await (const _piece of read(whole(1))) await held;
  });
  const second = readAll(turns, whole(1, 2), sender("b"));
  await Bun.sleep(300);
  // The places are full, and no body is slow: the first is being written, the second waits.
  await expect(readAll(turns, whole(1), sender("c"))).rejects.toMatchObject({ code: "unavailable", limit: "uploads" });
  letGo();
  await first;
  expect(await second).toEqual([1, 2]);
});

test("under pressure the slowest body ends, the caller's own body if its share is full", async () => {
  const turns = new BodyReadLimiter({ width: 1, maxWaiting: 3 }, { ...patient, slowMs: 1 });
  const made = [body(), body(), body(), body()] as const;
  const [silent, quicker, third, theirs] = made;
  const begin = (stream: ReadableStream<Uint8Array>, caller: string) => {
    const reading = readAll(turns, stream, sender(caller));
    // Looked at later.
    reading.catch(() => undefined);
    return reading;
  };
  const own = [begin(silent.stream, "one"), begin(quicker.stream, "one"), begin(third.stream, "one")];
  for (const each of [quicker, third]) for (let n = 0; n < 9; n++) each.push(n);
  await Bun.sleep(30);
  const other = begin(theirs.stream, "two");
  await Bun.sleep(30);
  // The share of "one" is full: the slowest body of "one" ends, the other caller's body goes on.
  expect(await begin(whole(7), "one")).toEqual([7]);
  await expect(own[0]).rejects.toMatchObject({ ...tooSlow, limit: "uploads" });
  const last = body();
  const lastReading = begin(last.stream, "three");
  // All places are taken: the slowest of all ends.
  expect(await begin(whole(8), "four")).toEqual([8]);
  await expect(other).rejects.toMatchObject({ ...tooSlow, limit: "uploads" });
  for (const { end } of [quicker, third, last]) end();
  expect(await Promise.all([own[1], own[2], lastReading])).toEqual([
    [0, 1, 2, 3, 4, 5, 6, 7, 8],
    [0, 1, 2, 3, 4, 5, 6, 7, 8],
    [],
  ]);
});

test("a reader that waits for a body is released when its upload has failed", async () => {
  const turns = new BodyReadLimiter({ width: 1, maxWaiting: 1 }, patient);
  const stuck = trickle(60_000);
  const { promise: reading, resolve } = Promise.withResolvers<unknown>();
  const failed = turns.run(sender(), async (read) => {
    bytesOf(read, stuck.stream).then(resolve, resolve);
    await Bun.sleep(5);
    throw new Error("the disk is full");
  });
  await expect(failed).rejects.toThrow("the disk is full");
  expect(await reading).toMatchObject({ message: "The client has disconnected." });
});

test("a body that has arrived is not slow while its bytes are stored", async () => {
  const turns = new BodyReadLimiter({ width: 1, maxWaiting: 0 }, { ...patient, slowMs: 1 });
  const { promise: stored, resolve } = Promise.withResolvers<void>();
  const storing = turns.run(sender("a"), async (read) => {
    const bytes = await bytesOf(read, whole(1, 2));
    await stored;
    return bytes;
  });
  await Bun.sleep(30);
  // The place is taken, and its body is not ended for another body.
  await expect(readAll(turns, whole(3), sender("b"))).rejects.toMatchObject({ code: "unavailable", limit: "uploads" });
  resolve();
  expect(await storing).toEqual([1, 2]);
});
