/** Tests of upserts with hooks, and of upserts by the user's code: `db`, batches and transactions. */
import { expect, test } from "bun:test";
import { eventsSince } from "../../../test/kit.ts";
import { openScripts, type TestScripts } from "../../../test/scripts.ts";

const pages = {
  name: "pages",
  fields: [
    { name: "path", type: "string", unique: true, required: true },
    { name: "views", type: "integer" },
    { name: "last", type: "string" },
  ],
  permissions: { read: "public", create: "public", update: "public" },
};
const open = (files: Record<string, string>): Promise<TestScripts> => openScripts({ collections: [pages], files });
const view = (api: TestScripts, path: string, last = "x") =>
  api.request("PUT", "/api/pages?by=path", { body: { path, last, views: { $increment: 1 } } });
const stored = async (api: TestScripts): Promise<unknown[]> => {
  const { body } = await api.request<{ items: Record<string, unknown>[] }>("GET", "/api/pages?sort=path");
  return body.items.map(({ path, views, last }) => [path, views, last]);
};

test("the hooks of the operation that an upsert becomes are asked, and their values are written", async () => {
  const api = await open({
    "functions/pages/a.ts": `
      export const beforeCreate = ({ record }) => ({ last: "made with " + record.views });
      export const beforeUpdate = ({ record, previous }) => {
        if (record.last === "no") throw new Refusal("not this one", { status: 403 });
        return { last: previous.last + ", then " + record.views };
      };`,
  });
  expect((await view(api, "/")).status).toBe(201);
  expect((await view(api, "/")).status).toBe(200);
  expect((await view(api, "/", "no")).status).toBe(403);
  expect(await stored(api)).toEqual([["/", 2, "made with 1, then 2"]]);
});

test("upserts at once, with hooks that take their time, end with a single record and with each view", async () => {
  const api = await open({
    "functions/pages/a.ts": `
      const slow = async ({ record }) => { await Bun.sleep(Math.random() * 20); };
      export const beforeCreate = slow;
      export const beforeUpdate = slow;`,
  });
  const answers = await Promise.all(Array.from({ length: 6 }, () => view(api, "/")));
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 200, 200, 201]);
  expect(await stored(api)).toEqual([["/", 6, "x"]]);
});

test("a hook that changes the unique value lets no second record have the value that another has", async () => {
  const api = await open({
    "functions/pages/a.ts": "export const beforeCreate = ({ record }) => ({ path: record.path.toLowerCase() });",
  });
  expect((await view(api, "/a")).status).toBe(201);
  expect((await view(api, "/A")).status).toBe(400);
  expect(await stored(api)).toEqual([["/a", 1, "x"]]);
});

test("db, a batch and a transaction upsert, also records that others upsert meanwhile", async () => {
  const api = await open({
    "endpoints/run.ts": `
      export const access = "public";
      const views = { $increment: 1 };
      export const POST = async (request, { db }) => {
        const pages = db.collection("pages");
        const one = await pages.upsert({ path: "/one", views }, { by: "path" });
        const again = await pages.upsert({ path: "/one", views }, { by: "path", ...(request.url.endsWith("?alone") && { ifMatch: one }) });
        const [batched] = await db.batch([{ method: "upsert", collection: "pages", by: "path", body: { path: "/one", views } }]);
        const seen = await db.transaction(async (tx) => {
          await tx.collection("pages").upsert({ path: "/two", views }, { by: "path" });
          await tx.collection("pages").upsert({ path: "/two", views }, { by: "path" });
          return (await tx.collection("pages").list({ filter: 'path = "/two"' })).map(({ views }) => views);
        });
        const errors = [];
        for (const work of [
          () => pages.upsert({ path: "/one" }, { by: "last" }),
          () => pages.upsert({ path: "/one" }),
          () => pages.upsert({ views: 1 }, { by: "path" }),
          () => pages.upsert({ path: "/one", views: 0 }, { by: "path", ifMatch: one }),
          () => db.transaction((tx) => tx.collection("pages").upsert({ views: 1 }, { by: "path" })),
        ]) await work().catch((error) => errors.push(error.code));
        return Response.json({ views: [one.views, again.views, batched.views], same: one.id === again.id, seen, errors });
      };`,
  });
  const first = await api.request("POST", "/api/function/run?alone");
  expect(JSON.parse(new TextDecoder().decode(first.bytes))).toEqual({
    views: [1, 2, 3],
    same: true,
    seen: [2],
    errors: ["bad_request", "bad_request", "validation_error", "conflict", "validation_error"],
  } as never);
  const answers = await Promise.all(Array.from({ length: 4 }, () => api.request("POST", "/api/function/run")));
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  expect(await stored(api)).toEqual([
    ["/one", 15, null],
    ["/two", 10, null],
  ]);
  const types = (await eventsSince(api.service)).map(({ type }) => type).filter((type) => type.startsWith("pages."));
  expect(types.filter((type) => type === "pages.created")).toHaveLength(2);
});

test.each(["", "export const beforeUpdate = () => undefined;"])(
  "a transaction knows the versions of its own writes, by an upsert, too; with hooks: %p",
  async (hooks) => {
    const steps = {
      upsertLast: "await tx.pages.update(one.id, { views: 1 }); await upsert(one, { views: 2 });",
      upsertFirst: "await upsert(one, { views: 3 }); await tx.pages.update(one.id, { views: 4 }, { ifMatch: one });",
      twice: "await upsert(one, { views: 5 }); await tx.pages.get(one.id); await upsert(one, { views: 6 });",
      deleted: "await upsert(other, { views: 7 }); await tx.pages.delete(other.id, { ifMatch: other });",
      stale: "await tx.pages.update(one.id, { views: 8 }); await upsert(stale, { views: 8 });",
      staleUpdate:
        "await upsert(one, { views: 9 }); await tx.pages.update(stale.id, { views: 9 }, { ifMatch: stale });",
      noRecord: 'await tx.pages.upsert({ path: "/new", views: 10 }, { by: "path", ifMatch: one });',
      emptyId: 'await tx.pages.upsert({ path: "/new" }, { by: "path" }); await tx.pages.delete("", { ifMatch: one });',
    };
    const api = await open({
      "functions/pages/a.ts": hooks || "export const helper = 1;",
      "endpoints/run.ts": `
        export const access = "public";
        export const POST = async (request, { db }) => {
          const [one, other, stale] = await Promise.all(["/one", "/other", "/stale"].map((path) => db.pages.create({ path })));
          await db.pages.update(stale.id, { views: 0 });
          const outcomes = {};
          for (const [name, step] of Object.entries({ ${Object.entries(steps).map(([name, step]) => `${name}: async (tx, upsert) => { ${step} }`)} })) {
            const work = (tx) => step(tx, ({ path, ...version }, values) => tx.pages.upsert({ path, ...values }, { by: "path", ifMatch: version }));
            outcomes[name] = await db.transaction(work).then(() => "done", (error) => error.code);
            Object.assign(one, await db.pages.get(one.id));
          }
          return Response.json(outcomes);
        };`,
    });
    const { bytes } = await api.request("POST", "/api/function/run");
    expect(JSON.parse(new TextDecoder().decode(bytes))).toEqual({
      upsertLast: "done",
      upsertFirst: "done",
      twice: "done",
      deleted: "done",
      stale: "conflict",
      staleUpdate: "conflict",
      noRecord: "conflict",
      emptyId: "not_found",
    } as never);
    expect(await stored(api)).toEqual([
      ["/one", 6, null],
      ["/stale", 0, null],
    ]);
  },
);

test("a batch compares each version with the record as the operations before leave the record", async () => {
  const api = await open({});
  const one = (await view(api, "/one")).body;
  const ifMatch = `"${one["id"]}@${one["updatedAt"]}"`;
  const first = { method: "update", collection: "pages", id: one["id"], body: { views: 7 } };
  for (const second of [
    { ...first, ifMatch, body: { views: 8 } },
    { method: "upsert", collection: "pages", by: "path", ifMatch, body: { path: "/one", views: 8 } },
  ]) {
    const { status, body } = await api.request("POST", "/api/batch", { body: { operations: [first, second] } });
    expect([status, body["error"]?.["code"]]).toEqual([412, "conflict" as never]);
  }
  expect(await stored(api)).toEqual([["/one", 1, "x"]]);
});
