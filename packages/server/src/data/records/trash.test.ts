/** The trash: a model of deletions and restores, cascades, rights, unique values, renames, retention, and the refusals. */
import { expect, test } from "bun:test";
import type { JsonValue, StoredRecord } from "@socle/protocol";
import { makeKey } from "../../../test/keys.ts";
import { openApi } from "../../../test/kit.ts";
import { randomNumbers, randomSeed } from "../../../test/random.ts";

interface TrashPage {
  readonly items: readonly StoredRecord[];
  readonly deleted: Readonly<Record<string, { at: string; until: string }>>;
  readonly nextCursor: string | null;
}

const everybody = { read: "public", create: "public", update: "public", delete: "public" } as const;
const notes = {
  name: "notes",
  trash: "30d",
  fields: [
    { name: "title", type: "string", unique: true },
    { name: "number", type: "integer", sequence: true },
    { name: "tags", type: "string", multiple: true },
    { name: "meta", type: "json" },
    { name: "parent", type: "relation", collection: "notes", onDelete: "cascade" },
    { name: "about", type: "relation", collection: "notes", onDelete: "clear" },
    { name: "others", type: "relation", collection: "notes", multiple: true, onDelete: "clear" },
  ],
  search: ["title"],
  permissions: everybody,
};
const own = {
  name: "own",
  trash: "1d",
  fields: [
    { name: "user", type: "relation", collection: "users", owner: true, onDelete: "cascade" },
    { name: "text", type: "string" },
    { name: "secret", type: "string", permissions: { read: "admin" } },
  ],
  permissions: { read: "authenticated", create: "authenticated", update: "owner", delete: "owner" },
};
const plain = { name: "plain", fields: [{ name: "text", type: "string" }], permissions: everybody };
const api = await openApi({ collections: [notes, own, plain], settings: { SERVICE_LIMITS_TRASH: "200" } });
const { request, register, service } = api;
const admin = await api.admin();

const create = async (body: object, token = admin, collection = "notes"): Promise<StoredRecord> => {
  const answer = await request<StoredRecord>("POST", `/api/${collection}`, { body, token });
  expect([answer.status, JSON.stringify(answer.body).slice(0, 200)]).toEqual([201, expect.anything()]);
  return answer.body;
};
const remove = async (id: string, token = admin, collection = "notes"): Promise<number> =>
  (await request("DELETE", `/api/${collection}/${id}`, { token })).status;
const restore = (id: string, token: string | undefined = admin, collection = "notes") =>
  request<StoredRecord & { error?: { message: string; details?: { field: string }[] } }>(
    "POST",
    `/api/${collection}/${id}/restore`,
    token === undefined ? {} : { token },
  );
const page = async (query = "", token = admin, collection = "notes"): Promise<TrashPage> => {
  const answer = await request<TrashPage>("GET", `/api/${collection}?trash=only${query}`, { token });
  expect([answer.status, JSON.stringify(answer.body).slice(0, 200)]).toEqual([200, expect.anything()]);
  return answer.body;
};
const emptied = () => request("DELETE", "/api/admin/collections/notes/trash", { token: admin });
const idsOf = ({ items }: { items: readonly StoredRecord[] }): string[] => items.map(({ id }) => id);

test("a deleted record is in the trash alone, and comes back with id, times, owner, number and values", async () => {
  const made = await create({ title: "one word", tags: ["a", "b"], meta: { deep: [1, null] } });
  expect(await remove(made.id)).toBe(204);
  expect((await request("GET", `/api/notes/${made.id}`, { token: admin })).status).toBe(404);
  const hidden = await page();
  expect(hidden.items).toEqual([made]);
  const { at, until } = hidden.deleted[made.id] ?? { at: "", until: "" };
  expect(Date.parse(until) - Date.parse(at)).toBe(30 * 86_400_000);
  expect((await request<{ items: unknown[] }>("GET", "/api/notes?search=word", { token: admin })).body.items).toEqual(
    [],
  );
  const before = service.events.committedSeq;
  const answer = await restore(made.id);
  expect(answer.status).toBe(200);
  expect(answer.body).toEqual({ ...made, updatedAt: answer.body.updatedAt });
  expect(answer.body.updatedAt > made.updatedAt).toBe(true);
  expect(answer.headers.get("etag")).toContain(answer.body.updatedAt);
  const event = service.events.at(before + 1);
  expect([event?.type, event?.subject, event?.actor]).toEqual([
    "notes.created",
    made.id,
    expect.stringMatching(/^usr_/),
  ]);
  expect((await page()).items).toEqual([]);
  expect((await restore(made.id)).status).toBe(404);
  const found = await request<{ items: StoredRecord[] }>("GET", "/api/notes?search=word", { token: admin });
  expect(idsOf(found.body)).toEqual([made.id]);
  // The counter has gone on.
  expect((await create({ title: "two" }))["number"]).toBe(Number(made["number"]) + 1);
});

test("records that cascade deleted come back with the root, and a taken unique value restores no record", async () => {
  await emptied();
  const root = await create({ title: "root" });
  const child = await create({ title: "child", parent: root.id });
  const leaf = await create({ title: "leaf", parent: child.id });
  await remove(root.id);
  expect(idsOf(await page())).toEqual([root.id, child.id, leaf.id]);
  const other = await create({ title: "child" });
  const refused = await restore(root.id);
  expect(refused.status).toBe(409);
  expect(refused.body.error?.message).toContain(`The record ${child.id} of "notes" cannot be restored now`);
  expect(refused.body.error?.details).toEqual([expect.objectContaining({ field: "title", rule: "unique" })]);
  expect(idsOf(await page())).toEqual([root.id, child.id, leaf.id]);
  expect((await request("GET", `/api/notes/${root.id}`, { token: admin })).status).toBe(404);
  await request("PUT", `/api/notes/${other.id}`, { token: admin, body: { title: "free" } });
  expect((await restore(root.id)).status).toBe(200);
  for (const { id } of [root, child, leaf])
    expect((await request("GET", `/api/notes/${id}`, { token: admin })).status).toBe(200);
  expect(idsOf(await page())).toEqual([]);
  // The leaf points to a record that is gone.
  await remove(root.id);
  const alone = await restore(leaf.id);
  expect([alone.status, alone.body.error?.message]).toEqual([
    409,
    expect.stringContaining("names a record that is gone"),
  ]);
  expect((await restore(root.id)).status).toBe(200);
});

test("the records of a ring of relations come back together", async () => {
  await emptied();
  const alone = await create({ title: "own parent" });
  const [a, b] = [await create({ title: "ring a" }), await create({ title: "ring b" })];
  for (const [id, parent] of [
    [alone.id, alone.id],
    [a.id, b.id],
    [b.id, a.id],
  ])
    await request("PUT", `/api/notes/${id}`, { token: admin, body: { parent } });
  for (const id of [alone.id, a.id]) {
    expect(await remove(id)).toBe(204);
    expect((await restore(id)).status).toBe(200);
  }
  const parentOf = async (id: string): Promise<unknown> =>
    (await request("GET", `/api/notes/${id}`, { token: admin })).body["parent"];
  expect([await parentOf(alone.id), await parentOf(a.id), await parentOf(b.id)]).toEqual([alone.id, b.id, a.id]);
  // A part of a ring alone would point to a record that is gone.
  await remove(a.id);
  expect((await request("DELETE", `/api/notes/${b.id}?trash=only`, { token: admin })).status).toBe(204);
  expect((await restore(a.id)).status).toBe(409);
});

test("a restored record loses deleted targets of clear, and keeps the other targets", async () => {
  const [kept, gone] = [await create({ title: "kept target" }), await create({ title: "gone target" })];
  const made = await create({ title: "pointing", about: gone.id, others: [gone.id, kept.id] });
  const own = await create({ title: "own target" });
  await request("PUT", `/api/notes/${own.id}`, { token: admin, body: { about: own.id } });
  for (const { id } of [made, own, gone]) await remove(id);
  expect((await restore(made.id)).body).toMatchObject({ about: null, others: [kept.id] });
  expect((await restore(own.id)).body).toMatchObject({ about: own.id });
});

test("the trash shows what the caller may read and delete; others learn nothing", async () => {
  const [ann, bob] = [await register("ann@example.com"), await register("bob@example.com")];
  const mine = await create({ text: "mine" }, ann.accessToken, "own");
  await request("PUT", `/api/own/${mine.id}`, { token: admin, body: { secret: "hush" } });
  expect(await remove(mine.id, ann.accessToken, "own")).toBe(204);
  expect(idsOf(await page("", ann.accessToken, "own"))).toEqual([mine.id]);
  expect(Object.keys((await page("", ann.accessToken, "own")).items[0] ?? {})).not.toContain("secret");
  expect((await page("", admin, "own")).items[0]?.["secret"]).toBe("hush");
  expect((await page("", bob.accessToken, "own")).items).toEqual([]);
  for (const id of [mine.id, "rec_none"]) {
    const answer = await restore(id, bob.accessToken, "own");
    expect([answer.status, answer.body.error?.message]).toEqual([404, `The trash of "own" has no record ${id}.`]);
  }
  expect((await request("DELETE", `/api/own/${mine.id}?trash=only`, { token: bob.accessToken })).status).toBe(404);
  expect((await request("GET", "/api/own?trash=only")).status).toBe(401);
  expect((await restore(mine.id, "", "own")).status).toBe(401);
  const back = await restore(mine.id, ann.accessToken, "own");
  expect(back.body).toMatchObject({ id: mine.id, user: mine["user"], text: "mine" });
  expect((await request<StoredRecord>("GET", `/api/own/${mine.id}`, { token: admin })).body["secret"]).toBe("hush");
});

test("an API key needs the scopes to read and to write for each request about the trash", async () => {
  const dan = await register("dan@example.com");
  const { id } = await create({ text: "of a key" }, dan.accessToken, "own");
  await remove(id, dan.accessToken, "own");
  const statuses = async (...scopes: string[]): Promise<number[]> => {
    const { key: token } = await makeKey(api, { token: dan.accessToken, scopes });
    const list = await request("GET", "/api/own?trash=only", { token });
    const back = await restore(id, token, "own");
    if (back.status === 200) await remove(id, token, "own");
    const gone = await request("DELETE", `/api/own/${id}?trash=only`, { token });
    return [list.status, back.status, gone.status];
  };
  expect(await statuses("own:read")).toEqual([403, 403, 403]);
  expect(await statuses("own:write")).toEqual([403, 403, 403]);
  expect(await statuses("own:read", "own:write")).toEqual([200, 200, 204]);
});

test("records that go with an account are in the trash for admins, and are not restored without the account", async () => {
  const eve = await register("eve@example.com");
  const { id } = await create({ text: "of an account" }, eve.accessToken, "own");
  const body = { password: "correct horse" };
  expect((await request("DELETE", "/api/auth/me", { token: eve.accessToken, body })).status).toBe(204);
  expect(idsOf(await page("", admin, "own"))).toContain(id);
  const other = await register("fay@example.com");
  expect((await page("", other.accessToken, "own")).items).toEqual([]);
  expect((await restore(id, admin, "own")).status).toBe(409);
});

test("a deleted record is removed for good by its id, and the trash by an admin; the history erases the values of the trash, too", async () => {
  await emptied();
  const [a, b, c] = [await create({ title: "a" }), await create({ title: "b" }), await create({ title: "c" })];
  for (const { id } of [a, b, c]) await remove(id);
  expect((await request("DELETE", `/api/notes/${a.id}?trash=only`, { token: admin })).status).toBe(204);
  expect((await restore(a.id)).status).toBe(404);
  expect((await request("DELETE", `/api/notes/${b.id}/history`, { token: admin })).status).toBe(204);
  expect((await restore(b.id)).status).toBe(404);
  const { accessToken } = await register("cem@example.com");
  const path = "/api/admin/collections/notes/trash";
  expect((await request("DELETE", path, { token: accessToken })).status).toBe(403);
  expect(idsOf(await page())).toEqual([c.id]);
  expect((await request("DELETE", path, { token: admin })).body as unknown).toEqual({ removed: 1 });
  expect((await page()).items).toEqual([]);
  expect((await request("DELETE", "/api/admin/collections/none/trash", { token: admin })).status).toBe(404);
});

test("the trash follows renames of the collection and of fields, and dropped fields", async () => {
  const definition = {
    name: "drafts",
    trash: "2d",
    fields: [
      { name: "a", type: "string" },
      { name: "b", type: "json" },
      { name: "c", type: "string" },
    ],
    permissions: everybody,
  };
  await request("POST", "/api/admin/collections", { token: admin, body: definition });
  const made = await create({ a: "first", b: { x: [true, 1.5] }, c: "gone" }, admin, "drafts");
  await remove(made.id, admin, "drafts");
  const changed = await request("PUT", "/api/admin/collections/drafts", {
    token: admin,
    body: {
      name: "papers",
      renamedFrom: "drafts",
      fields: [
        { name: "b", type: "string", renamedFrom: "a" },
        { name: "a", type: "json", renamedFrom: "b" },
        { name: "d", type: "string", default: "new", renamedFrom: null },
      ],
    },
  });
  expect([changed.status, JSON.stringify(changed.body).slice(0, 300)]).toEqual([200, expect.anything()]);
  expect(idsOf(await page("", admin, "papers"))).toEqual([made.id]);
  const back = await restore(made.id, admin, "papers");
  expect(back.body).toMatchObject({ id: made.id, b: "first", a: { x: [true, 1.5] }, d: "new" });
});

test("the trash follows renamed values, and fields turned multiple or single", async () => {
  const values = ["wip", "done"];
  const fields = [
    { name: "state", type: "string", values },
    { name: "states", type: "string", multiple: true, values },
    { name: "was", type: "string", values },
    { name: "many", type: "string", multiple: true },
  ];
  await request("POST", "/api/admin/collections", {
    token: admin,
    body: { name: "steps", trash: "2d", fields, permissions: everybody },
  });
  const first = { state: "wip", states: ["done", "wip"], was: "wip", many: ["it's"] };
  const bodies = [first, { state: null, states: [], was: null, many: [] }, { ...first, many: ["a", "b"] }];
  const ids: string[] = [];
  for (const body of bodies) ids.push((await create(body, admin, "steps")).id);
  for (const id of ids) await remove(id, admin, "steps");
  const now = [{ name: "doing", renamedFrom: "wip" }, "done"];
  const changed = await request("PUT", "/api/admin/collections/steps", {
    token: admin,
    body: {
      fields: [
        { name: "now", type: "string", values: now, renamedFrom: "state" },
        { name: "states", type: "string", multiple: true, values: now },
        { name: "was", type: "string", multiple: true, values: now },
        { name: "many", type: "string" },
      ],
    },
  });
  expect([changed.status, JSON.stringify(changed.body).slice(0, 300)]).toEqual([200, expect.anything()]);
  const back = [];
  for (const id of ids.slice(0, 2)) back.push((await restore(id, admin, "steps")).body);
  expect(back).toMatchObject([
    { now: "doing", states: ["done", "doing"], was: ["doing"], many: "it's" },
    { now: null, states: [], was: [], many: null },
  ]);
  // Two items are no single value: the record waits until the field is multiple again.
  expect((await restore(ids[2] ?? "", admin, "steps")).status).toBe(409);
  expect((await page("", admin, "steps")).items).toMatchObject([{ now: "doing", many: ["a", "b"] }]);
});

test("the trash keeps two records with the same id of two collections", async () => {
  await request("POST", "/api/admin/collections", { token: admin, body: { ...plain, name: "copies", trash: "1d" } });
  const { id } = await create({ title: "copied" });
  await remove(id);
  const line = `${JSON.stringify({ id, text: "copy" })}\n`;
  const headers = { "Content-Type": "application/x-ndjson" };
  await request("POST", "/api/copies/import", { token: admin, body: line, headers });
  expect(await remove(id, admin, "copies")).toBe(204);
  expect((await request("DELETE", `/api/copies/${id}?trash=only`, { token: admin })).status).toBe(204);
  expect((await restore(id)).body["title"]).toBe("copied");
});

test("a restore brings back the own cascade, and no cascade of a record with the same id in another, renamed collection", async () => {
  const post = async (path: string, body: object): Promise<number> =>
    (await request("POST", path, { token: admin, body })).status;
  const part = { name: "part", type: "relation", onDelete: "cascade" };
  const twins = { ...plain, name: "twins", trash: "1d" };
  const parts = {
    name: "parts",
    trash: "1d",
    fields: [
      { ...part, collection: "notes" },
      { ...part, name: "twin", collection: "twins" },
    ],
  };
  expect(await post("/api/admin/collections", twins)).toBe(201);
  expect(await post("/api/admin/collections", { ...parts, permissions: plain.permissions })).toBe(201);
  const { id } = await create({ title: "one of two" });
  const headers = { "Content-Type": "application/x-ndjson" };
  const line = `${JSON.stringify({ id, text: "twin" })}\n`;
  await request("POST", "/api/twins/import", { token: admin, body: line, headers });
  const ofNote = await create({ part: id }, admin, "parts");
  const ofTwin = await create({ twin: id }, admin, "parts");
  await remove(id);
  expect(await remove(id, admin, "twins")).toBe(204);
  const there = async (record: { id: string }): Promise<number> =>
    (await request("GET", `/api/parts/${record.id}`, { token: admin })).status;
  expect((await restore(id)).status).toBe(200);
  expect([await there(ofNote), await there(ofTwin)]).toEqual([200, 404]);
  const renamed = { ...twins, name: "doubles", renamedFrom: "twins" };
  expect((await request("PUT", "/api/admin/collections/twins", { token: admin, body: renamed })).status).toBe(200);
  expect((await restore(id, admin, "doubles")).status).toBe(200);
  expect(await there(ofTwin)).toBe(200);
});

test("the message of a refused restore names no hidden record", async () => {
  const hidden = {
    name: "hidden",
    trash: "1d",
    fields: [
      { name: "code", type: "string", unique: true },
      { name: "note", type: "relation", collection: "notes", onDelete: "cascade" },
    ],
    permissions: { read: "owner", create: "authenticated", update: "owner", delete: "owner" },
  };
  await request("POST", "/api/admin/collections", { token: admin, body: hidden });
  const [gil, hal] = [await register("gil@example.com"), await register("hal@example.com")];
  const note = await create({ title: "with a hidden record" }, gil.accessToken);
  const of = await create({ code: "taken", note: note.id }, hal.accessToken, "hidden");
  await remove(note.id, gil.accessToken);
  await create({ code: "taken" }, hal.accessToken, "hidden");
  const refused = await restore(note.id, gil.accessToken);
  expect([refused.status, refused.body.error]).toEqual([
    409,
    { code: "conflict", message: `A record that was deleted along with ${note.id} cannot be restored now.` },
  ] as never);
  expect((await restore(note.id)).body.error?.message).toContain(of.id);
});

test("records go for good when the time in the trash is over, also after the trash was taken from the definition; the oldest go beyond limits.trash", async () => {
  const ids: string[] = [];
  for (let n = 0; n < 205; n++) {
    const { id } = await create({ title: `many ${n}` });
    ids.push(id);
    await remove(id);
  }
  await service.records.trash.sweep();
  const kept = await page("&limit=1000");
  expect(idsOf(kept)).toEqual(ids.slice(5).reverse());
  const { body } = await request<{ definition: object }>("GET", "/api/admin/collections/notes", { token: admin });
  expect(body.definition).toMatchObject({ trash: "30d" });
  await request("PUT", "/api/admin/collections/notes", { token: admin, body: { trash: null } });
  expect((await request("GET", "/api/notes?trash=only", { token: admin })).status).toBe(400);
  const last = await create({ title: "final" });
  await remove(last.id);
  await request("PUT", "/api/admin/collections/notes", { token: admin, body: { trash: "60s" } });
  expect(idsOf(await page("&limit=1000"))).not.toContain(last.id);
  await service.database.transact((tx) => tx.run("UPDATE _trash SET endsAt = 1"));
  expect((await page()).items).toEqual([]);
  expect((await restore(ids.at(-1) ?? "")).status).toBe(404);
  await service.records.trash.sweep();
  expect(service.database.reader.get<{ n: number }>("SELECT count(*) AS n FROM _trash")?.n).toBe(0);
});

test("a read-only service removes records that are over, and an admin may empty the trash; nobody restores a record", async () => {
  const [old, young] = [await create({ title: "old" }), await create({ title: "young" })];
  for (const { id } of [old, young]) await remove(id);
  await service.database.transact((tx) => tx.run("UPDATE _trash SET endsAt = 1 WHERE id = ?", old.id));
  const set = (on: boolean) => request("PUT", "/api/admin/read-only", { token: admin, body: { on } });
  await set(true);
  await service.records.trash.sweep();
  const kept = service.database.reader.all<{ id: string }>("SELECT id FROM _trash");
  const restored = await restore(young.id);
  const removed = await emptied();
  await set(false);
  expect(kept).toEqual([{ id: young.id }]);
  expect(restored.status).toBe(503);
  expect([removed.status, removed.body as unknown]).toEqual([200, { removed: 1 }]);
});

test("a page of large records ends early, and the next page goes on", async () => {
  await emptied();
  const ids: string[] = [];
  for (let n = 0; n < 7; n++) {
    const { id } = await create({ title: `large ${n}`, meta: "x".repeat(900_000) });
    ids.unshift(id);
    await remove(id);
  }
  const first = await page();
  const second = await page(`&cursor=${first.nextCursor}`);
  expect(first.items.length).toBeLessThan(6);
  expect([...idsOf(first), ...idsOf(second)]).toEqual(ids);
  expect(second.nextCursor).toBeNull();
});

test("a wrong definition and wrong parameters are refused with the name and the allowed values", async () => {
  for (const [trash, text] of [
    ["soon", '"trash" must be a time like'],
    [true, '"trash" must be a time like'],
    ["5s", "at least 60s"],
  ] as const) {
    const answer = await request("POST", "/api/admin/collections", {
      token: admin,
      body: { ...plain, name: "x", trash },
    });
    expect([answer.status, JSON.stringify(answer.body)]).toEqual([
      400,
      expect.stringContaining(text.replaceAll('"', '\\"')),
    ]);
  }
  const users = await request("PUT", "/api/admin/collections/users", { token: admin, body: { trash: "1d" } });
  expect(users.status).toBe(400);
  for (const query of [
    "trash=all",
    "trash=",
    "trash=only&filter=id%20%3D%20null",
    "trash=only&limit=0",
    "trash=only&cursor=x",
  ])
    expect([query, (await request("GET", `/api/notes?${query}`, { token: admin })).status]).toEqual([query, 400]);
  const none = await request("GET", "/api/plain?trash=only", { token: admin });
  expect([none.status, JSON.stringify(none.body)]).toEqual([400, expect.stringContaining("has no trash")]);
});

test("random deletions and restores agree with a model; pages have each record once", async () => {
  const random = randomNumbers(randomSeed("trash"));
  const pick = <T>(from: readonly T[]): T | undefined => from[Math.floor(random() * from.length)];
  await emptied();
  const live = new Map<string, JsonValue>();
  const trashed: string[] = [];
  for (let step = 0; step < 150; step++) {
    const id = random() < 0.5 ? pick([...live.keys()]) : pick(trashed);
    if (id === undefined || random() < 0.3) {
      const made = await create({ title: `random ${step}` });
      live.set(made.id, made["title"] ?? null);
    } else if (live.has(id)) {
      await remove(id);
      trashed.push(id);
      live.delete(id);
    } else {
      const { status, body } = await restore(id);
      expect(status).toBe(200);
      trashed.splice(trashed.indexOf(id), 1);
      live.set(id, body["title"] ?? null);
    }
  }
  const seen: string[] = [];
  for (let cursor = ""; ; ) {
    const { items, nextCursor } = await page(`&limit=7${cursor}`);
    seen.push(...items.map(({ id }) => id));
    if (nextCursor === null) break;
    cursor = `&cursor=${nextCursor}`;
  }
  expect(seen).toEqual(trashed.toReversed());
  for (const [id, title] of live)
    expect((await request<StoredRecord>("GET", `/api/notes/${id}`, { token: admin })).body["title"]).toBe(title);
});
