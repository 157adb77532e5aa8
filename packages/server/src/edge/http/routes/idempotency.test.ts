/** Requests with `Idempotency-Key`: a record and a batch are made a single time, and the answer is given again. */
import { afterAll, describe, expect, spyOn, test } from "bun:test";
import { eventsSince, lastSeq, openApi, setRole, temporaryFolder } from "../../../../test/kit.ts";
import { until } from "../../../../test/sockets.ts";
import { AppError, moveTime } from "../../../base/kernel/index.ts";
import type { Transactor } from "../../../store/database/index.ts";

const day = 24 * 3_600_000;
const collections = [
  {
    name: "notes",
    fields: [
      { name: "text", type: "string", required: true },
      { name: "slug", type: "string", unique: true },
      { name: "number", type: "integer", sequence: true },
      { name: "writer", type: "relation", collection: "users", owner: true },
    ],
    permissions: { create: "public", read: "public", update: "public", delete: "public" },
  },
  { name: "others", fields: [{ name: "text", type: "string" }], permissions: { create: "admin", read: "public" } },
];
const settings = { SERVICE_LIMITS_IDEMPOTENCY_KEYS: "10", SERVICE_AUTH_ACCESS_TOKEN_TTL: "30d" };
const folder = temporaryFolder();
const api = await openApi({ collections, settings, folder });
const { request, service, register } = api;
afterAll(() => moveTime(0));

let keys = 0;
const newKey = (): string => `key-${++keys}`;
let people = 0;
/** A new user for each test: the bound on kept answers is for each caller. */
const user = () => register(`person-${++people}@example.com`);

interface Sent {
  readonly path?: string;
  readonly body?: unknown;
  readonly token?: string;
  readonly headers?: Record<string, string>;
}

function post(key: string, { path = "/api/notes", body = { text: "a" }, token, headers }: Sent = {}) {
  const all = { "Idempotency-Key": key, ...headers };
  return request("POST", path, { body, headers: all, ...(token !== undefined && { token }) });
}

async function texts(): Promise<unknown[]> {
  const { body } = await request<{ items: { text: string }[] }>("GET", "/api/notes");
  return body.items.map(({ text }) => text);
}

/** Holds the writer, so that changes wait. Answers how to release the writer, after `work` in the same transaction. */
async function holdWriter(work: (tx: Transactor) => void = () => undefined): Promise<() => Promise<void>> {
  const [begun, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const held = service.database.transactLong("test", async (tx) => {
    begun.resolve();
    await gate.promise;
    work(tx);
  });
  await begun.promise;
  return () => {
    gate.resolve();
    return held;
  };
}

const batchOf = (...given: string[]) => ({
  operations: given.map((text) => ({ method: "create", collection: "notes", body: { text } })),
});

describe.each([
  ["record", "/api/notes", (text: string): object => ({ text }), 201],
  ["batch", "/api/batch", (text: string): object => batchOf(text, text), 200],
])("a %s", (kind, path, bodyOf, status) => {
  test("is made once, with an event for each record, and has the same response again", async () => {
    const [key, text] = [newKey(), `once ${kind}`];
    const { accessToken: token } = await user();
    const seq = await lastSeq(service);
    const first = await post(key, { path, body: bodyOf(text), token });
    expect([first.status, first.headers.get("idempotency-replayed")]).toEqual([status, null]);
    const events = await eventsSince(service, seq);
    for (let n = 0; n < 3; n++) {
      const again = await post(key, { path, body: bodyOf(text), token });
      expect([again.status, again.headers.get("idempotency-replayed")]).toEqual([status, "true"]);
      expect(again.bytes).toEqual(first.bytes);
      for (const name of ["etag", "content-type"]) expect(again.headers.get(name)).toBe(first.headers.get(name));
      expect(again.headers.get("x-request-id")).not.toBe(first.headers.get("x-request-id"));
    }
    expect((await texts()).filter((each) => each === text)).toHaveLength(kind === "batch" ? 2 : 1);
    expect(await eventsSince(service, seq)).toEqual(events);
  });

  test("with another body is refused, and from another caller is another request", async () => {
    const [key, text] = [newKey(), `own ${kind}`];
    const [ann, bob] = [await user(), await user()];
    await post(key, { path, body: bodyOf(text), token: ann.accessToken });
    const other = await post(key, { path, body: bodyOf(`${text} 2`), token: ann.accessToken });
    expect([other.status, other.body["error"]?.["code"]]).toEqual([400, "bad_request"] as never);
    expect(String(other.body["error"]?.["message"])).toContain("another route or another body");
    const made = await post(key, { path, body: bodyOf(text), token: bob.accessToken });
    expect([made.status, made.headers.get("idempotency-replayed")]).toEqual([status, null]);
    const anonymous = await post(key, { path, body: bodyOf(text) });
    expect([anonymous.status, anonymous.headers.get("idempotency-replayed")]).toEqual([status, null]);
    expect((await texts()).filter((each) => each === `${text} 2`)).toEqual([]);
  });

  test("under way is 409 for the same request, 400 for another body, and is made once", async () => {
    const [key, text] = [newKey(), `slow ${kind}`];
    const { accessToken: token } = await user();
    const release = await holdWriter();
    const both = [post(key, { path, body: bodyOf(text), token }), post(key, { path, body: bodyOf(text), token })];
    const second = await Promise.race(both);
    expect([second.status, second.body["error"]?.["code"]]).toEqual([409, "conflict"] as never);
    expect(second.headers.get("retry-after")).toBe("1");
    expect((await post(key, { path, body: bodyOf("other"), token })).status).toBe(400);
    await release();
    const answers = await Promise.all(both);
    expect(answers.map((answer) => answer.status).sort()).toEqual([status, 409]);
    const first = answers.find((answer) => answer.status === status);
    expect((await post(key, { path, body: bodyOf(text), token })).bytes).toEqual(first?.bytes as never);
    expect((await texts()).filter((each) => each === text)).toHaveLength(kind === "batch" ? 2 : 1);
    expect(await texts()).not.toContain("other");
  });

  test("that failed with 503 is made by the next try, and the response of a refusal stays", async () => {
    const [key, text] = [newKey(), `failed ${kind}`];
    const { accessToken: token } = await user();
    const refused = () => Promise.reject(new AppError("unavailable", "no room"));
    for (const method of ["transactFor", "transactLongFor"] as const)
      spyOn(service.database, method).mockImplementationOnce(refused);
    expect((await post(key, { path, body: bodyOf(text), token })).status).toBe(503);
    for (const method of ["transactFor", "transactLongFor"] as const) spyOn(service.database, method).mockRestore();
    const made = await post(key, { path, body: bodyOf(text), token });
    expect([made.status, made.headers.get("idempotency-replayed")]).toEqual([status, null]);

    const blocked = newKey();
    const bad = JSON.parse(JSON.stringify(bodyOf(text)).replaceAll('"text":', '"slug":"taken","text":'));
    const holder = (await request("POST", "/api/notes", { body: { text: "holder", slug: "taken" } })).body["id"];
    const refusal = await post(blocked, { path, body: bad, token });
    expect(refusal.status).toBe(400);
    await request("DELETE", `/api/notes/${holder}`);
    const again = await post(blocked, { path, body: bad, token });
    expect([again.status, again.headers.get("idempotency-replayed"), again.bytes]).toEqual([
      400,
      "true",
      refusal.bytes,
    ]);
    expect((await texts()).filter((each) => each === text)).toHaveLength(kind === "batch" ? 2 : 1);
  });
});

describe("the key", () => {
  test.each([
    ["300 characters", "k".repeat(300), "it has 300 characters"],
    ["256 characters", "k".repeat(256), "it has 256 characters"],
    ["none", "\t", "it has no character"],
    ["a space", "a b", "it has other characters"],
    ["two headers", "a, b", "it has other characters"],
    ["Latin", "schlüssel", "it has other characters"],
  ])("with %s is 400, and nothing is made", async (_name, key, reason) => {
    for (const path of ["/api/notes", "/api/batch"]) {
      const body = path === "/api/batch" ? batchOf("bad key") : { text: "bad key" };
      const answer = await post(key, { path, body });
      expect([answer.status, answer.body["error"]?.["code"]]).toEqual([400, "bad_request"] as never);
      expect(String(answer.body["error"]?.["message"])).toContain(reason);
    }
    expect(await texts()).not.toContain("bad key");
  });

  test("has up to 255 visible characters, quotes too", async () => {
    for (const key of ["k".repeat(255), '"8e03978e-40d5-43dd-bc93-6894a57f9324"', "!~"])
      for (const replayed of [null, "true"]) {
        const answer = await post(key, { headers: { "X-Test-Address": "visible" } });
        expect([answer.status, answer.headers.get("idempotency-replayed")]).toEqual([201, replayed]);
      }
  });

  test("from another route is refused; a PUT has no keys", async () => {
    const key = newKey();
    const token = await api.admin();
    expect((await post(key, { token })).status).toBe(201);
    expect((await post(key, { path: "/api/others", token })).status).toBe(400);
    expect((await post(key, { path: "/api/notes?x=1", token })).status).toBe(400);
    const { id } = (await request("POST", "/api/notes", { body: { text: "b" } })).body;
    const headers = { "Idempotency-Key": "k".repeat(300) };
    expect((await request("PUT", `/api/notes/${id}`, { body: { text: "c" }, headers })).status).toBe(200);
    expect((await request("GET", "/api/others")).body["items"]).toEqual([] as never);
  });

  test("stands in no table", async () => {
    await post("plain-key-4711", { headers: { "X-Test-Address": "192.0.2.47" } });
    const rows = JSON.stringify(service.database.reader.all("SELECT * FROM _kept_answers"));
    expect(rows).not.toContain("plain-key-4711");
    expect(rows).not.toContain("192.0.2.47");
  });
});

describe("checks before the stored response", () => {
  test("an ended session is 401, and a lost right is 403", async () => {
    const [key, { user: person, accessToken: token, refreshToken }] = [newKey(), await user()];
    await setRole(service, person.id, "admin");
    expect((await post(key, { path: "/api/others", token })).status).toBe(201);
    await setRole(service, person.id, "authenticated");
    const answers = [await post(key, { path: "/api/others", token })];
    await setRole(service, person.id, "admin");
    expect((await post(key, { path: "/api/others", token })).headers.get("idempotency-replayed")).toBe("true");
    await request("POST", "/api/auth/logout", { token, body: { refreshToken } });
    answers.push(await post(key, { path: "/api/others", token }));
    expect(answers.map(({ status }) => status)).toEqual([403, 401]);
    for (const { headers, body } of answers) {
      expect(headers.get("idempotency-replayed")).toBeNull();
      expect(body).not.toHaveProperty("text");
    }
  });

  test.each([
    [403, "role"],
    [401, "session"],
  ])("%d for a %s that ends while the body of the repeated request comes", async (status, right) => {
    const [key, { user: person, accessToken: token }] = [newKey(), await user()];
    await setRole(service, person.id, "admin");
    const path = "/api/others";
    const { sessionId } = await service.auth.callers.authenticate(token);
    expect((await post(key, { path, token })).status).toBe(201);
    const [isRead, rest] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const body = new ReadableStream({
      async pull(controller) {
        isRead.resolve();
        await rest.promise;
        controller.enqueue(new TextEncoder().encode('{"text":"a"}'));
        controller.close();
      },
    });
    const again = post(key, { path, token, body });
    await isRead.promise;
    if (right === "role") await setRole(service, person.id, "authenticated");
    else await service.database.transact((tx) => service.auth.sessions.end(tx, sessionId));
    rest.resolve();
    expect([(await again).status, (await again).headers.get("idempotency-replayed")]).toEqual([status, null]);
  });

  test("is not stored: the request may be sent again with the key", async () => {
    const [key, { user: person, accessToken: token }] = [newKey(), await user()];
    const path = "/api/others";
    const headers = { "Content-Type": "text/plain" };
    const statuses = [
      (await post(key, { path: "/api/missing", token })).status,
      (await post(key, { path })).status,
      (await post(key, { path, token })).status,
    ];
    await setRole(service, person.id, "admin");
    statuses.push((await post(key, { path, token, headers })).status);
    statuses.push((await post(key, { path, token, body: { text: "x".repeat(1_100_000) } })).status);
    expect(statuses).toEqual([404, 401, 403, 400, 413]);
    const made = await post(key, { path, token });
    expect([made.status, made.headers.get("idempotency-replayed")]).toEqual([201, null]);
  });

  test.each([
    [409, new AppError("conflict", "in turn", { retryAfter: 1 })],
    [403, new AppError("forbidden", "not now")],
  ])("a refusal of the moment or of the caller is not stored: %d", async (status, refusal) => {
    const [key, { accessToken: token }] = [newKey(), await user()];
    spyOn(service.database, "transactFor").mockImplementationOnce(() => Promise.reject(refusal));
    expect((await post(key, { token })).status).toBe(status);
    spyOn(service.database, "transactFor").mockRestore();
    const made = await post(key, { token });
    expect([made.status, made.headers.get("idempotency-replayed")]).toEqual([201, null]);
  });

  test("a session that ends while the change waits is 401, and the key stays free", async () => {
    const key = newKey();
    const { accessToken: token, user: person } = await user();
    const { sessionId } = await service.auth.callers.authenticate(token);
    const release = await holdWriter((tx) => service.auth.sessions.end(tx, sessionId));
    const both = [post(key, { token }), post(key, { token })];
    expect((await Promise.race(both)).status).toBe(409);
    await release();
    expect((await Promise.all(both)).map(({ status }) => status).sort()).toEqual([401, 409]);
    const login = { body: { email: person.email, password: "correct horse" } };
    const { accessToken } = (await request<{ accessToken: string }>("POST", "/api/auth/login", login)).body;
    const made = await post(key, { token: accessToken });
    expect([made.status, made.headers.get("idempotency-replayed")]).toEqual([201, null]);
  });
});

test("stored responses have a bound for each caller: a further key is refused, and the stored responses stay", async () => {
  const headers = { "X-Test-Address": "192.0.2.1" };
  const first = newKey();
  await post(first, { headers });
  for (let n = 1; n < 10; n++) expect((await post(newKey(), { headers })).status).toBe(201);
  const before = (await texts()).length;
  const refused = await post(newKey(), { headers });
  expect([refused.status, refused.body["error"]?.["code"], refused.headers.get("retry-after")]).toEqual([
    429,
    "rate_limited",
    "60",
  ] as never);
  expect(refused.body["error"]?.["details"]).toMatchObject([{ field: "Idempotency-Key", rule: "max" }] as never);
  expect((await texts()).length).toBe(before);
  expect((await post(first, { headers })).headers.get("idempotency-replayed")).toBe("true");
  // The key belongs to no address: a client that has changed its network gets the answer.
  const moved = await post(first, { headers: { "X-Test-Address": "192.0.2.2" } });
  expect([moved.status, moved.headers.get("idempotency-replayed")]).toEqual([201, "true"]);
  expect((await post(newKey(), { headers: { "X-Test-Address": "192.0.2.2" } })).status).toBe(201);
  expect((await request("POST", "/api/notes", { body: { text: "a" }, headers })).status).toBe(201);
});

test("refusals of records and batches are sent again, take no row, and do not count for the bound", async () => {
  const sender = { headers: { "x-test-address": "refused" } };
  const rows = () => service.database.reader.get<{ n: number }>("SELECT count(*) AS n FROM _kept_answers")?.n;
  const before = rows();
  const keysOf = Array.from({ length: 30 }, newKey);
  for (const [n, key] of keysOf.entries()) {
    const [path, body] = n % 2 === 0 ? ["/api/notes", { text: 5 }] : ["/api/batch", { operations: [{ method: "x" }] }];
    const sent = { ...sender, path, body };
    const refusal = await post(key, sent);
    expect([refusal.status, refusal.headers.get("idempotency-replayed")]).toEqual([400, null]);
    const again = await post(key, sent);
    expect([again.status, again.headers.get("idempotency-replayed"), again.bytes]).toEqual([
      400,
      "true",
      refusal.bytes,
    ]);
    // The key belongs to the refused request.
    expect((await post(key, { ...sender, body: { text: "other" } })).status).toBe(400);
  }
  expect(rows()).toBe(before as number);
  expect((await post(newKey(), sender)).status).toBe(201);
});

test("requests under way count for the bound", async () => {
  const headers = { "X-Test-Address": "192.0.2.3" };
  const release = await holdWriter();
  const statuses: number[] = [];
  const all = Array.from({ length: 14 }, async () => statuses.push((await post(newKey(), { headers })).status));
  await until(() => statuses.length === 4);
  await release();
  await Promise.all(all);
  expect(statuses).toEqual([...Array(4).fill(429), ...Array(10).fill(201)]);
});

test("a response of many bytes counts several times", async () => {
  const headers = { "X-Test-Address": "192.0.2.4" };
  const body = { text: "x".repeat(40_000) };
  const key = newKey();
  const first = await post(key, { headers, body });
  expect((await post(newKey(), { headers })).status).toBe(429);
  expect((await post(key, { headers, body })).bytes).toEqual(first.bytes);
});

test("a stored response beyond 64 KiB is sent again whole", async () => {
  const [key, { accessToken: token }] = [newKey(), await user()];
  const body = batchOf("x".repeat(70_000), "ä".repeat(70_000));
  const [first, again] = [
    await post(key, { path: "/api/batch", body, token }),
    await post(key, { path: "/api/batch", body, token }),
  ];
  expect([again.status, again.headers.get("idempotency-replayed")]).toEqual([200, "true"]);
  expect(Buffer.from(again.bytes).equals(first.bytes)).toBe(true);
});

test("a page of another origin may send the key, and read that a response was sent again", async () => {
  const headers = { Origin: "https://app.example.com", "Access-Control-Request-Method": "POST" };
  const { headers: allowed } = await request("OPTIONS", "/api/notes", { headers });
  expect(allowed.get("access-control-allow-headers")).toContain("Idempotency-Key");
  const { headers: exposed } = await request("GET", "/api/notes", { headers });
  expect(exposed.get("access-control-expose-headers")).toContain("Idempotency-Replayed");
});

test("the responses survive a restart, end after 24 hours, and the sweep removes no others", async () => {
  const [old, token] = [newKey(), (await user()).accessToken];
  const rows = () => service.database.reader.all("SELECT key FROM _kept_answers").length;
  const sums = () =>
    service.database.reader
      .all<{ parts: number }>("SELECT parts FROM _kept_answer_sums")
      .reduce((a, b) => a + b.parts, 0);
  const made = await post(old, { token });
  moveTime(day - 60_000);
  const young = newKey();
  await post(young, { token });
  expect((await post(old, { token })).bytes).toEqual(made.bytes);
  moveTime(day + 1_000);
  await api.parts.keptAnswers.sweep();
  expect([rows(), sums()]).toEqual([1, 1]);
  const anew = await post(old, { token });
  expect([anew.status, anew.headers.get("idempotency-replayed")]).toEqual([201, null]);
  expect(anew.body["id"]).not.toBe(made.body["id"] as never);
  // Without a sweep, an expired answer makes room for the next answer with the key.
  moveTime(2 * day + 2_000);
  expect((await post(old, { token })).headers.get("idempotency-replayed")).toBeNull();
  const kept = await post(old, { token });
  await api.close();
  const reopened = await openApi({ collections, settings, folder });
  const options = { body: { text: "a" }, token, headers: { "Idempotency-Key": old } };
  const again = await reopened.request("POST", "/api/notes", options);
  expect([again.status, again.headers.get("idempotency-replayed"), again.bytes]).toEqual([201, "true", kept.bytes]);
});
