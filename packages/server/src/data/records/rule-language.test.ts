/** `@record` and `every` in rules, filters and subscriptions: tenants, leaks, renames, trials, and names that look like the words. */
import { describe, expect, test } from "bun:test";
import type { JsonValue, RulePart, RuleTrial } from "@socle/protocol";
import { openServer } from "../../../test/sockets.ts";

const string = (name: string) => ({ name, type: "string" });
const relation = (name: string, collection: string, more: object = {}) => ({
  name,
  type: "relation",
  collection,
  ...more,
});
const inside = "every(labels, workspace = @record.workspace)";
const server = await openServer({
  collections: [
    { name: "workspaces", fields: [string("name")] },
    { name: "labels", fields: [string("name"), relation("workspace", "workspaces")] },
    {
      name: "members",
      fields: [relation("workspace", "workspaces"), relation("user", "users"), { name: "since", type: "datetime" }],
    },
    {
      name: "issues",
      fields: [
        string("title"),
        relation("workspace", "workspaces"),
        relation("labels", "labels", { multiple: true }),
        { name: "seen", type: "datetime" },
      ],
      permissions: {
        read: "workspace.members(workspace)[user = @user.id && since <= @record.seen]",
        create: inside,
        update: inside,
      },
    },
    {
      name: "notes",
      fields: [
        string("text"),
        string("word"),
        { ...string("secret"), permissions: { read: "admin" } },
        { ...string("own"), permissions: { read: "by = @user.id" } },
        relation("by", "users", { owner: true }),
        relation("next", "notes"),
        relation("more", "notes", { multiple: true, anyTarget: true }),
      ],
      permissions: { read: 'by = @user.id || text ~ "open"', create: "authenticated" },
    },
    {
      name: "every",
      fields: [string("every"), relation("note", "notes"), relation("notes", "notes", { multiple: true })],
    },
    { name: "trees", fields: [string("a"), string("b")] },
    { name: "kinds", fields: [] },
    {
      name: "audits",
      fields: [relation("note", "notes", { anyTarget: true }), string("word")],
      permissions: { read: "every(note.notes(next), word = @record.word)", create: "admin" },
    },
  ],
});
const { request } = server;
const admin = await server.admin();
const [ann, bob] = [await server.register("ann@example.com"), await server.register("bob@example.com")];

async function add(collection: string, body: object, token = admin): Promise<string> {
  const answer = await request("POST", `/api/${collection}`, { body, token });
  expect([collection, body, answer.status]).toEqual([collection, body, 201]);
  return String(answer.body["id"]);
}

async function list(collection: string, filter: string, token: string): Promise<JsonValue[]> {
  const query = new URLSearchParams({ filter, sort: "createdAt" });
  const answer = await request<{ items: { [name: string]: JsonValue }[] }>("GET", `/api/${collection}?${query}`, {
    token,
  });
  expect([filter, answer.status]).toEqual([filter, 200]);
  return answer.body.items.map((item) => item["text"] ?? item["title"] ?? item["every"] ?? null);
}

async function refusal(collection: string, filter: string, token: string): Promise<string> {
  const query = new URLSearchParams({ filter });
  const answer = await request<{ error: { message: string } }>("GET", `/api/${collection}?${query}`, { token });
  expect([filter, answer.status]).toEqual([filter, 400]);
  return answer.body.error.message;
}

describe("a rule: a label of the same workspace", async () => {
  const [ours, theirs] = [await add("workspaces", { name: "ours" }), await add("workspaces", { name: "theirs" })];
  const [bug, theirBug] = [
    await add("labels", { name: "bug", workspace: ours }),
    await add("labels", { name: "bug", workspace: theirs }),
  ];
  const nowhere = await add("labels", { name: "nowhere" });
  await add("members", { workspace: ours, user: ann.user.id, since: "2026-01-01" });
  const seen = "2026-06-01";
  const create = (body: object) => request("POST", "/api/issues", { body, token: ann.accessToken });

  test.each([
    ["no label", { workspace: ours, labels: [] }, 201],
    ["a label of the workspace", { workspace: ours, labels: [bug] }, 201],
    ["a label of another workspace", { workspace: ours, labels: [theirBug] }, 403],
    ["one of each", { workspace: ours, labels: [bug, theirBug] }, 403],
    ["a label without a workspace", { workspace: ours, labels: [nowhere] }, 403],
    ["a label without a workspace, on an issue without one: null equals null", { labels: [nowhere] }, 201],
    ["a label on an issue without a workspace", { labels: [bug] }, 403],
  ])("%s", async (_, body, status) => {
    expect((await create({ title: "new", seen, ...body })).status).toBe(status);
  });

  test("before and after an update", async () => {
    const id = await add("issues", { title: "moved", workspace: ours, labels: [bug], seen }, ann.accessToken);
    const put = async (body: object): Promise<number> =>
      (await request("PUT", `/api/issues/${id}`, { body, token: ann.accessToken })).status;
    expect(await put({ workspace: theirs })).toBe(403);
    expect(await put({ labels: [theirBug] })).toBe(403);
    expect(await put({ title: "renamed" })).toBe(200);
    expect(await put({ workspace: theirs, labels: [theirBug] })).toBe(200);
  });

  test("the read rule compares the membership with the record", async () => {
    const early = await add("issues", { title: "early", workspace: ours, seen: "2025-12-31" });
    const none = await add("issues", { title: "never", workspace: ours });
    const late = await add("issues", { title: "late", workspace: ours, seen: "2026-01-01" });
    for (const [id, status] of [
      [early, 404],
      [none, 404],
      [late, 200],
    ] as const)
      expect((await request("GET", `/api/issues/${id}`, { token: ann.accessToken })).status).toBe(status);
    expect(await list("issues", 'title in ("early", "never", "late")', ann.accessToken)).toEqual(["late"]);
    expect(await list("issues", 'title in ("early", "never", "late")', bob.accessToken)).toEqual([]);
  });

  test("a trial tells the parts of the condition", async () => {
    const rule = 'every(labels[name = "bug"], workspace = @record.workspace && (name != "x" || name = "y"))';
    const definition = {
      fields: (await request<{ fields: object[] }>("GET", "/api/admin/collections/issues", { token: admin })).body
        .fields,
    };
    const changed = { ...definition, permissions: { read: rule } };
    expect((await request("PUT", "/api/admin/collections/issues", { body: changed, token: admin })).status).toBe(200);
    const id = await add("issues", { title: "tried", workspace: ours, labels: [bug, nowhere, theirBug] });
    const body = { as: ann.user.id, operation: "read", id };
    const trial = await request<RuleTrial>("POST", "/api/admin/collections/issues/try", { body, token: admin });
    const outcomes = ({ kind, start, end, holds, parts }: RulePart): unknown[] => [
      `${kind} ${rule.slice(start, end)}: ${holds}`,
      ...parts.flatMap(outcomes),
    ];
    const parts = trial.body.rules?.[0]?.parts;
    expect(parts && outcomes(parts)).toEqual([
      `every ${rule}: false`,
      "comparison workspace = @record.workspace: false",
      'or name != "x" || name = "y": true',
      'comparison name != "x": true',
      'comparison name = "y": false',
    ]);
  });
});

describe("values that a caller may not read", async () => {
  const token = ann.accessToken;
  const by = bob.user.id;
  const hidden = await add("notes", { text: "hidden", word: "h", secret: "s3cret", by });
  const open = await add("notes", { text: "open", word: "o", secret: "s3cret", own: "o", next: hidden, by });
  const mine = await add("notes", { text: "mine", word: "o", own: "o", more: [open, hidden] }, token);
  await add("notes", { text: "first", word: "h", next: mine }, token);

  test.each(["secret", "own", "none"])("a filter has no %s behind @record", async (name) => {
    for (const filter of [
      `@record.${name} = "o"`,
      `notes(next)[word = @record.${name}]`,
      `more[@record.${name} ~ "o"]`,
      `every(more, word != @record.${name})`,
      `more[notes(next)[word in ("a", @record.${name})]]`,
      `more[lower(@record.next.${name}) = "o"]`,
    ]) {
      const known = await refusal("notes", filter, token);
      expect(known).toContain(`"notes" has no field "${name}"`);
      expect(known).toMatch(/at position \d+/);
    }
    const socket = await server.connect(token);
    const frame = { action: "subscribe", channel: "notes.*", id: "x", filter: `more[word = @record.${name}]` };
    const reply = await socket.ask(frame);
    expect(JSON.stringify(reply)).toContain("invalid_filter");
    expect(JSON.stringify(reply)).toContain("has no field");
  });

  test("every speaks about the readable items of a filter", async () => {
    // `hidden` has the word h, and fails every condition on o; ann does not learn that.
    expect(await list("notes", 'every(more, word = "o") && more != null', token)).toEqual(["mine"]);
    expect(await list("notes", 'every(more, word = "o") && more != null', admin)).toEqual([]);
    expect(await list("notes", 'every(more, word = "h") && more != null', token)).toEqual([]);
    expect(await list("notes", 'every(next.notes(next), text = "x") && text = "open"', token)).toEqual(["open"]);
    expect(await list("notes", 'every(next.notes(next), text = "x") && text = "open"', admin)).toEqual([]);
    expect(await list("notes", 'more[every(notes(next), text = "x")]', token)).toEqual(["mine"]);
  });

  test("and about all items in a rule", async () => {
    const pointing = await add("notes", { text: "pointing", word: "w", next: hidden }, bob.accessToken);
    const seen = await add("audits", { note: hidden, word: "w" });
    const audit = await add("audits", { note: pointing, word: "w" });
    // Of the two notes that point to `hidden`, ann reads `open` alone, with another word.
    expect((await request("GET", `/api/audits/${seen}`, { token })).status).toBe(404);
    await request("PUT", `/api/notes/${open}`, { body: { word: "w" }, token: admin });
    expect((await request("GET", `/api/audits/${seen}`, { token })).status).toBe(200);
    await request("PUT", `/api/notes/${pointing}`, { body: { word: "other" }, token: admin });
    expect((await request("GET", `/api/audits/${seen}`, { token })).status).toBe(404);
    expect((await request("GET", `/api/audits/${audit}`, { token })).status).toBe(200);
  });
});

test("a collection and a field may be called every", async () => {
  const note = await add("notes", { text: "open named", word: "n" });
  await add("every", { every: "one", note, notes: [note] });
  await add("every", { every: "two" });
  const ofNote = async (filter: string): Promise<JsonValue[]> =>
    list("notes", `text = "open named" && ${filter}`, admin);
  for (const filter of [
    "every(note)",
    'every(note)[every = "one"]',
    'every(note).every = "one"',
    "every(every(note), every = 'one')",
  ])
    expect([filter, await ofNote(filter)]).toEqual([filter, ["open named"]]);
  for (const filter of ["!every(note)", 'every(note)[every = "two"]', "every(every(note), every = 'two')"])
    expect([filter, await ofNote(filter)]).toEqual([filter, []]);
  expect(await list("every", 'every = "two" && every(notes, text = "x")', admin)).toEqual(["two"]);
  expect(await refusal("notes", "every(more)", admin)).toContain("every(path, condition) needs a condition");
});

test("a field that a rule names behind @record stays, or is renamed in the rule", async () => {
  const fields = [string("a"), string("b"), relation("parent", "trees"), relation("kin", "trees", { multiple: true })];
  const read = "trees(parent)[a = @record.a && @record.kin[b = @record.parent.a]] || every(kin, a = @record.a)";
  const put = (body: object) =>
    request<{ error: { message: string } }>("PUT", "/api/admin/collections/trees", { body, token: admin });
  expect((await put({ fields, permissions: { read } })).status).toBe(200);
  const dropped = await put({ fields: fields.filter(({ name }) => name !== "kin"), permissions: { read } });
  expect([dropped.status, dropped.body.error.message]).toMatchObject([400, expect.stringContaining('"kin"')]);
  const renamed = fields.map((field) => (field.name === "a" ? { ...field, name: "alpha", renamedFrom: "a" } : field));
  expect((await put({ fields: renamed, permissions: { read } })).status).toBe(200);
  const now = await request<{ permissions: object }>("GET", "/api/admin/collections/trees", { token: admin });
  expect(now.body.permissions).toEqual({ read: read.replaceAll(/\ba\b/g, "alpha") });
  const unknown = await put({ fields: renamed, permissions: { read: "trees(parent)[b = @record.gone]" } });
  expect([unknown.status, unknown.body.error.message]).toMatchObject([
    400,
    expect.stringContaining('at position 27: "trees" has no field "gone"'),
  ]);
  const moved = { name: "groves", renamedFrom: "trees" };
  expect((await put(moved)).status).toBe(200);
  const groves = await request<{ permissions: object }>("GET", "/api/admin/collections/groves", { token: admin });
  const rule = read.replaceAll(/\ba\b/g, "alpha").replaceAll("trees", "groves");
  expect(groves.body.permissions).toEqual({ read: rule });
});

test("a value of an enum is renamed in the rules that compare the value with a field behind @record", async () => {
  const values = (...names: (string | object)[]) => ({ ...string("kind"), values: names });
  const rest = [relation("parent", "kinds"), relation("kin", "kinds", { multiple: true })];
  const read =
    'kinds(parent)[kind = @record.kind && @record.kind = "wip"] || every(kin, kind != "wip" && "wip" != @record.parent.kind)';
  const put = (kind: object) => {
    const body = { fields: [kind, ...rest], permissions: { read } };
    return request<{ error: { message: string } }>("PUT", "/api/admin/collections/kinds", { body, token: admin });
  };
  expect((await put(values("wip", "done"))).status).toBe(200);
  const removed = await put(values("done"));
  expect([removed.status, removed.body.error.message]).toMatchObject([400, expect.stringContaining('"wip"')]);
  expect((await put(values({ name: "doing", renamedFrom: "wip" }, "done"))).status).toBe(200);
  const now = await request<{ permissions: object }>("GET", "/api/admin/collections/kinds", { token: admin });
  expect(now.body.permissions).toEqual({ read: read.replaceAll("wip", "doing") });
});
