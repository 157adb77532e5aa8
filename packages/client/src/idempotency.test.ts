/** Changes that are sent again, against a server whose answers a test lists: which requests the client sends, with which keys. */
import { afterAll, expect, test } from "bun:test";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { JsonValue } from "@socle/protocol";
import { type ClientOptions, SocleClient, SocleError } from "./index.ts";

/** An answer of the server; null for a connection that breaks after the request. */
type Listed = { status: number; body?: object; retryAfter?: string } | null;

const made: Listed = { status: 201, body: { id: "rec_1", results: [] } };
const refused = (status: number, code: string, more: { retryAfter?: string; field?: string } = {}): Listed => ({
  status,
  body: { error: { code, message: "no", ...(more.field && { details: [{ field: more.field }] }) } },
  ...(more.retryAfter && { retryAfter: more.retryAfter }),
});

const listed = new Map<string, Listed[]>();
const keysOf = new Map<string, (string | undefined)[]>();
const server = createServer((request, response) => {
  // The collection of a test, or the collection that a batch names.
  let text = "";
  request.on("data", (piece) => {
    text += piece;
  });
  request.on("end", () => {
    const path = request.url ?? "";
    const name = path === "/api/batch" ? JSON.parse(text).operations[0].collection : path.split(/[/?]/)[2];
    keysOf.get(name)?.push(request.headers["idempotency-key"]?.toString());
    const next = listed.get(name)?.shift() ?? null;
    if (next === null) return request.socket.destroy();
    response.writeHead(next.status, {
      "Content-Type": "application/json",
      // A runtime itself sends a request again that breaks on a connection that was used before.
      Connection: "close",
      ...(next.retryAfter !== undefined && { "Retry-After": next.retryAfter }),
    });
    return response.end(JSON.stringify(next.body));
  });
});
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
afterAll(() => server.close());

type Send = (client: SocleClient, name: string) => Promise<unknown>;
const create: Send = (client, name) => client.collection(name).create({});
const batch: Send = (client, name) => client.batch([{ method: "create", collection: name, body: {} }]);
const upsert: Send = (client, name) => client.collection(name).upsert({}, { by: "slug" });
const withKey: Send = (client, name) => client.collection(name).create({}, { idempotencyKey: "own" });

interface Case {
  readonly name: string;
  readonly answers: Listed[];
  readonly send?: Send;
  readonly options?: Partial<ClientOptions>;
  /** The status that the caller gets; 0 for a network failure. */
  readonly status: number;
  /** The keys of the requests: "a" stands for a random key. */
  readonly keys: (string | undefined)[];
}

const cases: Case[] = [
  { name: "answered", answers: [made], status: 201, keys: ["a"] },
  { name: "broken twice", answers: [null, null, made], status: 201, keys: ["a", "a", "a"] },
  { name: "batch broken", answers: [null, made], send: batch, status: 201, keys: ["a", "a"] },
  { name: "upsert broken", answers: [null, made], send: upsert, status: 201, keys: ["a", "a"] },
  {
    name: "bad gateway",
    answers: [{ status: 502, body: {} }, { status: 504, body: {} }, made],
    status: 201,
    keys: ["a", "a", "a"],
  },
  {
    name: "unavailable",
    answers: [refused(503, "unavailable", { retryAfter: "1" }), made],
    status: 201,
    keys: ["a", "a"],
  },
  {
    name: "under way",
    answers: [null, refused(409, "conflict", { retryAfter: "1" }), made],
    status: 201,
    keys: ["a", "a", "a"],
  },
  { name: "conflict", answers: [refused(409, "conflict"), made], status: 409, keys: ["a"] },
  { name: "refused", answers: [refused(400, "validation_error"), made], status: 400, keys: ["a"] },
  { name: "failed", answers: [refused(500, "internal_error"), made], status: 500, keys: ["a"] },
  { name: "long wait", answers: [refused(503, "unavailable", { retryAfter: "3600" }), made], status: 503, keys: ["a"] },
  { name: "rate", answers: [refused(429, "rate_limited", { retryAfter: "1" }), made], status: 429, keys: ["a"] },
  {
    name: "no keys",
    answers: [refused(429, "rate_limited", { field: "Idempotency-Key" }), made],
    status: 201,
    keys: ["a", undefined],
  },
  {
    name: "no keys, broken",
    answers: [refused(429, "rate_limited", { field: "Idempotency-Key" }), null],
    status: 0,
    keys: ["a", undefined],
  },
  {
    name: "no keys later",
    answers: [null, refused(429, "rate_limited", { field: "Idempotency-Key" })],
    status: 429,
    keys: ["a", "a"],
  },
  {
    name: "no keys, own",
    answers: [refused(429, "rate_limited", { field: "Idempotency-Key" })],
    send: withKey,
    status: 429,
    keys: ["own"],
  },
  { name: "own key", answers: [null, made], send: withKey, status: 201, keys: ["own", "own"] },
  { name: "off", answers: [null, made], options: { retries: 0 }, status: 0, keys: [undefined] },
  { name: "off, own key", answers: [null, made], send: withKey, options: { retries: 0 }, status: 0, keys: ["own"] },
  { name: "exhausted", answers: [null, null, made], options: { retries: 1 }, status: 0, keys: ["a", "a"] },
  {
    name: "update",
    answers: [null, made],
    send: (client, name) => client.collection(name).update("rec_1", {}),
    status: 0,
    keys: [undefined],
  },
  {
    name: "delete",
    answers: [null, made],
    send: (client, name) => client.collection(name).delete("rec_1"),
    status: 0,
    keys: [undefined],
  },
];

/** All cases at the same time, because clients wait. */
const outcomes = new Map(
  cases.map(({ name, answers, send = create, options }) => {
    const path = name.replaceAll(/\W+/g, "_");
    listed.set(path, [...answers]);
    keysOf.set(path, []);
    const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const outcome = send(new SocleClient({ baseUrl, ...options }), path).then(
      () => 201,
      (thrown: unknown) => (thrown instanceof SocleError ? thrown.status : null),
    );
    return [name, { path, outcome }];
  }),
);

test.each(cases)("$name", async ({ name, status, keys }) => {
  const { path = "", outcome } = outcomes.get(name) ?? {};
  expect(await outcome).toBe(status as never);
  const used = keysOf.get(path) ?? [];
  const random = used.filter((key) => key !== undefined && key !== "own");
  expect(new Set(random).size).toBeLessThanOrEqual(1);
  for (const key of random) expect(key).toMatch(/^\d+(-\d+){3}$/);
  expect(used.map((key) => (random.includes(key) ? "a" : key))).toEqual(keys);
});

test("each change has another key", () => {
  const keys = [...keysOf.values()].map(([key]) => key).filter((key) => key !== undefined && key !== "own");
  expect(new Set(keys).size).toBe(keys.length);
});

test("values that are no JSON reject, and nothing is sent", async () => {
  keysOf.set("loops", []);
  const value: { [name: string]: JsonValue } = {};
  value["own"] = value;
  const client = new SocleClient({ baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
  await expect(client.collection("loops").create(value)).rejects.toThrow(/cyclic|circular/i);
  expect(keysOf.get("loops")).toEqual([]);
});
