/** Responses of handlers as data: short bodies that are complete at once go with the head, other bodies in pieces. */
import { describe, expect, test } from "bun:test";
import { nextTurn } from "../../../base/kernel/index.ts";
import { responseOf } from "./endpoint-io.ts";

/** A response whose stream has the pieces at once. */
function streamed(...pieces: readonly unknown[]): Response {
  const start = (controller: ReadableStreamDefaultController<unknown>): void => {
    for (const piece of pieces) controller.enqueue(piece);
    controller.close();
  };
  return new Response(new ReadableStream({ start }));
}

/** A response whose stream has the pieces of a generator. */
function generated(generate: () => AsyncGenerator<string>): Response {
  const pieces = generate();
  const pull = async (controller: ReadableStreamDefaultController<unknown>): Promise<void> => {
    const { done, value } = await pieces.next();
    if (done) controller.close();
    else controller.enqueue(value);
  };
  return new Response(new ReadableStream({ pull }, { highWaterMark: 0 }));
}

async function textOf(response: Response): Promise<{ head: string; rest: string[] | null }> {
  const { data, rest } = await responseOf(response);
  const decoder = new TextDecoder();
  const head = data.body instanceof Uint8Array ? decoder.decode(data.body) : String(data.body);
  if (rest === null) return { head, rest };
  const pieces: string[] = [];
  for (let piece = await rest.next(); piece !== null; piece = await rest.next()) pieces.push(decoder.decode(piece));
  return { head, rest: pieces };
}

const large = "x".repeat(64 * 1024 + 1);

describe("with the head goes", () => {
  test.each([
    ["a text", () => new Response("ok"), "ok"],
    ["bytes", () => new Response(new TextEncoder().encode("ok")), "ok"],
    ["no body", () => new Response(null), "null"],
    ["an empty body", () => new Response(""), "null"],
    ["a stream of several pieces", () => streamed("a", new Uint8Array([98]), "", "c"), "abc"],
    [
      "a stream that is complete within a turn",
      () =>
        generated(async function* () {
          yield "a";
          await Promise.resolve();
          yield "b";
        }),
      "ab",
    ],
  ])("%s", async (_, response, body) => {
    expect(await textOf(response())).toEqual({ head: body, rest: null });
  });
});

describe("in pieces goes", () => {
  test("a stream that is not complete within a turn, and the head does not wait for the stream", async () => {
    const gate = Promise.withResolvers<void>();
    const response = generated(async function* () {
      yield "a";
      yield "b";
      await gate.promise;
      yield "c";
    });
    const { data, rest } = await responseOf(response);
    expect(data.body).toBe("pieces");
    gate.resolve();
    const pieces: (Uint8Array | null | undefined)[] = [await rest?.next(), await rest?.next(), await rest?.next()];
    expect(pieces.map((piece) => piece && new TextDecoder().decode(piece))).toEqual(["ab", "c", null]);
  });

  test("a stream whose pieces take a turn each: the head waits for one turn in all", async () => {
    let given = 0;
    const response = generated(async function* () {
      for (; given < 50; given++) {
        yield "x";
        await nextTurn();
      }
    });
    const { data, rest } = await responseOf(response);
    expect(data.body).toBe("pieces");
    expect(given).toBeLessThan(5);
    rest?.cancel();
  });

  test("a long text, whole", async () => {
    const { head, rest } = await textOf(new Response(large));
    expect([head, rest?.join("") === large]).toEqual(["pieces", true]);
  });
});

test("a stream that fails within a turn fails before the head; a later failure breaks the body off", async () => {
  const fails = generated(async function* () {
    yield "a";
    throw new Error("at once");
  });
  await expect(responseOf(fails)).rejects.toThrow("at once");
  const gate = Promise.withResolvers<void>();
  const late = generated(async function* () {
    yield "a";
    await gate.promise;
    throw new Error("later");
  });
  const { rest } = await responseOf(late);
  gate.resolve();
  expect(new TextDecoder().decode((await rest?.next()) ?? undefined)).toBe("a");
  await expect(rest?.next()).rejects.toThrow("later");
});

test("a piece that is no bytes fails", async () => {
  await expect(responseOf(streamed({ a: 1 }))).rejects.toThrow("as a piece; allowed: bytes and text");
});
