/** Relations and rights: the right to point a record at another record, and at a file (contract, "Relations and rights"). */
import { describe, expect, test } from "bun:test";
import { fileForm, formType } from "../../../test/forms.ts";
import { openScripts } from "../../../test/scripts.ts";

const to = (name: string, collection: string, more: object = {}) => ({ name, type: "relation", collection, ...more });
const rules = {
  open: "public",
  known: "authenticated",
  mine: "owner",
  theirs: "owner",
  closed: "admin",
  shared: 'name = "shared" || by = @user.id',
} as const;
type Target = keyof typeof rules;
const targets = Object.keys(rules) as Target[];
const by = to("by", "users", { owner: true });
const holders = { name: "holders", fields: [{ name: "n", type: "integer" }, ...targets.map((each) => to(each, each))] };

const api = await openScripts({
  collections: [
    ...targets.map((name) => ({
      name,
      fields: [{ name: "name", type: "string" }, by],
      permissions: { read: rules[name], create: "authenticated" },
    })),
    holders,
    { name: "lists", fields: targets.map((each) => to(each, each, { multiple: true })) },
    { name: "bills", fields: [to("closed", "closed", { onDelete: "restrict" })], permissions: { delete: "admin" } },
    {
      name: "letters",
      fields: [to("box", "closed", { anyTarget: true }), to("boxes", "mine", { anyTarget: true, multiple: true })],
    },
    { name: "people", fields: [to("user", "users"), to("users", "users", { multiple: true })] },
    {
      name: "guarded",
      fields: [{ name: "n", type: "integer" }, to("closed", "closed"), to("user", "users")],
      permissions: { create: "n > 0" },
    },
    { name: "hooked", fields: [to("closed", "closed"), { name: "set", type: "string" }] },
    { name: "copies", fields: [to("closed", "closed")] },
    {
      name: "photos",
      fields: [
        { name: "file", type: "file" },
        { name: "files", type: "file", multiple: true },
      ],
    },
  ],
  files: {
    "functions/hooked/set.ts":
      "export const beforeCreate = ({ record }) => record.set ? { closed: record.set } : undefined;",
    "functions/hooked/copy.ts":
      'export const onCreate = ({ record, db }) => db.collection("copies").create({ closed: record.closed });',
  },
});
const { request } = api;
const admin = await api.admin();
const [ann, bob] = [await api.register("ann@example.com"), await api.register("bob@example.com")];
const absent = "rec_019cbd00-0000-7000-8000-000000000000";

async function make(collection: string, body: object, token?: string): Promise<string> {
  const answer = await request("POST", `/api/${collection}`, { body, ...(token !== undefined && { token }) });
  expect([answer.status, answer.body]).toEqual([201, expect.anything()]);
  return String(answer.body["id"]);
}
const itemsOf = async (collection: string): Promise<object[]> =>
  (await request<{ items: object[] }>("GET", `/api/${collection}`, { token: admin })).body.items;
const detailsOf = async (path: string, body: object, token?: string): Promise<unknown> => {
  const method = path.includes("/rec_") ? "PUT" : "POST";
  const answer = await request(method, `/api/${path}`, { body, ...(token !== undefined && { token }) });
  return answer.status === 400 ? answer.body["error"]?.["details"] : answer.status;
};
/** The refusal of an id, as for an unknown id. */
const gone = (field: string, id: string) => [
  { field, rule: "relation", message: `${field} points to "${id}", but there is no such record of "${field}"` },
];
const ids = Object.fromEntries(
  await Promise.all(targets.map(async (name) => [name, await make(name, { name: "one" }, ann.accessToken)])),
) as { [target in Target]: string };
const callers = { nobody: undefined, ann: ann.accessToken, bob: bob.accessToken, admin };
const readers: { readonly [target in Target]: readonly (keyof typeof callers)[] } = {
  open: ["nobody", "ann", "bob", "admin"],
  known: ["ann", "bob", "admin"],
  mine: ["ann", "admin"],
  theirs: ["ann", "admin"],
  closed: ["admin"],
  shared: ["ann", "admin"],
};

describe("a relation", () => {
  for (const target of targets)
    for (const [name, token] of Object.entries(callers))
      test(`to "${target}", read by ${rules[target]}, is set by ${name} only if ${name} may read the target`, async () => {
        const isReader = readers[target].some((each) => each === name);
        const body = { [target]: ids[target] };
        const expected = gone(target, ids[target]);
        expect(await detailsOf("holders", body, token)).toEqual(isReader ? 201 : expected);
        const record = await make("holders", {});
        expect(await detailsOf(`holders/${record}`, body, token)).toEqual(isReader ? 200 : expected);
        const items = [{ ...expected[0], item: 0, message: expected[0]?.message.replace(" points", "[0] points") }];
        expect(await detailsOf("lists", { [target]: [ids[target]] }, token)).toEqual(isReader ? 201 : items);
        const operations = [{ method: "create", collection: "holders", body }];
        const batch = await request("POST", "/api/batch", {
          body: { operations },
          ...(token !== undefined && { token }),
        });
        const details = batch.body["error"]?.["details"] ?? batch.status;
        expect(details as unknown).toEqual(isReader ? 200 : [{ operation: 0, ...expected[0] }]);
      });

  test("to a hidden record is refused as to an absent record, word for word", async () => {
    const [hidden, nothing] = await Promise.all(
      [ids.closed, absent].map((id) =>
        request("POST", "/api/holders", { body: { closed: id, n: "x" }, token: bob.accessToken }),
      ),
    );
    expect(hidden?.status).toBe(400);
    expect(JSON.stringify(hidden?.body).replaceAll(ids.closed, absent)).toBe(JSON.stringify(nothing?.body));
  });

  test("names the hidden records among several, by an expression too", async () => {
    const seen = await make("shared", { name: "shared" }, ann.accessToken);
    const body = { shared: [seen, ids.shared, absent], closed: [absent] };
    const details = await detailsOf("lists", body, bob.accessToken);
    expect(details).toMatchObject([
      { field: "closed", item: 0 },
      { field: "shared", item: 1 },
      { field: "shared", item: 2 },
    ]);
  });

  test("unchanged needs no right, also each item of several", async () => {
    const holder = await make("holders", { closed: ids.closed }, admin);
    expect(await detailsOf(`holders/${holder}`, { n: 2, closed: ids.closed }, bob.accessToken)).toBe(200);
    const other = await make("closed", {}, ann.accessToken);
    expect(await detailsOf(`holders/${holder}`, { closed: other }, bob.accessToken)).toEqual(gone("closed", other));
    const list = await make("lists", { closed: [ids.closed] }, admin);
    expect(await detailsOf(`lists/${list}`, { closed: [ids.closed] }, bob.accessToken)).toBe(200);
    expect(await detailsOf(`lists/${list}`, { closed: [ids.closed, other] }, bob.accessToken)).toMatchObject([
      { item: 1 },
    ]);
    // Once the id has gone from the record, the id counts like any other.
    expect(await detailsOf(`lists/${list}`, { closed: [] }, bob.accessToken)).toBe(200);
    expect(await detailsOf(`lists/${list}`, { closed: [ids.closed] }, bob.accessToken)).toMatchObject([{ item: 0 }]);
  });

  test("to a user needs no right", async () => {
    const user = bob.user.id;
    expect(await detailsOf("people", { user, users: [user] })).toBe(201);
    expect(await detailsOf("people", { user: "usr_x" }, ann.accessToken)).toMatchObject([
      { field: "user", rule: "relation" },
    ]);
  });

  test("with anyTarget is a letter box: only the record must exist", async () => {
    const body = { box: ids.closed, boxes: [ids.mine] };
    expect(await detailsOf("letters", body, bob.accessToken)).toBe(201);
    expect(await detailsOf("letters", { box: absent, boxes: [ids.mine, absent] })).toMatchObject([
      { field: "box", rule: "relation" },
      { field: "boxes", item: 1, rule: "relation" },
    ]);
  });

  test("to a hidden record lets no stranger prevent its deletion; a writer who may read the record can", async () => {
    const victim = await make("closed", {}, admin);
    expect(await detailsOf("bills", { closed: victim }, bob.accessToken)).toEqual(gone("closed", victim));
    const bill = await make("bills", { closed: victim }, admin);
    expect((await request("DELETE", `/api/closed/${victim}`, { token: admin })).status).toBe(400);
    expect((await request("DELETE", `/api/bills/${bill}`, { token: admin })).status).toBe(204);
    expect((await request("DELETE", `/api/closed/${victim}`, { token: admin })).status).toBe(204);
  });

  test("to a record of the same batch follows the same rule", async () => {
    const create = (collection: string, body: object) => ({ method: "create", collection, body });
    const send = (first: string) => {
      const operations = [create(first, { name: "two" }), create("holders", { [first]: { $ref: 0 } })];
      return request("POST", "/api/batch", { body: { operations }, token: bob.accessToken });
    };
    expect((await send("mine")).status).toBe(200);
    expect((await send("closed")).body["error"]?.["details"]).toMatchObject([
      { operation: 1, field: "closed", rule: "relation" },
    ]);
  });

  test("may be set by functions and by hooks, and not by the caller through a hook", async () => {
    const token = bob.accessToken;
    expect(await detailsOf("hooked", { closed: ids.closed }, token)).toEqual(gone("closed", ids.closed));
    expect(await detailsOf("hooked", { set: ids.closed }, token)).toBe(201);
    expect(await detailsOf("hooked", { set: absent }, token)).toEqual(gone("closed", absent));
    await api.scripts.functions.settled();
    expect(await itemsOf("copies")).toMatchObject([{ closed: ids.closed }]);
  });

  test("imported may point anywhere: only admins import", async () => {
    const row = `${JSON.stringify({ closed: ids.closed })}\n`;
    const headers = { "Content-Type": "application/x-ndjson" };
    const answer = await request("POST", "/api/holders/import", { body: row, headers, token: admin });
    expect(answer.body as unknown).toMatchObject({ imported: 1, rejected: 0 });
  });
});

test("all problems of a body are reported at once, also of targets, and also to a caller whose values fail the rule", async () => {
  const token = bob.accessToken;
  expect(await detailsOf("holders", { n: "x", open: absent, closed: ids.closed }, token)).toMatchObject([
    { field: "n", rule: "type" },
    { field: "open", rule: "relation" },
    { field: "closed", rule: "relation" },
  ]);
  const body = { n: "x", closed: ids.closed, user: "usr_x" };
  // A caller without the right to write a record cannot find out from the refusal whether a user exists.
  expect(await detailsOf("guarded", body, token)).toMatchObject([
    { field: "n", rule: "type" },
    { field: "closed", rule: "relation" },
  ]);
});

test("every caller may name a stored file, alone and among others, and no other file", async () => {
  const upload = async (visibility: string): Promise<string> => {
    const headers = { "Content-Type": formType };
    const body = fileForm("x", { filename: "a.txt", visibility });
    const answer = await request("POST", "/api/storage/upload", { body, headers, token: ann.accessToken });
    return String(answer.body["id"]);
  };
  const refused = (id: string) => [
    { field: "file", rule: "file", message: `file points to "${id}", but there is no such stored file` },
  ];
  for (const visibility of ["protected", "record", "public"]) {
    const file = await upload(visibility);
    for (const token of [undefined, bob.accessToken, ann.accessToken, admin]) {
      expect(await detailsOf("photos", { file, files: [file] }, token)).toBe(201);
      const details = await detailsOf("photos", { files: [file, "fil_x"] }, token);
      expect(details).toMatchObject([{ field: "files", item: 1, rule: "file" }]);
      expect(await detailsOf("photos", { file: "fil_x" }, token)).toEqual(refused("fil_x"));
    }
  }
});
