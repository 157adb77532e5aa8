import { describe, expect, spyOn, test } from "bun:test";
import { type Answer, migrate, openApi, setRole } from "../../../test/kit.ts";

const text = { name: "text", type: "string" };
const note = { name: "note", type: "relation", collection: "notes" };
const api = await openApi({
  collections: [
    { name: "notes", fields: [text] },
    { name: "replies", fields: [text, note] },
    { name: "members", fields: [text], permissions: { read: "authenticated" } },
    { name: "own", fields: [text, note], permissions: { read: "owner" } },
    {
      name: "shown",
      fields: [text, note],
      permissions: { read: "text = 'open' || @user.id = null", create: "authenticated" },
    },
    { name: "secret", fields: [text], permissions: { read: "admin" } },
    { name: "guests", fields: [text, { name: "by", type: "relation", collection: "users", owner: true }] },
  ],
});
const { request, service } = api;
const admin = await api.admin();
const [ann, bob] = [await api.register("ann@example.com"), await api.register("bob@example.com")];

const get = (path: string, token?: string, tag?: string): Promise<Answer> =>
  request("GET", path, {
    ...(token !== undefined && { token }),
    ...(tag !== undefined && { headers: { "If-None-Match": tag } }),
  });
const tagOf = (answer: Answer): string => answer.headers.get("etag") ?? "";
const add = async (collection: string, body: object, token = ann.accessToken): Promise<string> => {
  const answer = await request("POST", `/api/${collection}`, { body, token });
  expect(answer.status).toBe(201);
  return String(answer.body["id"]);
};

const first = await add("notes", { text: "first" });
await add("replies", { text: "reply", note: first });

describe("an unchanged list is a 304", () => {
  test.each([
    ["/api/notes", undefined],
    ["/api/notes?limit=1", undefined],
    ["/api/notes?filter=text='first'", undefined],
    ["/api/notes?limit=1", ann.accessToken],
    ["/api/members", ann.accessToken],
    ["/api/own?sort=text", ann.accessToken],
    ["/api/secret", admin],
    ["/api/guests?filter=by=@user.id", ann.accessToken],
    ["/api/notes?filter=createdAt<@now&fields=text", undefined],
    ["/api/guests?expand=by", ann.accessToken],
  ])("%s", async (path, token) => {
    const one = await get(path, token);
    expect(one.status).toBe(200);
    expect(tagOf(one)).toMatch(/^"[\w.-]+"$/);
    expect(one.headers.get("cache-control")).toBe(token === undefined ? "no-cache" : "private, no-cache");
    for (const tag of [tagOf(one), `W/${tagOf(one)}`, `"x", ${tagOf(one)}`, "*"]) {
      const two = await get(path, token, tag);
      expect([two.status, two.bytes.byteLength, tagOf(two)]).toEqual([304, 0, tagOf(one)]);
      expect(two.headers.get("content-type")).toBeNull();
      expect(two.headers.get("cache-control")).toBe(one.headers.get("cache-control"));
    }
    const three = await get(path, token, '"another"');
    expect([three.status, tagOf(three)]).toEqual([200, tagOf(one)]);
    expect(three.body).toEqual(one.body);
  });

  test("an error of a query is sent whatever tag the client has", async () => {
    for (const search of ["?cursor=x", "?filter=x", "?limit=0"])
      expect((await get(`/api/notes${search}`, undefined, "*")).status).toBe(400);
  });

  test("HEAD and GET have the same tag", async () => {
    const head = await request("HEAD", "/api/notes?limit=1");
    expect([head.status, tagOf(head)]).toEqual([200, tagOf(await get("/api/notes?limit=1"))]);
  });
});

describe("a change is visible at once, for every caller of the record", () => {
  const paths = [
    "/api/notes",
    "/api/notes?limit=5",
    "/api/notes?sort=text&count=exact",
    "/api/notes?expand=replies(note)",
  ];

  test.each(paths)("%s", async (path) => {
    const seen = new Set<string>();
    const look = async (): Promise<string> => {
      const answer = await get(path);
      // Twice, so that the second comes from memory.
      expect((await get(path)).body).toEqual(answer.body);
      seen.add(tagOf(answer));
      return JSON.stringify(answer.body);
    };
    const before = await look();
    const id = await add("notes", { text: "new" });
    const created = await look();
    expect(created).toContain(id);
    await request("PUT", `/api/notes/${id}`, { body: { text: "changed" } });
    expect(await look()).toContain('"changed"');
    await request("DELETE", `/api/notes/${id}`);
    expect(await look()).toBe(before);
    expect(seen.size).toBe(4);
  });

  test("also for users, which have no versions", async () => {
    await add("guests", { text: "by ann" });
    for (const search of ["?expand=by", "?filter=by.role = 'authenticated'"]) {
      const one = await get(`/api/guests${search}`, admin);
      expect((await get(`/api/guests${search}`, admin, tagOf(one))).status).toBe(304);
      await setRole(service, ann.user.id, "public");
      expect((await get(`/api/guests${search}`, admin, tagOf(one))).status).toBe(200);
      await setRole(service, ann.user.id, "authenticated");
    }
  });

  test("also for a record that the list only reaches", async () => {
    const path = "/api/replies?expand=note&filter=note.text ~ 'r'";
    const one = await get(path);
    await request("PUT", `/api/notes/${first}`, { body: { text: "renamed" } });
    const two = await get(path, undefined, tagOf(one));
    expect(two.status).toBe(200);
    expect(JSON.stringify(two.body)).toContain('"renamed"');
    expect((await get("/api/replies?limit=9", undefined, tagOf(await get("/api/replies?limit=9")))).status).toBe(304);
  });

  test("and an update without a change, or a refused update, changes no tag", async () => {
    const one = await get("/api/notes");
    await request("PUT", `/api/notes/${first}`, { body: {} });
    await request("PUT", `/api/notes/${first}`, { body: { text: 7 } });
    await request("POST", "/api/notes", { body: { nope: 1 } });
    expect((await get("/api/notes", undefined, tagOf(one))).status).toBe(304);
  });

  test("a list that is read between a change and its commit is not cached as the later list", async () => {
    const path = "/api/notes?limit=1&fields=text";
    const between = await service.database.transactLong("test", async (tx) => {
      service.records.createIn(tx, null, { collection: "notes", body: { text: "not yet" } });
      return JSON.stringify((await get(path)).body);
    });
    expect(between).not.toContain("not yet");
    expect(JSON.stringify((await get(path)).body)).toContain("not yet");
  });

  test("under writes from many sides, no list misses a write that was acknowledged before the request", async () => {
    const acknowledged = new Set<string>();
    let misses = 0;
    const write = async (): Promise<void> => {
      for (let n = 0; n < 40; n++) {
        acknowledged.add(await add("notes", { text: "w" }));
        if (n % 5 === 0) await Bun.sleep(0);
      }
    };
    const read = async (path: string): Promise<void> => {
      for (let n = 0; n < 60; n++) {
        const known = [...acknowledged];
        const listed = JSON.stringify((await get(path)).body);
        if (!known.every((id) => listed.includes(id))) misses += 1;
        await Bun.sleep(0);
      }
    };
    await Promise.all([
      write(),
      write(),
      write(),
      read("/api/notes"),
      read("/api/notes?limit=1000"),
      read("/api/notes?sort=text&fields=id"),
    ]);
    expect(acknowledged.size).toBe(120);
    expect(misses).toBe(0);
  });
});

describe("no caller gets the response of another", () => {
  test("lists of owners", async () => {
    await add("own", { text: "of ann" }, ann.accessToken);
    await add("own", { text: "of bob" }, bob.accessToken);
    for (const search of ["", "?limit=5", "?sort=text", "?filter=text != null", "?count=exact"]) {
      const path = `/api/own${search}`;
      for (let round = 0; round < 2; round++)
        for (const [token, own, other] of [
          [ann.accessToken, "of ann", "of bob"],
          [bob.accessToken, "of bob", "of ann"],
        ] as const) {
          const answer = await get(path, token);
          expect(JSON.stringify(answer.body)).toContain(own);
          expect(JSON.stringify(answer.body)).not.toContain(other);
        }
      const all = await get(path, admin);
      expect<unknown>(all.body["items"]).toHaveLength(2);
      const tag = tagOf(await get(path, ann.accessToken));
      expect((await get(path, bob.accessToken, tag)).status).toBe(200);
      expect((await get(path, admin, tag)).status).toBe(200);
      expect((await get(path, undefined, tag)).status).toBe(401);
    }
  });

  test("changes of other users' own records change no tag", async () => {
    const path = "/api/own?limit=50";
    const [one, whole] = [await get(path, ann.accessToken), await get("/api/own", ann.accessToken)];
    const reached = "/api/notes?filter=text != null&expand=own(note)";
    const beside = await get(reached, ann.accessToken);
    const id = await add("own", { text: "another of bob", note: first }, bob.accessToken);
    await request("PUT", `/api/own/${id}`, { body: { text: "changed" }, token: bob.accessToken });
    await request("DELETE", `/api/own/${id}`, { token: bob.accessToken });
    expect((await get(path, ann.accessToken, tagOf(one))).status).toBe(304);
    expect((await get("/api/own", ann.accessToken, tagOf(whole))).status).toBe(304);
    expect((await get(reached, ann.accessToken, tagOf(beside))).status).toBe(304);
    await add("own", { text: "another of ann" }, ann.accessToken);
    expect((await get(path, ann.accessToken, tagOf(one))).status).toBe(200);
    expect((await get("/api/own", ann.accessToken, tagOf(whole))).status).toBe(200);
  });

  test("hidden records of a rule by expression change no tag, also records that a list only reaches", async () => {
    await add("shown", { text: "open", note: first });
    const paths = ["", "?limit=5", "?sort=text", "?filter=text != null", "?count=exact", "?fields=id"].map(
      (search) => `/api/shown${search}`,
    );
    paths.push("/api/notes?filter=text != null&expand=shown(note)", "/api/notes?filter=shown(note).text = 'open'");
    const before = await Promise.all(paths.map((path) => get(path, ann.accessToken)));
    expect(before.every((answer) => answer.status === 200 && tagOf(answer) !== "")).toBe(true);
    const id = await add("shown", { text: "closed", note: first }, bob.accessToken);
    await request("PUT", `/api/shown/${id}`, { body: { text: "still closed" }, token: admin });
    for (const [i, path] of paths.entries()) {
      const tag = tagOf(before[i] as Answer);
      expect([path, (await get(path, ann.accessToken, tag)).status]).toEqual([path, 304]);
    }
    await add("shown", { text: "open", note: first });
    expect((await get("/api/shown", ann.accessToken, tagOf(before[0] as Answer))).status).toBe(200);
  });

  test("a cursor in a cached response is the caller's own", async () => {
    const path = "/api/notes?limit=1";
    for (const token of [undefined, ann.accessToken, undefined, bob.accessToken, ann.accessToken]) {
      const { body } = await get(path, token);
      expect((await get(`${path}&cursor=${String(body["nextCursor"])}`, token)).status).toBe(200);
    }
  });

  test("a role that changes takes effect at once", async () => {
    // The user of the very last change gets the same version in the own list and in the whole list.
    await add("own", { text: "last of bob" }, bob.accessToken);
    for (const path of ["/api/own", "/api/own?limit=9"]) {
      const own = await get(path, bob.accessToken);
      await setRole(service, bob.user.id, "admin");
      const all = await get(path, bob.accessToken, tagOf(own));
      await setRole(service, bob.user.id, "authenticated");
      expect(all.status).toBe(200);
      expect((await get(path, bob.accessToken, tagOf(all))).status).toBe(200);
    }
    const before = await get("/api/own?limit=9", bob.accessToken);
    await setRole(service, bob.user.id, "admin");
    const after = await get("/api/own?limit=9", bob.accessToken, tagOf(before));
    expect(after.status).toBe(200);
    expect(JSON.stringify(after.body)).toContain("of ann");
    await setRole(service, bob.user.id, "authenticated");
    expect(JSON.stringify((await get("/api/own?limit=9", bob.accessToken)).body)).not.toContain("of ann");
  });
});

test("a definition that changes takes effect at once, also on cached responses", async () => {
  const paths = ["/api/notes", "/api/notes?limit=5", "/api/replies?expand=note"];
  for (const path of paths) await get(path);
  const shown = await get("/api/replies?expand=note");
  const define = (fields: object[], permissions: object | null): Promise<Answer> =>
    request("PUT", "/api/admin/collections/notes", { token: admin, body: { fields, permissions } });
  expect((await define([text], { read: "admin" })).status).toBe(200);
  expect((await get("/api/notes")).status).toBe(401);
  expect((await get("/api/notes?limit=5", ann.accessToken)).status).toBe(403);
  expect((await get("/api/replies?filter=note.text != null")).status).toBe(401);
  const hidden = await get("/api/replies?expand=note", undefined, tagOf(shown));
  expect(hidden.status).toBe(200);
  expect(JSON.stringify(hidden.body)).toContain('"expand":{"note":null}');
  expect((await define([{ name: "words", type: "string", renamedFrom: "text" }], null)).status).toBe(200);
  for (const path of paths) expect(JSON.stringify((await get(path)).body)).not.toContain('"text":"renamed"');
  expect(JSON.stringify((await get("/api/notes?filter=words = 'renamed'")).body)).toContain('"words":"renamed"');
  expect((await get("/api/notes?filter=text = 'renamed'")).status).toBe(400);
  // Dropped and made again: another collection, with nothing of the old collection.
  const dropped = await get("/api/guests?limit=3");
  await migrate(service, { define: [], drop: ["guests"] });
  expect((await get("/api/guests?limit=3")).status).toBe(404);
  await request("POST", "/api/admin/collections", { token: admin, body: { name: "guests", fields: [text] } });
  expect((await get("/api/guests?limit=3", undefined, tagOf(dropped))).status).toBe(200);
});

test("a repeated list without a change in between comes from memory, for every caller", async () => {
  const list = spyOn(service.queries, "whole");
  const page = spyOn(service.queries, "page");
  const reads = async (path: string, token?: string): Promise<number> => {
    const before = list.mock.calls.length + page.mock.calls.length;
    expect((await get(path, token)).status).toBe(200);
    return list.mock.calls.length + page.mock.calls.length - before;
  };
  for (let n = 0; n < 70; n++) await add("notes", { words: "many" });
  for (const path of ["/api/notes", "/api/notes?limit=3", "/api/notes?sort=words&count=exact"]) {
    expect([await reads(path), await reads(path), await reads(path)]).toEqual([1, 0, 0]);
    await add("notes", { words: "another" });
    expect([await reads(path), await reads(path)]).toEqual([1, 0]);
  }
  await reads("/api/notes");
  expect([await reads("/api/notes", ann.accessToken), await reads("/api/notes?limit=3", ann.accessToken)]).toEqual([
    0, 1,
  ]);
  list.mockRestore();
  page.mockRestore();
});

test("with cache.size 0 nothing is cached, and every request is served", async () => {
  const other = await openApi({
    collections: [{ name: "notes", fields: [text] }],
    settings: { SERVICE_CACHE_SIZE: "0" },
  });
  for (let n = 0; n < 70; n++) await other.request("POST", "/api/notes", { body: { text: "x" } });
  for (const path of ["/api/notes", "/api/notes?limit=2"]) {
    const one = await other.request("GET", path);
    const two = await other.request("GET", path, { headers: { "If-None-Match": one.headers.get("etag") ?? "" } });
    expect([one.status, two.status]).toEqual([200, 304]);
    expect((await other.request("GET", path)).body).toEqual(one.body);
  }
});
