/** `POST /api/admin/collections/{name}/view-as`: lists and records by the rules of another caller, for admins, in the audit. */
import { expect, test } from "bun:test";
import { eventsSince, lastSeq, openApi } from "../../../test/kit.ts";

const notes = {
  name: "notes",
  fields: [
    { name: "text", type: "string" },
    { name: "secret", type: "string", permissions: { read: '@user.role = "admin"' } },
    { name: "owner", type: "relation", collection: "users", owner: true },
  ],
  permissions: { read: "owner", create: "authenticated", update: "owner" },
};
const path = "/api/admin/collections/notes/view-as";

async function world() {
  const { request, admin, register, service } = await openApi({ collections: [notes] });
  const token = await admin();
  const [ann, ben] = [await register("ann@example.com"), await register("ben@example.com")];
  const ids: string[] = [];
  for (const [user, text] of [
    [ann, "one"],
    [ann, "two"],
    [ben, "three"],
  ] as const) {
    const made = await request("POST", "/api/notes", { token: user.accessToken, body: { text } });
    ids.push(String(made.body["id"]));
    expect((await request("PUT", `/api/notes/${ids.at(-1)}`, { token, body: { text, secret: "s" } })).status).toBe(200);
  }
  const look = async (body: object, as: string | null = token) =>
    request("POST", path, { ...(as !== null && { token: as }), body });
  return { request, token, ann, ben, ids, look, service };
}

test("a list and a record are those of the user: other records and hidden fields are left out, for an anonymous caller all", async () => {
  const { look, request, ann, ben, ids } = await world();
  const list = await look({ as: ann.user.id, query: { sort: "text" } });
  const own = await request("GET", "/api/notes?sort=text&limit=20", { token: ann.accessToken });
  expect<unknown>(list.body["answer"]).toEqual(own.body);
  expect<unknown>(own.body["items"]).toMatchObject([{ text: "one" }, { text: "two" }]);
  expect(JSON.stringify(list.body["answer"])).not.toMatch(/secret|three/);
  const [first = "", , third = ""] = ids;
  const seen = await look({ as: ann.user.id, id: first });
  expect<unknown>(seen.body["answer"]).toEqual(
    (await request("GET", `/api/notes/${first}`, { token: ann.accessToken })).body,
  );
  expect<unknown>((await look({ as: ann.user.id, id: third })).body).toMatchObject({ status: 403, answer: null });
  expect<unknown>((await look({ as: ben.user.id, id: third })).body).toMatchObject({ status: 200 });
  expect<unknown>((await look({ as: null })).body).toMatchObject({ status: 401, answer: null });
});

test("the audit has each look with the admin and the user, and a further page is no further look", async () => {
  const { look, ann, ids, service } = await world();
  const seq = await lastSeq(service);
  const page = await look({ as: ann.user.id, query: { limit: 1 } });
  const { nextCursor } = page.body["answer"] as unknown as { nextCursor: string };
  await look({ as: ann.user.id, query: { limit: 1, cursor: nextCursor } });
  await look({ as: ann.user.id, id: ids[0] });
  await look({ as: null });
  const events = await eventsSince(service, seq);
  const told = (target: string, id: string | null, query: object) =>
    expect.objectContaining({ type: "admin.user.viewed", target, after: { collection: "notes", id, query } });
  expect<unknown>(events.map(({ type, payload }) => ({ type, ...payload }))).toEqual([
    told(ann.user.id, null, { limit: 1 }),
    told(ann.user.id, ids[0] ?? "", {}),
    told("anonymous", null, {}),
  ]);
});

test("a record beside a cursor, and a list with an empty cursor, are looks, and are in the audit", async () => {
  const { look, ann, ids, service } = await world();
  const seq = await lastSeq(service);
  const [record, list] = [
    { as: ann.user.id, id: ids[0], query: { cursor: "x" } },
    { as: ann.user.id, query: { cursor: "" } },
  ];
  for (const body of [record, list]) expect([body, (await look(body)).body["status"]]).toEqual([body, 200 as never]);
  const events = await eventsSince(service, seq);
  expect(events.map(({ type, payload }) => [type, Reflect.get(payload, "after")])).toEqual([
    ["admin.user.viewed", { collection: "notes", id: ids[0], query: { cursor: "x" } }],
    ["admin.user.viewed", { collection: "notes", id: null, query: { cursor: "" } }],
  ]);
});

test("nobody but an admin looks, and a look is never a write: other members, unknown users and API keys are refused", async () => {
  const { look, request, token, ann, service } = await world();
  const key = await request("POST", "/api/admin/keys", { token, body: { name: "k", scopes: ["notes:read"] } });
  const [all, seq] = [await request("GET", "/api/notes", { token }), await lastSeq(service)];
  expect((await look({ as: ann.user.id }, null)).status).toBe(401);
  expect((await look({ as: ann.user.id }, ann.accessToken)).status).toBe(403);
  expect((await look({ as: ann.user.id }, String(key.body["key"]))).status).toBe(403);
  for (const body of [
    { as: ann.user.id, operation: "update" },
    { as: ann.user.id, body: { text: "x" } },
    { as: "usr_0" },
    { as: 1 },
    {},
    { as: ann.user.id, query: { limit: 101 } },
  ])
    expect([body, (await look(body)).status]).toEqual([body, 400]);
  expect(await lastSeq(service)).toBe(seq);
  expect<unknown>((await request("GET", "/api/notes", { token })).body).toEqual(all.body);
  // Parameters and headers of other requests lend nobody's eyes.
  for (const address of [`/api/notes?as=${ann.user.id}`, "/api/notes"]) {
    const answer = await request("GET", address, { headers: { "X-View-As": ann.user.id } });
    expect([400, 401]).toContain(answer.status);
  }
});
