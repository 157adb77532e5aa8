/** Answers that are given after the turn of the request: the same content, in a form that the runtime sends at once. */
import { expect, test } from "bun:test";
import { openServer } from "../../../test/sockets.ts";
import { lateBody } from "./response-stream.ts";

const server = await openServer({ collections: [{ name: "notes", fields: [{ name: "text", type: "text" }] }] });
const post = (operations: object[]): Promise<Response> =>
  fetch(`${server.url}/api/batch`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ operations }),
  });
const create = (text: string) => ({ method: "create", collection: "notes", body: { text } });

test("a body is a stream from 15 KiB on, at any size of its characters, and a short body stays a text", async () => {
  const short = "é".repeat(5_000);
  expect(lateBody(short) === short).toBe(true);
  const lastShort = "漢".repeat(5_119);
  expect(lateBody(lastShort) === lastShort).toBe(true);
  // The length of a text in bytes is known after encoding.
  expect(lateBody("a".repeat(15_359))).toBeInstanceOf(Uint8Array);
  for (const text of ["a".repeat(15_360), "漢".repeat(5_120)]) {
    const body = lateBody(text);
    expect(body).toBeInstanceOf(ReadableStream);
    expect((await new Response(body).text()) === text).toBe(true);
  }
});

test("a long deferred response is a stream over the wire, with all of its headers; a short response has a length", async () => {
  const text = "漢字 and a text ".repeat(20);
  const long = await post(Array.from({ length: 60 }, () => create(text)));
  expect([long.status, long.headers.get("transfer-encoding"), long.headers.get("content-length")]).toEqual([
    200,
    "chunked",
    null,
  ]);
  expect(long.headers.get("content-type")).toBe("application/json");
  expect(long.headers.get("x-request-id")).toBeString();
  const { results } = (await long.json()) as { results: { body: { text: string } }[] };
  expect(results.map(({ body }) => body.text)).toEqual(Array.from({ length: 60 }, () => text));
  const short = await post([create("short")]);
  expect(Number(short.headers.get("content-length"))).toBe((await short.text()).length);
  // An error with hundreds of problems is no exception.
  const wrong = await post(
    Array.from({ length: 300 }, () => ({ method: "create", collection: "notes", body: { txt: 1 } })),
  );
  expect([wrong.status, wrong.headers.get("transfer-encoding")]).toEqual([400, "chunked"]);
  expect(((await wrong.json()) as { error: { details: object[] } }).error.details.length).toBe(300);
});

test("a response in the turn of its request, and a response to HEAD, have their length", async () => {
  const list = `${server.url}/api/notes?limit=50`;
  const { length } = await (await fetch(list)).text();
  expect(length).toBeGreaterThan(15_360);
  // The list is in memory by now.
  const kept = await fetch(list);
  expect(Number(kept.headers.get("content-length"))).toBe((await kept.arrayBuffer()).byteLength);
  const head = await fetch(list, { method: "HEAD" });
  expect([head.status, Number(head.headers.get("content-length"))]).toEqual([
    200,
    Number(kept.headers.get("content-length")),
  ]);
});
