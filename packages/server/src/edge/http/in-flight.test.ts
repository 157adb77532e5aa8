// Promises: B1.
import { describe, expect, test } from "bun:test";
import { AppError } from "../../base/kernel/index.ts";
import { InFlight } from "./in-flight.ts";
import { madePieces, type Pieces, streamOf } from "./response-stream.ts";

const mib = 1024 ** 2;
const patient = { patienceMs: 60_000, stalledMs: 60_000 };
const never = new AbortController().signal;

function open(limit: number, timing = patient) {
  const cut: string[] = [];
  return {
    cut,
    answers: new InFlight({
      // A fifth is for answers that wait.
      answersLimit: limit * 1.25,
      connectionsPerAddress: 10,
      timing,
      onLimit: (caller) => cut.push(caller),
    }),
  };
}

/** How an error tells of itself. */
async function errorOf(promise: Promise<unknown>): Promise<unknown> {
  const error = await promise.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  return error instanceof AppError ? [error.code, error.limit, error.retryAfter] : error;
}

test("large responses start singly in a turn of the event loop; later work delays no response", async () => {
  const { answers } = open(10 * mib);
  const order: string[] = [];
  const slow = Promise.withResolvers<void>();
  const make = (name: string, until?: Promise<void>) =>
    answers.inTurn(
      name,
      async () => {
        order.push(name);
        await until;
      },
      never,
    );
  const first = make("a", slow.promise);
  const second = make("b");
  order.push("others");
  await second;
  expect(order).toEqual(["others", "a", "b"]);
  slow.resolve();
  await first;
});

describe("the bound", () => {
  test("a response waits until others have ended, and counts from then on", async () => {
    const { answers } = open(10 * mib);
    const first = answers.hold("a").begin(4 * mib);
    const second = answers.hold("b").begin(4 * mib);
    let hasRoom = false;
    const third = answers
      .hold("c")
      .take(4 * mib, never)
      .then((hold) => {
        hasRoom = true;
        return hold;
      });
    await Bun.sleep(1);
    expect([hasRoom, answers.bytes]).toEqual([false, 8 * mib]);
    first.release();
    first.release();
    const hold = await third;
    expect(answers.bytes).toBe(8 * mib);
    second.release();
    hold.release();
    expect(answers.bytes).toBe(0);
  });

  test("waiting responses start within the free capacity only, and everything is free in the end", async () => {
    const { answers } = open(10 * mib);
    const first = answers.hold("a").begin(10 * mib);
    let most = 0;
    const waiting = Array.from({ length: 20 }, async (_, n) => {
      const hold = await answers.hold(`caller ${n}`).take(mib, never);
      most = Math.max(most, answers.bytes);
      await Bun.sleep(1);
      hold.release();
    });
    first.release();
    await Promise.all(waiting);
    expect(most).toBeLessThanOrEqual(10 * mib);
    expect(answers.bytes).toBe(0);
  });

  test("a caller has at most half of the bound; others still find capacity", async () => {
    const { answers } = open(10 * mib);
    const own = answers.hold("a").begin(5 * mib);
    expect(answers.hasRoom("a", 1)).toBe(false);
    expect(answers.hasRoom("b", 5 * mib)).toBe(true);
    own.next(0);
    expect(answers.hasRoom("a", 1)).toBe(true);
  });

  test("a response beyond the bound goes alone", () => {
    const { answers } = open(mib);
    expect(answers.hasRoom("a", 20 * mib)).toBe(true);
    answers.hold("a").begin(20 * mib);
    expect(answers.hasRoom("b", 1)).toBe(false);
  });

  test("a caller that waits too long gets 503 with Retry-After, a caller that leaves waits no more", async () => {
    const { answers } = open(mib, { ...patient, patienceMs: 5 });
    const hold = answers.hold("a").begin(mib);
    expect(await errorOf(answers.hold("b").take(mib, never))).toEqual(["unavailable", "answers", 1]);
    const leaving = new AbortController();
    const waiting = errorOf(answers.hold("b").begin(0).goOn(mib, leaving.signal));
    leaving.abort();
    expect(await waiting).toEqual(["bad_request", undefined, undefined]);
    hold.release();
    expect(answers.bytes).toBe(0);
  });

  test("made responses wait within a quarter of the bytes that leave; a caller has half, and further responses are refused at once", async () => {
    const { answers } = open(8 * mib);
    answers.hold("a").begin(8 * mib);
    const waiting = ["b", "b", "c", "c"].map((caller) => answers.hold(caller).wait(mib / 2, never));
    for (const caller of ["b", "d"])
      expect(await errorOf(answers.hold(caller).wait(mib / 2, never))).toEqual(["unavailable", "answers", 1]);
    for (const each of waiting) each.catch(() => undefined);
  });

  test("too many waiting responses are refused at once", async () => {
    const { answers } = open(mib);
    answers.hold("a").begin(mib);
    const waiting = Array.from({ length: 1_000 }, () => answers.hold("b").take(mib, never));
    expect(await errorOf(answers.hold("b").take(mib, never))).toEqual(["unavailable", "answers", 1]);
    for (const each of waiting) each.catch(() => undefined);
  });
});

describe("an unread response", () => {
  const quick = { patienceMs: 60_000, stalledMs: 1 };

  test("is broken off when another caller waits, and not before", async () => {
    const { answers, cut } = open(mib, quick);
    const hold = answers.hold("a").begin(mib);
    const broken = Promise.withResolvers<void>();
    hold.onCut = broken.resolve;
    await Bun.sleep(20);
    expect([cut, answers.bytes]).toEqual([[], mib]);
    const taken = await answers.hold("b").take(mib, never);
    await broken.promise;
    expect([cut, answers.bytes]).toEqual([["a"], mib]);
    taken.release();
  });

  test("is left alone if the caller's own share is full", async () => {
    const { answers, cut } = open(10 * mib, quick);
    for (const hold of [answers.hold("other").begin(mib), answers.hold("a").begin(5 * mib)])
      hold.onCut = () => undefined;
    await answers.hold("a").take(4 * mib, never);
    expect(cut).toEqual(["a"]);
  });

  test("differs from a response that has waited for capacity itself", async () => {
    const { answers, cut } = open(10 * mib, quick);
    const going = answers.hold("a").begin(mib);
    going.onCut = () => undefined;
    answers.hold("b").begin(5 * mib).onCut = () => undefined;
    const other = answers.hold("c").begin(5 * mib);
    const goesOn = going.goOn(5 * mib, never);
    // Two answers wait at the same look for slow clients: the first gets the room of "b", and is not ended for the second.
    const last = answers.hold("d").take(6 * mib, never);
    await goesOn;
    other.release();
    going.release();
    (await last).release();
    expect(cut).toEqual(["b"]);
  });

  test("differs from a response in the making, which waits for the service and not for its client", async () => {
    const { answers, cut } = open(10 * mib, quick);
    const making = answers.hold("a").begin(5 * mib);
    answers.hold("b").begin(5 * mib).onCut = () => undefined;
    await answers.hold("c").take(4 * mib, never);
    expect(cut).toEqual(["b"]);
    making.release();
  });
});

test("the size of a response without room is expected from queries of the same shape, until a response is small", () => {
  const { answers } = open(10 * mib);
  const url = "http://x/api/tasks?limit=500&filter=a";
  expect(answers.expected(url)).toBeNull();
  answers.expects(url, 3 * mib);
  expect([answers.expected("http://x/api/tasks?limit=500"), answers.expected("http://x/api/tasks")]).toEqual([
    3 * mib,
    null,
  ]);
  answers.forget("http://x/api/tasks?filter=b&limit=500");
  expect(answers.expected(url)).toBeNull();
});

describe("a stream", () => {
  function stream(answers: InFlight, pieces: Pieces) {
    const seen = { broken: [] as unknown[], ends: 0 };
    const body = streamOf(pieces, {
      inFlight: answers,
      caller: "a",
      hold: answers.hold("a").begin(64 * 1024),
      onBroken: (thrown) => seen.broken.push(thrown),
      onEnd: () => {
        seen.ends += 1;
      },
    });
    return { seen, reader: body.getReader() };
  }

  /** Pieces of 1 MiB without an end. */
  function endless() {
    const state = { made: 0, isOver: false };
    const pieces: Pieces = {
      async next() {
        state.made += 1;
        return { done: false, value: new Uint8Array(mib) };
      },
      async return() {
        state.isOver = true;
      },
    };
    return { state, pieces };
  }

  test("makes no piece before the former piece was read, and counts the piece", async () => {
    const { answers } = open(100 * mib);
    const { state, pieces } = endless();
    const { reader } = stream(answers, pieces);
    expect([state.made, answers.bytes]).toEqual([0, 64 * 1024]);
    await reader.read();
    await Bun.sleep(1);
    expect([state.made, answers.bytes]).toEqual([1, mib]);
    await reader.cancel();
    expect([state.isOver, answers.bytes]).toEqual([true, 0]);
  });

  test("waits for capacity between two pieces, and releases everything when the client leaves meanwhile", async () => {
    const { answers } = open(2 * mib);
    const { state, pieces } = endless();
    const { reader, seen } = stream(answers, pieces);
    let left = mib;
    while (left > 0) left -= (await reader.read()).value?.byteLength ?? 0;
    const other = answers.hold("b").begin(2 * mib);
    const next = reader.read();
    await Bun.sleep(5);
    expect([state.made, answers.bytes]).toEqual([1, 2 * mib]);
    await reader.cancel();
    other.release();
    expect([(await next).done, state, seen, answers.bytes]).toEqual([
      true,
      { made: 1, isOver: true },
      { broken: [], ends: 1 },
      0,
    ]);
  });

  test("has the given bytes, which are freed with the last part", async () => {
    const { answers } = open(10 * mib);
    const bytes = crypto.getRandomValues(new Uint8Array(60_000));
    const whole = Buffer.concat(Array.from({ length: 12 }, () => bytes));
    const piece = new Uint8Array(whole);
    const { reader, seen } = stream(answers, madePieces([piece]));
    const parts: Uint8Array[] = [];
    for (let part = await reader.read(); !part.done; part = await reader.read()) parts.push(part.value);
    expect(parts.length).toBeGreaterThan(1);
    expect(Buffer.concat(parts).equals(whole)).toBe(true);
    // Freed at once: the collector would come too late for a flood of answers.
    expect(piece.byteLength).toBe(0);
    expect([answers.bytes, seen]).toEqual([0, { broken: [], ends: 1 }]);
  });

  test("that fails ends its pieces, so that their resources are released", async () => {
    const { answers } = open(10 * mib);
    let hasEnded = false;
    const pieces: Pieces = {
      next: () => Promise.reject(new Error("damaged")),
      async return() {
        hasEnded = true;
      },
    };
    const options = {
      inFlight: answers,
      caller: "a",
      hold: answers.hold("a").begin(mib),
      onBroken: () => undefined,
      onEnd: () => undefined,
    };
    await expect(new Response(streamOf(pieces, options)).bytes()).rejects.toThrow("damaged");
    expect(hasEnded).toBe(true);
    expect(answers.bytes).toBe(0);
  });

  test("breaks off when a piece fails, and counts no more", async () => {
    const { answers } = open(10 * mib);
    const failure = new Error("no more");
    const pieces: Pieces = { next: () => Promise.reject(failure), return: async () => undefined };
    const { reader, seen } = stream(answers, pieces);
    expect(await errorOf(reader.read())).toBe(failure);
    expect([answers.bytes, seen]).toEqual([0, { broken: [failure], ends: 1 }]);
  });
});
