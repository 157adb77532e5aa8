/** Histories: random changes against a model, pages, and the parts of the past that stay hidden. */
import { describe, expect, test } from "bun:test";
import type { HistoryEntry, JsonValue, RecordHistory, StoredRecord } from "@socle/protocol";
import { openApi } from "../../../test/kit.ts";
import { randomNumbers, randomSeed } from "../../../test/random.ts";

const everybody = { read: "public", create: "public", update: "public", delete: "public" } as const;
const posts = {
  name: "posts",
  fields: [
    { name: "title", type: "string" },
    { name: "body", type: "text" },
    { name: "points", type: "integer" },
    { name: "meta", type: "json" },
    { name: "tags", type: "string", multiple: true },
    { name: "photo", type: "file" },
  ],
  permissions: everybody,
};
const api = await openApi({ collections: [posts] });
const { request, register } = api;
const admin = await api.admin();
const seed = randomSeed("histories");
const random = randomNumbers(seed);

function pick<T>(items: readonly T[]): T {
  return items[Math.floor(random() * items.length)] as T;
}

async function history(path: string, query = "", token: string | null = admin): Promise<RecordHistory> {
  const options = token === null ? {} : { token };
  const { status, body } = await request<RecordHistory>("GET", `/api/${path}/history${query}`, options);
  expect([path, status, JSON.stringify(body).slice(0, 300)]).toEqual([path, 200, expect.anything()]);
  return body;
}

async function create(body: object): Promise<string> {
  const answer = await request<StoredRecord>("POST", "/api/posts", { body, token: admin });
  expect(answer.status).toBe(201);
  return answer.body.id;
}

/** All entries, page by page. */
async function pages(path: string, limit: number): Promise<HistoryEntry[]> {
  const items: HistoryEntry[] = [];
  for (let cursor = ""; ; ) {
    const page = await history(path, `?limit=${limit}${cursor}`);
    expect(page.items.length).toBeLessThanOrEqual(limit);
    items.push(...page.items);
    if (page.nextCursor === null) return items;
    expect(page.items).toHaveLength(limit);
    cursor = `&cursor=${page.nextCursor}`;
  }
}

type Values = Record<string, JsonValue>;

const long = (): string => "é😀x".repeat(1 + Math.floor(random() * 3_000));
const randomValue: Record<string, () => JsonValue> = {
  title: () => pick(["a", "b", "", "é'\"", null]),
  body: () => pick([long(), "short", null]),
  points: () => pick([0, 1, -5, 2 ** 40, null]),
  meta: () => pick<JsonValue>([{ a: [1, { b: null }] }, [], "x", 0, false, null]),
  tags: () => pick<JsonValue>([["a"], ["b", "a"], []]),
};
const names = Object.keys(randomValue);

function randomValues(first: Values): Values {
  const others = names.filter(() => random() < 0.4).map((name) => [name, randomValue[name]?.() ?? null]);
  return { ...first, ...Object.fromEntries(others) };
}

/** The values of a record, without the system fields. */
function ownOf({ id: _, createdAt: __, updatedAt: ___, ...values }: StoredRecord): Values {
  return values;
}

/** The entry that a change must have. */
function expected(type: HistoryEntry["type"], before: Values | null, after: Values | null) {
  const changes: HistoryEntry["changes"] = {};
  for (const name of Object.keys(before ?? after ?? {})) {
    const [from, to] = [before?.[name] ?? null, after?.[name] ?? null];
    if (JSON.stringify(from) !== JSON.stringify(to)) changes[name] = { before: from, after: to };
  }
  return { type, changes };
}

test("random changes: each change of each record once, with the values before and after", async () => {
  const model = new Map<string, { now: Values | null; entries: Pick<HistoryEntry, "type" | "changes">[] }>();
  const note = (id: string, type: HistoryEntry["type"], now: Values | null): void => {
    const known = model.get(id) ?? { now: null, entries: [] };
    known.entries.unshift(expected(type, known.now, now));
    model.set(id, { ...known, now });
  };
  const living = (): string[] => [...model].filter(([, { now }]) => now !== null).map(([id]) => id);
  for (let n = 0; n < 250; n++) {
    const way = random();
    const [id] = living().length === 0 ? [] : [pick(living())];
    // An update without values is no change; an update with the same values is a change of the time.
    const values = randomValues({ points: n });
    if (way < 0.3 || id === undefined) {
      const { body } = await request<StoredRecord>("POST", "/api/posts", { body: values });
      note(body.id, "created", ownOf(body));
    } else if (way < 0.75) {
      const { body } = await request<StoredRecord>("PUT", `/api/posts/${id}`, { body: values });
      note(id, "updated", ownOf(body));
    } else if (way < 0.85) {
      await request("DELETE", `/api/posts/${id}`);
      note(id, "deleted", null);
    } else if (way < 0.95) {
      const other = pick(living());
      const operations = [
        { method: "create", collection: "posts", body: values },
        { method: "update", collection: "posts", id: other, body: randomValues({ points: -n }) },
      ];
      const { body } = await request("POST", "/api/batch", { body: { operations } });
      const [made, changed] = (body as unknown as { results: { body: StoredRecord }[] }).results;
      if (made === undefined || changed === undefined) throw new Error("The batch has no results");
      note(made.body.id, "created", ownOf(made.body));
      note(other, "updated", ownOf(changed.body));
    } else {
      const rows = [id, null].map((each) => JSON.stringify({ ...(each && { id: each }), title: `import ${n}` }));
      const headers = { "Content-Type": "application/x-ndjson" };
      const path = "/api/posts/import?upsert=id";
      await request("POST", path, { body: rows.join("\n"), token: admin, headers });
      note(id, "updated", { ...(model.get(id)?.now ?? {}), title: `import ${n}` });
    }
  }
  for (const [id, { entries }] of model) {
    const found = await pages(`posts/${id}`, Math.ceil(random() * 5));
    expect([seed, id, found.map(({ type, changes }) => ({ type, changes }))]).toEqual([seed, id, entries]);
    expect(found.some(({ partial, erased }) => partial || erased)).toBe(false);
    expect(found.map(({ seq }) => seq)).toEqual([...new Set(found.map(({ seq }) => seq))].sort((a, b) => b - a));
    // Nobody but an admin sees the history of a collection without the rule.
    expect((await request("GET", `/api/posts/${id}/history`)).status).toBe(401);
  }
});

describe("a request that is refused", () => {
  test("has one clear error", async () => {
    const { body } = await request<StoredRecord>("POST", "/api/posts", { body: { title: "x" } });
    const path = `/api/posts/${body.id}/history`;
    const statusOf = async (url: string, token?: string): Promise<unknown[]> => {
      const answer = await request("GET", url, token === undefined ? {} : { token });
      return [answer.status, answer.body["error"]?.["code"]];
    };
    const { accessToken } = await register("user@example.com");
    expect(await statusOf(path)).toEqual([401, "unauthorized"]);
    expect(await statusOf(path, accessToken)).toEqual([403, "forbidden"]);
    for (const query of ["limit=0", "limit=1001", "limit=x", "limit=", "cursor=x", "cursor=-1", "cursor=1e3"])
      expect([query, await statusOf(`${path}?${query}`, admin)]).toEqual([query, [400, "bad_request"]]);
    for (const id of ["x", `rec_${"0".repeat(36)}`, crypto.randomUUID()])
      expect(await statusOf(`/api/posts/${id}/history`, admin)).toEqual([404, "not_found"]);
    expect(await statusOf(`/api/nothing/${body.id}/history`, admin)).toEqual([404, "not_found"]);
    expect(await statusOf(`${path}?cursor=1`, admin)).toEqual([200, undefined]);
    expect((await request("POST", path, { token: admin })).status).toBe(405);
  });
});

describe("what a caller may not read stays hidden", () => {
  /** A service with a definition of posts, a user with posts, and an admin. */
  async function world(definition: object) {
    const users = { name: "users", fields: [{ name: "nick", type: "string" }], permissions: { read: "owner" } };
    const fields = [
      { name: "title", type: "string" },
      { name: "state", type: "string" },
      { name: "secret", type: "string", permissions: { read: "admin" } },
      { name: "draft", type: "string", permissions: { read: 'state = "open"', update: "public" } },
    ];
    const base = { name: "posts", fields, permissions: everybody };
    const service = await openApi({ collections: [users, { ...base, ...definition }] });
    const [ann, bob] = [await service.register("ann@example.com"), await service.register("bob@example.com")];
    const token = await service.admin();
    const save = async (body: object, id: string | null = null, by: string = token): Promise<string> => {
      const path = id === null ? "/api/posts" : `/api/posts/${id}`;
      const answer = await service.request<StoredRecord>(id === null ? "POST" : "PUT", path, { body, token: by });
      expect([200, 201]).toContain(answer.status);
      return answer.body.id;
    };
    const see = async (id: string, by: string | null): Promise<HistoryEntry[] | number> => {
      const path = `/api/posts/${id}/history`;
      const { status, body } = await service.request<RecordHistory>("GET", path, by === null ? {} : { token: by });
      return status === 200 ? body.items : status;
    };
    return { ...service, ann, bob, token, save, see };
  }

  test("fields, in the state before and in the state after; an update of hidden fields alone is no entry", async () => {
    const { ann, token, save, see } = await world({ history: { read: "authenticated" } });
    const id = await save({ title: "a", state: "open", secret: "value-s1", draft: "value-d1" });
    await save({ secret: "value-s2" }, id);
    await save({ title: "b", state: "closed", draft: "value-d2", secret: "value-s3" }, id);
    await save({ draft: "value-d3" }, id);
    await save({ title: "c" }, id, ann.accessToken);
    const seen = await see(id, ann.accessToken);
    expect(JSON.stringify(seen)).not.toMatch(/value-(?:s1|s2|s3|d2|d3)/);
    expect((seen as HistoryEntry[]).map(({ type, changes }) => [type, Object.keys(changes)])).toEqual([
      ["updated", ["title"]],
      ["updated", ["title", "state"]],
      ["created", ["title", "state", "draft"]],
    ]);
    expect((await see(id, token)) as HistoryEntry[]).toHaveLength(5);
    expect(await see(id, null)).toBe(401);
  });

  test("states that the read rule, or the rule of the history, does not allow", async () => {
    const permissions = { ...everybody, read: 'state != "private"' };
    const { ann, token, save, see } = await world({ permissions, history: { read: 'title != "hush"' } });
    const id = await save({ title: "private title", state: "private" });
    await save({ title: "one", state: "open" }, id);
    await save({ title: "two" }, id);
    await save({ title: "hush" }, id);
    await save({ title: "three" }, id);
    await save({ title: "four" }, id);
    const titles = ((await see(id, ann.accessToken)) as HistoryEntry[]).map(({ changes }) => changes["title"]);
    expect(titles).toEqual([
      { before: "three", after: "four" },
      { before: "one", after: "two" },
    ]);
    await save({ state: "private" }, id);
    expect(await see(id, ann.accessToken)).toBe(404);
    expect((await see(id, token)) as HistoryEntry[]).toHaveLength(7);
  });

  test("large records, whose events have the changes alone, by the state that the later changes tell", async () => {
    const permissions = { ...everybody, read: 'state != "private"' };
    const { ann, save, see, request } = await world({
      permissions,
      fields: [
        { name: "title", type: "string" },
        { name: "state", type: "string" },
        { name: "body", type: "text" },
      ],
      history: { read: "authenticated" },
    });
    const id = await save({ title: "0", state: "private", body: "x".repeat(10_000) });
    for (let n = 1; n < 10; n++) await save({ title: String(n) }, id);
    await save({ state: "open" }, id);
    for (let n = 10; n < 20; n++) await save({ title: String(n) }, id);
    const wanted = Array.from({ length: 10 }, (_, n) => ({ title: { before: String(18 - n), after: String(19 - n) } }));
    wanted[9] = { title: { before: "9", after: "10" } };
    expect(((await see(id, ann.accessToken)) as HistoryEntry[]).map(({ changes }) => changes as object)).toEqual(
      wanted,
    );
    let cursor = "";
    const paged: object[] = [];
    do {
      const path = `/api/posts/${id}/history?limit=3${cursor}`;
      const { body } = await request<RecordHistory>("GET", path, { token: ann.accessToken });
      paged.push(...body.items.map(({ changes }) => changes));
      cursor = body.nextCursor === null ? "" : `&cursor=${body.nextCursor}`;
    } while (cursor !== "");
    expect(paged).toEqual(wanted);
  });

  test("users whom the caller may not read, and the names of functions", async () => {
    const { ann, bob, token, save, see } = await world({ history: { read: "authenticated" } });
    const id = await save({ title: "of ann" }, null, ann.accessToken);
    await save({ title: "of bob" }, id, bob.accessToken);
    const by = async (who: string): Promise<unknown[]> =>
      ((await see(id, who)) as HistoryEntry[]).map((each) => each.by);
    expect(await by(ann.accessToken)).toEqual([null, { id: ann.user.id, email: "ann@example.com" }]);
    expect(await by(bob.accessToken)).toEqual([{ id: bob.user.id, email: "bob@example.com" }, null]);
    expect(await by(token)).toEqual([
      { id: bob.user.id, email: "bob@example.com" },
      { id: ann.user.id, email: "ann@example.com" },
    ]);
  });

  test("a value of a dropped field, also when another field takes the name", async () => {
    const { ann, token, save, see, request } = await world({ history: { read: "authenticated" } });
    const id = await save({ title: "a", secret: "hush" });
    const put = async (fields: object[]): Promise<void> => {
      expect((await request("PUT", "/api/admin/collections/posts", { body: { fields }, token })).status).toBe(200);
    };
    await put([{ name: "title", type: "string" }]);
    await put([
      { name: "title", type: "string" },
      { name: "secret", type: "string", renamedFrom: null },
    ]);
    await save({ title: "b", secret: "open" }, id);
    const seen = (await see(id, ann.accessToken)) as HistoryEntry[];
    expect(seen.map(({ changes }) => changes as object)).toEqual([
      { title: { before: "a", after: "b" }, secret: { before: null, after: "open" } },
    ]);
    expect(JSON.stringify(await see(id, token))).toContain("hush");
  });

  test("an API key needs the scope", async () => {
    const { token, save, request } = await world({ history: { read: "public" } });
    const id = await save({ title: "a" });
    const keyOf = async (scopes: string[]): Promise<string> =>
      (await request("POST", "/api/auth/keys", { token, body: { name: "k", scopes } })).body[
        "key"
      ] as unknown as string;
    const statusOf = async (key: string): Promise<number> =>
      (await request("GET", `/api/posts/${id}/history`, { token: key })).status;
    expect(await statusOf(await keyOf(["posts:read"]))).toBe(200);
    expect(await statusOf(await keyOf(["files:read"]))).toBe(403);
    const erase = await request("DELETE", `/api/posts/${id}/history`, { token: await keyOf(["posts:write"]) });
    expect(erase.status).toBe(403);
  });
});

describe("values that are gone", () => {
  test("a file that is gone is named", async () => {
    const head = '--x\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\nhello\r\n--x--\r\n';
    const headers = { "Content-Type": "multipart/form-data; boundary=x" };
    const upload = await request("POST", "/api/storage/upload", { token: admin, body: head, headers });
    const photo = String(upload.body["id"]);
    const { body } = await request<StoredRecord>("POST", "/api/posts", { body: { photo }, token: admin });
    await request("PUT", `/api/posts/${body.id}`, { body: { photo: null }, token: admin });
    expect((await history(`posts/${body.id}`)).items.map(({ changes }) => changes["photo"])).toEqual([
      { before: photo, after: null },
      { before: null, after: photo },
    ]);
    expect((await request("DELETE", `/api/storage/${photo}`, { token: admin })).status).toBe(204);
    expect((await history(`posts/${body.id}`)).items.map(({ changes }) => changes["photo"])).toEqual([
      { before: photo, after: null, gone: [photo] },
      { before: null, after: photo, gone: [photo] },
    ]);
  });

  test("DELETE of a history erases the values, is in the audit, and leaves the entries and other records", async () => {
    const id = await create({ title: "erase me", body: "long words ".repeat(1_000) });
    await request("PUT", `/api/posts/${id}`, { body: { title: "erase me, too" }, token: admin });
    const other = await create({ title: "another", meta: { id } });
    const user = await register("eraser@example.com");
    for (const token of [undefined, user.accessToken])
      expect((await request("DELETE", `/api/posts/${id}/history`, { ...(token && { token }) })).status).toBeOneOf([
        401, 403,
      ]);
    expect((await request("DELETE", `/api/posts/rec_${"0".repeat(36)}/history`, { token: admin })).status).toBe(404);
    expect((await request("DELETE", `/api/posts/${id}/history`, { token: admin })).status).toBe(204);
    const { items } = await history(`posts/${id}`);
    expect(items.map(({ type, changes, erased }) => ({ type, changes, erased }))).toEqual([
      { type: "updated", changes: {}, erased: true },
      { type: "created", changes: {}, erased: true },
    ]);
    expect((await history(`posts/${other}`)).items[0]?.changes["title"]).toEqual({ before: null, after: "another" });
    const log = JSON.stringify(api.service.events.read(0, 100_000).map((event) => [event.payload, event.basis]));
    expect(log).not.toContain("erase me");
    expect(log).not.toContain("long words");
    const audit = await request("GET", "/api/admin/events?type=admin.history.erased", { token: admin });
    expect(audit.body["items"]).toEqual([
      expect.objectContaining({
        payload: expect.objectContaining({ target: id, after: { collection: "posts", events: 2 } }),
      }),
    ] as never);
    // The record goes on, with a history of the changes since.
    await request("PUT", `/api/posts/${id}`, { body: { points: 3 }, token: admin });
    expect((await history(`posts/${id}`, "?limit=1")).items[0]?.changes).toEqual({
      points: { before: null, after: 3 },
    });
  });

  test("the deletion of an account erases the values of the record of the user alone", async () => {
    const users = { name: "users", fields: [{ name: "nick", type: "string" }], permissions: { read: "public" } };
    const service = await openApi({ collections: [users, posts] });
    const [ann, bob] = [await service.register("ann@example.com"), await service.register("bob@example.com")];
    const change = (path: string, body: object, token: string, method = "PUT") =>
      service.request<StoredRecord>(method, path, { body, token });
    for (const { user, accessToken } of [ann, bob])
      await change(`/api/users/${user.id}`, { nick: `nick of ${user.email}` }, accessToken);
    const post = (await change("/api/posts", { title: "post of ann" }, ann.accessToken, "POST")).body.id;
    const password = { password: "correct horse" };
    const gone = await service.request("DELETE", "/api/auth/me", { token: ann.accessToken, body: password });
    expect([gone.status, gone.body]).toEqual([204, expect.anything()]);
    const token = await service.admin();
    const see = async (path: string) =>
      (await service.request<RecordHistory>("GET", `/api/${path}/history`, { token })).body.items;
    const entries = await see(`users/${ann.user.id}`);
    expect(entries.map(({ type, changes, erased }) => [type, changes, erased])).toEqual([
      ["deleted", {}, true],
      ["updated", {}, true],
      ["created", {}, true],
    ]);
    const log = JSON.stringify(service.service.events.read(0, 100_000).map((event) => [event.payload, event.basis]));
    expect(log).not.toContain("nick of ann");
    expect(log).not.toContain("ann@example.com");
    expect((await see(`users/${bob.user.id}`))[0]?.changes).toEqual({
      nick: { before: null, after: "nick of bob@example.com" },
    });
    expect((await see(`posts/${post}`)).map(({ by, changes }) => [by?.id, changes["title"]])).toEqual([
      [ann.user.id, { before: null, after: "post of ann" }],
    ]);
  });

  test("entries of events of a version without values before say so", async () => {
    const id = await create({ title: "old", points: 1 });
    await request("PUT", `/api/posts/${id}`, { body: { title: "new" }, token: admin });
    await request("DELETE", `/api/posts/${id}`, { token: admin });
    await api.service.database.transact((tx) => tx.run("UPDATE _events SET basis = NULL, cause = NULL"));
    const { items } = await history(`posts/${id}`);
    expect(items.map(({ type, partial, cause }) => [type, partial, cause])).toEqual([
      ["deleted", true, null],
      ["updated", true, null],
      ["created", undefined, null],
    ]);
    expect(items[0]?.changes).toEqual({});
    expect(items[1]?.changes["title"]).toEqual({ after: "new" });
    expect(items[2]?.changes["title"]).toEqual({ before: null, after: "old" });
  });

  test("entries older than keep do not show, and a definition without a good keep is refused", async () => {
    const kept = { ...posts, name: "kept", history: { read: "public", keep: "90d" } };
    const service = await openApi({ collections: [kept] });
    const { body } = await service.request<StoredRecord>("POST", "/api/kept", { body: { title: "a" } });
    await service.request("PUT", `/api/kept/${body.id}`, { body: { title: "b" } });
    const token = await service.admin();
    const old = 91 * 86_400_000;
    await service.service.database.transact((tx) =>
      tx.run("UPDATE _events SET at = at - ? WHERE type = 'kept.created'", old),
    );
    const { items, nextCursor } = (
      await service.request<RecordHistory>("GET", `/api/kept/${body.id}/history`, { token })
    ).body;
    expect([items.map(({ type }) => type), nextCursor]).toEqual([["updated"], null]);
    const put = async (history: unknown): Promise<unknown[]> => {
      const answer = await service.request("PUT", "/api/admin/collections/kept", { token, body: { history } });
      return [answer.status, answer.body["error"]?.["message"]];
    };
    for (const [history, problem] of [
      [{ keep: "90d" }, 'history: "read" is required'],
      [{ read: "public", keep: "soon" }, 'history: "keep" must be'],
      [{ read: "public", keep: 5 }, 'history: "keep" must be'],
      [{ read: "nothing =" }, "nothing"],
      [{ read: "gone = 1" }, "gone"],
      [{ read: "public", write: "admin" }, 'unknown operation "write"'],
      ["public", "must be an object"],
    ])
      expect([history, ...(await put(history))]).toEqual([history, 400, expect.stringContaining(String(problem))]);
    expect(await put({ read: "title = 'b'" })).toEqual([200, undefined]);
    const fields = [{ name: "name", type: "string", renamedFrom: "title" }];
    const renamed = await service.request("PUT", "/api/admin/collections/kept", { token, body: { fields } });
    // The rule follows the name of the field; a field that the rule names cannot go.
    expect(renamed.body["history"] ?? renamed.body["definition"]?.["history"]).toEqual({ read: "name = 'b'" } as never);
    const others = [{ name: "other", type: "string", renamedFrom: null }];
    expect(
      (await service.request("PUT", "/api/admin/collections/kept", { token, body: { fields: others } })).status,
    ).toBe(400);
    expect(await put(null)).toEqual([200, undefined]);
    expect((await service.request("GET", `/api/kept/${body.id}/history`)).status).toBe(401);
  });
});
