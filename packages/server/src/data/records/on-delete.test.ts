/** Relations with `onDelete`: refused deletions, deleted records, cleared fields, and the events of all. */
import { describe, expect, spyOn, test } from "bun:test";
import { type Answer, eventsSince, lastSeq, openApi } from "../../../test/kit.ts";
import { messageOf, openSchemaWorld } from "../../../test/schema-world.ts";
import { LoopTurns, stepsPerLook } from "../../base/kernel/index.ts";

const to = (name: string, collection: string, onDelete?: string, more: object = {}) => ({
  name,
  type: "relation",
  collection,
  ...(onDelete !== undefined && { onDelete }),
  ...more,
});
const name = { name: "name", type: "string" };
const api = await openApi({
  collections: [
    { name: "projects", fields: [name, to("main", "issues", "clear")] },
    { name: "issues", fields: [name, to("project", "projects", "cascade"), to("parent", "issues", "cascade")] },
    { name: "comments", fields: [name, to("issue", "issues", "cascade"), to("reply", "comments", "clear")] },
    { name: "bills", fields: [name, to("issue", "issues", "restrict"), to("project", "projects")] },
    {
      name: "secret_bills",
      fields: [{ ...to("issue", "issues", "restrict"), permissions: { read: "admin" } }],
      permissions: { read: "admin" },
    },
    {
      name: "own_bills",
      fields: [to("issue", "issues", "restrict"), to("by", "users", undefined, { owner: true })],
      permissions: { read: "owner" },
    },
    { name: "left", fields: [to("issue", "issues"), to("other", "left", "restrict")] },
    { name: "rings", fields: [name, to("next", "rings", "cascade"), to("guard", "rings", "restrict")] },
    {
      name: "owned",
      fields: [name, to("by", "users", "cascade", { owner: true })],
      permissions: { read: "owner", delete: "admin" },
    },
    { name: "seats", fields: [name, to("user", "users", "clear"), to("boss", "users", "restrict")] },
  ],
  settings: { SERVICE_LIMITS_CASCADE: "20" },
});
const { request, service } = api;
const admin = await api.admin();

async function make(collection: string, body: object, token?: string): Promise<string> {
  const answer = await request("POST", `/api/${collection}`, { body, ...(token !== undefined && { token }) });
  expect(answer.status).toBe(201);
  return String(answer.body["id"]);
}
const remove = (collection: string, id: string): Promise<Answer> =>
  request("DELETE", `/api/${collection}/${id}`, { token: admin });
async function valuesOf(collection: string): Promise<Record<string, unknown>[]> {
  const answer = await request<{ items: Record<string, unknown>[] }>("GET", `/api/${collection}`, { token: admin });
  return answer.body.items;
}
const namesOf = async (collection: string): Promise<unknown[]> =>
  (await valuesOf(collection)).map((item) => item["name"]);
const told = async (seq: number): Promise<string[]> =>
  (await eventsSince(service, seq)).map(
    ({ type, payload }) => `${type} ${Reflect.get(payload, "name") ?? Reflect.get(payload, "id")}`,
  );

/** A project with two issues, one below the other, and a comment on each issue. */
async function tree(): Promise<{ [name: string]: string }> {
  const project = await make("projects", { name: "P" });
  const issue = await make("issues", { name: "I", project });
  const child = await make("issues", { name: "C", parent: issue });
  const comment = await make("comments", { name: "c1", issue });
  const reply = await make("comments", { name: "c2", issue: child, reply: comment });
  return { project, issue, child, comment, reply };
}
async function sizes(): Promise<number[]> {
  const all = await Promise.all(["projects", "issues", "comments", "bills"].map(valuesOf));
  return all.map(({ length }) => length);
}

describe("a record is deleted", () => {
  test("cascade deletes all dependent records, each with its event, the record last", async () => {
    const { project, issue, child, comment, reply } = await tree();
    const other = await make("comments", { name: "other", reply: comment });
    const before = await lastSeq(service);
    expect((await remove("projects", project ?? "")).status).toBe(204);
    expect(await sizes()).toEqual([0, 0, 1, 0]);
    expect(await valuesOf("comments")).toMatchObject([{ name: "other", reply: null }]);
    expect(await told(before)).toEqual([
      "comments.updated other",
      `comments.deleted ${reply}`,
      `issues.deleted ${child}`,
      `comments.deleted ${comment}`,
      `issues.deleted ${issue}`,
      `projects.deleted ${project}`,
    ]);
    expect((await request("GET", `/api/issues/${child}`)).status).toBe(404);
    const { items, total } = (await request("GET", "/api/comments?count=exact")).body;
    expect([items, total]).toMatchObject([[{ id: other }], 1]);
    await remove("comments", other);
  });

  test("restrict tells no number of records that the caller may not read", async () => {
    const issue = await make("issues", { name: "I" });
    const refusal = async (token?: string): Promise<unknown> => {
      const answer = await request("DELETE", `/api/issues/${issue}`, token === undefined ? {} : { token });
      return [answer.status, answer.body["error"]?.["message"]];
    };
    for (const collection of ["secret_bills", "own_bills"]) {
      const bills = [await make(collection, { issue }, admin), await make(collection, { issue }, admin)];
      const end = `here by ${collection}.issue.`;
      expect(await refusal()).toEqual([400, `It cannot be deleted: records point ${end}`]);
      expect(await refusal(admin)).toEqual([400, `It cannot be deleted: 2 records point ${end}`]);
      for (const bill of bills) expect((await remove(collection, bill)).status).toBe(204);
    }
    expect((await remove("issues", issue)).status).toBe(204);
  });

  test("restrict refuses with the number of the records that point to the record, also to a dependent record", async () => {
    const { project, issue, child } = await tree();
    await make("bills", { issue });
    await make("bills", { issue: child });
    const last = await make("bills", { issue: child, project });
    const [before, size] = [await lastSeq(service), await sizes()];
    for (const [collection, id, n] of [
      ["issues", child ?? "", "2 records point"],
      ["issues", issue ?? "", "3 records point"],
      ["projects", project ?? "", "3 records point"],
    ] as const) {
      const refused = await remove(collection, id);
      const message = `${n} here by bills.issue`;
      expect([refused.status, refused.body["error"]]).toEqual([
        400,
        {
          code: "bad_request",
          message: `It cannot be deleted: ${message}.`,
          details: [{ field: "bills.issue", rule: "relation", message }],
        } as never,
      ]);
    }
    expect([await told(before), await sizes()]).toEqual([[], size]);
    for (const { id } of await valuesOf("bills")) if (id !== last) await remove("bills", String(id));
    expect(messageOf(await remove("issues", child ?? ""))).toContain("1 record points here by bills.issue");
    await remove("bills", last);
    expect((await remove("projects", project ?? "")).status).toBe(204);
    expect(await sizes()).toEqual([0, 0, 0, 0]);
  });

  test("clear sets null with an event, and counts as a change of the record", async () => {
    const issue = await make("issues", { name: "I" });
    const project = await make("projects", { name: "P", main: issue });
    const [{ updatedAt } = {}] = await valuesOf("projects");
    const before = await lastSeq(service);
    expect((await remove("issues", issue)).status).toBe(204);
    const [after] = await valuesOf("projects");
    expect(after).toMatchObject({ id: project, main: null });
    expect(String(after?.["updatedAt"]) > String(updatedAt)).toBe(true);
    expect(await told(before)).toEqual(["projects.updated P", `issues.deleted ${issue}`]);
    await remove("projects", project);
  });

  test("without the attribute a reference stays unchanged", async () => {
    const issue = await make("issues", { name: "I" });
    const left = await make("left", { issue });
    expect((await remove("issues", issue)).status).toBe(204);
    expect(await valuesOf("left")).toMatchObject([{ id: left, issue }]);
  });

  test("rings end; a restricting record of the ring that is deleted, too, does not refuse", async () => {
    const [a, b, c] = [
      await make("rings", { name: "a" }),
      await make("rings", { name: "b" }),
      await make("rings", { name: "c" }),
    ];
    for (const [id, next] of [
      [a, b],
      [b, c],
      [c, a],
    ] as const)
      await request("PUT", `/api/rings/${id}`, { body: { next, guard: next } });
    const self = await make("rings", { name: "self" });
    await request("PUT", `/api/rings/${self}`, { body: { next: self, guard: self } });
    expect((await remove("rings", self)).status).toBe(204);
    const outside = await make("rings", { name: "outside", guard: b });
    expect((await remove("rings", a)).status).toBe(400);
    expect(await namesOf("rings")).toEqual(["outside", "c", "b", "a"]);
    await remove("rings", outside);
    expect((await remove("rings", a)).status).toBe(204);
    expect(await namesOf("rings")).toEqual([]);
  });

  test("more than limits.cascade is refused, whatever goes or is cleared", async () => {
    const project = await make("projects", { name: "P" });
    const issues: string[] = [];
    for (let i = 0; i < 19; i++) issues.push(await make("issues", { name: `${i}`, project }));
    const others = [
      await make("projects", { name: "Q", main: issues[0] }),
      await make("projects", { name: "R", main: issues[1] }),
    ];
    const size = await sizes();
    const refused = await remove("projects", project);
    expect([refused.status, messageOf(refused)]).toEqual([400, expect.stringContaining("more than 20 records")]);
    expect(await sizes()).toEqual(size);
    expect(await valuesOf("projects")).toMatchObject([{ main: issues[1] }, { main: issues[0] }, {}]);
    expect(new Map(service.limits.totals()).get("cascade")).toBe(1);
    await request("PUT", `/api/projects/${others[0]}`, { body: { main: null } });
    expect((await remove("projects", project)).status).toBe(204);
    expect(await namesOf("issues")).toEqual([]);
    for (const id of others) await remove("projects", id);
  });
});

test("more bytes than can wait for their listeners are refused, and all stay", async () => {
  const world = await openSchemaWorld();
  const parents = await world.create({ fields: [name] });
  const text = { name: "text", type: "text" };
  const large = await world.create({ fields: [text, to("parent", parents, "cascade")] });
  const parent = String((await world.api.request("POST", `/api/${parents}`, { body: {} })).body["id"]);
  for (let i = 0; i < 68; i++) await world.api.request("POST", `/api/${large}`, { body: { parent } });
  // Bodies of a megabyte would take most of the time of the test.
  await world.api.service.database.transact((tx) => tx.run(`UPDATE ${large} SET text = printf('%.1000000c', 'x')`));
  const refused = await world.api.request("DELETE", `/api/${parents}/${parent}`);
  expect([refused.status, messageOf(refused)]).toEqual([400, expect.stringContaining("more than 64 MiB of records")]);
  const count = async (): Promise<unknown> =>
    (await world.api.request("GET", `/api/${large}?count=exact&limit=1&fields=id`)).body["total"];
  expect(await count()).toBe(68);
  const { items } = (await world.api.request<{ items: { id: string }[] }>("GET", `/api/${large}?limit=2&fields=id`))
    .body;
  for (const { id } of items) await world.api.request("DELETE", `/api/${large}/${id}`);
  expect((await world.api.request("DELETE", `/api/${parents}/${parent}`)).status).toBe(204);
  expect(await count()).toBe(0);
});

describe("a user is deleted", () => {
  test("cascade deletes the user's records, clear removes the references to the user, restrict keeps the user's records", async () => {
    const [ann, bob] = [await api.register("ann@example.com"), await api.register("bob@example.com")];
    await make("owned", { name: "ann's" }, ann.accessToken);
    await make("owned", { name: "bob's" }, bob.accessToken);
    await make("seats", { name: "1", user: ann.user.id });
    const second = await make("seats", { name: "2", user: bob.user.id, boss: ann.user.id });
    const path = `/api/admin/users/${ann.user.id}`;
    const refused = await request("DELETE", path, { token: admin });
    expect([refused.status, messageOf(refused)]).toEqual([
      400,
      "It cannot be deleted: 1 record points here by seats.boss.",
    ]);
    expect((await request("GET", "/api/auth/me", { token: ann.accessToken })).status).toBe(200);
    expect(await namesOf("owned")).toEqual(["bob's", "ann's"]);
    await request("PUT", `/api/seats/${second}`, { body: { boss: null } });
    const before = await lastSeq(service);
    expect((await request("DELETE", path, { token: admin })).status).toBe(204);
    expect(await namesOf("owned")).toEqual(["bob's"]);
    expect(await valuesOf("seats")).toMatchObject([{ user: bob.user.id }, { user: null }]);
    expect((await eventsSince(service, before)).map(({ type }) => type)).toEqual([
      "seats.updated",
      "owned.deleted",
      "admin.user.deleted",
    ]);
    expect((await request("DELETE", path, { token: admin })).status).toBe(404);
    expect((await request("GET", "/api/auth/me", { token: ann.accessToken })).status).toBe(401);
  });
});

test("each owner of a deleted record has another list, and the count is of the remaining records", async () => {
  const parents = { name: "parents", fields: [name] };
  const children = { name: "children", fields: [to("parent", "parents", "cascade")], permissions: { read: "owner" } };
  const own = await openApi({ collections: [parents, children] });
  const { body } = await own.request("POST", "/api/parents", { body: {} });
  const lists: (() => Promise<Answer>)[] = [];
  for (const email of ["ann@example.com", "bob@example.com"]) {
    const { accessToken: token } = await own.register(email);
    for (const parent of [body["id"], body["id"], null])
      await own.request("POST", "/api/children", { body: { parent }, token });
    const etag = (await own.request("GET", "/api/children", { token })).headers.get("etag") ?? "";
    lists.push(() => own.request("GET", "/api/children", { token, headers: { "If-None-Match": etag } }));
  }
  const token = await own.admin();
  const count = async (): Promise<unknown> =>
    (await own.request("GET", "/api/admin/collections/children", { token })).body["records"];
  expect([await count(), ...(await Promise.all(lists.map(async (list) => (await list()).status)))]).toEqual([
    6, 304, 304,
  ]);
  expect((await own.request("DELETE", `/api/parents/${body["id"]}`, { token })).status).toBe(204);
  expect([await count(), ...(await Promise.all(lists.map(async (list) => (await list()).status)))]).toEqual([
    2, 200, 200,
  ]);
});

test("the event loop turns also while no record points to the deleted records", async () => {
  const nodes = { name: "nodes", fields: [to("parent", "nodes", "cascade"), to("guard", "nodes", "restrict")] };
  const hints = { name: "hints", fields: [to("node", "nodes", "clear")] };
  const own = await openApi({ collections: [nodes, hints] });
  const root = (await own.request("POST", "/api/nodes", { body: {} })).body["id"];
  const leaves = 40;
  for (let n = 0; n < leaves; n++) await own.request("POST", "/api/nodes", { body: { parent: root } });
  // Every look at the clock finds the slice used up.
  let now = performance.now();
  const clock = spyOn(performance, "now").mockImplementation(() => (now += 1_000));
  const next = spyOn(LoopTurns.prototype, "next");
  expect((await own.request("DELETE", `/api/nodes/${root}`)).status).toBe(204);
  const turns = next.mock.calls.length;
  for (const spy of [clock, next]) spy.mockRestore();
  // Five steps for each record: found, asked for records that cascade, that refuse and that are cleared, deleted.
  expect(turns).toBeGreaterThanOrEqual(Math.floor((5 * leaves) / stepsPerLook));
  expect((await own.request<{ items: object[] }>("GET", "/api/nodes")).body.items).toEqual([]);
});

test("the attribute is added and removed without a read of the records", async () => {
  const world = await openSchemaWorld();
  const target = await world.create({ fields: [name] });
  const collection = await world.create({ fields: [to("at", target)] });
  const change = (field: object): Promise<Answer> =>
    world.send("PUT", `/collections/${collection}`, { fields: [field] });
  const first = (await world.api.request("POST", `/api/${target}`, { body: {} })).body["id"];
  await world.api.request("POST", `/api/${collection}`, { body: { at: first } });
  const plan = await world.send("PUT", `/collections/${collection}?dryRun=true`, {
    fields: [to("at", target, "restrict")],
  });
  expect(plan.body).toMatchObject({ steps: [{ step: "onDelete", field: "at" }] });
  expect((await change(to("at", target, "restrict"))).status).toBe(200);
  expect((await world.api.request("DELETE", `/api/${target}/${first}`)).status).toBe(400);
  expect((await change(to("at", target, "clear"))).status).toBe(200);
  expect(messageOf(await change(to("at", target, "clear", { required: true })))).toContain(
    "a required field cannot be",
  );
  expect((await world.api.request("DELETE", `/api/${target}/${first}`)).status).toBe(204);
  expect((await world.api.request<{ items: unknown[] }>("GET", `/api/${collection}`)).body.items).toMatchObject([
    { at: null },
  ]);
});
