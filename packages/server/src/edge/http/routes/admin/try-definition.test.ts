/** Trials of definitions that are not saved: the records that users gain and lose, and the part of the rule that decides. */
import { describe, expect, spyOn, test } from "bun:test";
import type { CallerEffects, CollectionDefinition, Operation, RuleEffects } from "@socle/protocol";
import { lastSeq, type TestApi } from "../../../../../test/kit.ts";
import { type Definition, notes, on, opened, teams } from "../../../../../test/trial-world.ts";
import { EffectTrial } from "../../../../data/records/index.ts";
import { asSlowReader, type SlowReader } from "../../../../store/database/index.ts";

const { api, admin, users, make } = await opened();
const [ann, bob] = [users[0], users[1]];
if (ann === undefined || bob === undefined) throw new Error("The users were not made");
const team = await make("teams", { name: "ours" });
await make("members", { team, user: ann.user.id, role: "member" });
await make("members", { team, user: bob.user.id, role: "guest" });
const open = await make("notes", { text: "a", status: "open", points: 1, team }, ann.accessToken);
const done = await make("notes", { text: "b", status: "done", points: 9, tags: ["x"], parent: open }, bob.accessToken);

async function send(definition: unknown, others: Definition = {}, name = "notes") {
  const body = { definition, ...others };
  return api.request<RuleEffects>("POST", `/api/admin/collections/${name}/try`, { token: admin, body });
}

async function effects(definition: Definition, others: Definition = {}, name = "notes"): Promise<RuleEffects> {
  const answer = await send(definition, others, name);
  expect([answer.status, answer.body]).toEqual([200, answer.body]);
  return answer.body;
}

function countsOf({ operations }: CallerEffects, operation: Operation): number[] {
  const found = operations.find((each) => each.operation === operation);
  if (found === undefined) throw new Error(`${operation} was not judged`);
  return [found.before, found.after, found.gained.count, found.lost.count];
}

const none = { count: 0, rest: 0, records: [] };

describe("a definition with other rules", () => {
  test("tells the records that each caller loses and gains, and the part of the rule that decides", async () => {
    const answer = await effects({
      permissions: {
        ...notes.permissions,
        read: 'status = "open" && team.members(team)[user = @user.id && role != "guest"]',
      },
    });
    expect(answer).toMatchObject({
      collection: "notes",
      records: 2,
      looked: 2,
      isExact: true,
      unjudged: [],
      notes: [],
    });
    expect(answer.rules).toMatchObject([{ operation: "read", from: "public" }]);
    expect(on(answer, "ann@example.com")).toMatchObject({
      isSample: true,
      create: null,
      fields: [],
      operations: [
        {
          operation: "read",
          before: 2,
          after: 1,
          gained: none,
          lost: { count: 1, rest: 0, records: [{ id: done, part: 'status = "open"' }] },
        },
      ],
    });
    expect(on(answer, "bob@example.com").operations[0]?.lost.records).toEqual([
      { id: done, part: 'status = "open"' },
      { id: open, part: 'role != "guest"' },
    ]);
    expect(on(answer, null)).toMatchObject({ as: null, isSample: false });
    expect(countsOf(on(answer, null), "read")).toEqual([2, 0, 0, 2]);
    // Admins bypass rules, so no admin is in the sample.
    expect(answer.callers.map(({ as }) => as?.email ?? null)).toEqual([
      null,
      "ann@example.com",
      "bob@example.com",
      "eve@example.com",
    ]);
  });

  test("names the word that decides, and each operation with another rule", async () => {
    const answer = await effects({
      permissions: { read: "authenticated", create: "admin", update: "authenticated", delete: "owner" },
    });
    expect(answer.rules.map(({ operation, from, to }) => [operation, from, to])).toEqual([
      ["read", "public", "authenticated"],
      ["create", "authenticated", "admin"],
      ["update", "owner", "authenticated"],
    ]);
    expect(on(answer, null)).toMatchObject({
      create: { before: "none", after: "none" },
      operations: [
        {
          operation: "read",
          lost: {
            count: 2,
            records: [
              { id: done, part: "authenticated" },
              { id: open, part: "authenticated" },
            ],
          },
        },
        { operation: "update", before: 0, after: 0 },
      ],
    });
    expect(on(answer, "ann@example.com")).toMatchObject({
      create: { before: "all", after: "none" },
      operations: [
        { operation: "read", before: 2, after: 2, gained: none, lost: none },
        {
          operation: "update",
          before: 1,
          after: 2,
          gained: { count: 1, records: [{ id: done, part: "owner" }] },
          lost: none,
        },
      ],
    });
  });

  test("counts for a named user, for a single operation, and without a sample", async () => {
    const admins = await api.request<{ items: { id: string }[] }>("GET", "/api/admin/users?role=admin", {
      token: admin,
    });
    const permissions = { ...notes.permissions, read: "owner" };
    const some = await effects({ permissions }, { as: bob.user.id, sample: 0, operation: "delete" });
    expect(some.callers.map(({ as, isSample }) => [as?.email ?? null, isSample])).toEqual([
      ["bob@example.com", false],
      [null, false],
    ]);
    expect(some.rules.map(({ operation }) => operation)).toEqual(["read", "delete"]);
    expect(countsOf(on(some, "bob@example.com"), "delete")).toEqual([1, 1, 0, 0]);
    expect(some.callers.every(({ operations }) => operations.length === 1)).toBe(true);
    const all = await effects({ permissions }, { as: admins.body.items[0]?.id, sample: 1 });
    expect(all.callers.length).toBe(3);
    expect(countsOf(on(all, "admin@example.com"), "read")).toEqual([2, 2, 0, 0]);
    const created = await effects({ permissions }, { operation: "create", sample: 0 });
    expect(created).toMatchObject({ isExact: true, looked: 0, callers: [{ operations: [] }] });
  });

  test("names a few of many records, and the number of the rest", async () => {
    const ids: string[] = [];
    for (let i = 0; i < 30; i++) ids.push(await make("teams", { name: `team ${i}` }));
    const answer = await effects({ permissions: { read: "admin" } }, { sample: 1 }, "teams");
    const [read] = on(answer, "ann@example.com").operations;
    expect(read?.lost).toEqual({
      count: 31,
      rest: 26,
      records: ids
        .toReversed()
        .slice(0, 5)
        .map((id) => ({ id, part: "admin" })),
    });
    for (const id of ids) await api.request("DELETE", `/api/teams/${id}`, { token: admin });
  });

  test("tells the fields that are hidden and shown", async () => {
    const fields = notes.fields.map((field) => {
      if (field.name === "points") return { ...field, permissions: { read: "admin" } };
      return field.name === "text" ? { ...field, permissions: { read: 'status = "open"' } } : field;
    });
    const answer = await effects({ fields });
    expect(on(answer, "ann@example.com").fields).toEqual([
      { field: "text", before: "all", after: "some" },
      { field: "points", before: "all", after: "none" },
    ]);
    expect(countsOf(on(answer, "ann@example.com"), "read")).toEqual([2, 2, 0, 0]);
  });
});

test("a field that some records showed, and others show from now on, is told", async () => {
  const field = (read: string) => [{ name: "label", type: "string", permissions: { read } }];
  const body = { name: "fielded", fields: field('id = "a"'), permissions: { read: "public" } };
  expect((await api.request("POST", "/api/admin/collections", { token: admin, body })).status).toBe(201);
  const other = await effects({ fields: field('id = "b"') }, { sample: 0 }, "fielded");
  expect(on(other, null).fields).toEqual([{ field: "label", before: "some", after: "some" }]);
  expect(on(await effects({ fields: field('id = "a"') }, {}, "fielded"), null).fields).toEqual([]);
});

describe("a definition with other fields", () => {
  test("is judged under the new names of a renamed field and of a renamed collection", async () => {
    const fields = notes.fields.map((field) =>
      field.name === "points" ? { ...field, name: "weight", renamedFrom: "points" } : field,
    );
    const rule = 'weight > 5 || remarks(parent).tags = "x"';
    const answer = await effects({
      name: "remarks",
      renamedFrom: "notes",
      fields: fields.map((field) =>
        "collection" in field && field.collection === "notes" ? { ...field, collection: "remarks" } : field,
      ),
      permissions: { ...notes.permissions, read: rule },
    });
    expect(answer).toMatchObject({ collection: "remarks", notes: ['the field "weight" has the values of "points"'] });
    expect(countsOf(on(answer, null), "read")).toEqual([2, 2, 0, 0]);
    const narrower = await effects({ fields, permissions: { ...notes.permissions, read: "weight > 5" } });
    expect(on(narrower, null).operations[0]?.lost.records).toEqual([{ id: open, part: "weight > 5" }]);
  });

  test("is judged with the values that a new field gets, and says so", async () => {
    const archived = { name: "archived", type: "boolean" };
    const read = "archived = false";
    const empty = await effects({ fields: [...notes.fields, archived], permissions: { ...notes.permissions, read } });
    expect(empty.notes).toEqual(['the field "archived" is new: stored records have no value']);
    expect(countsOf(on(empty, null), "read")).toEqual([2, 0, 0, 2]);
    const filled = { ...archived, required: true, default: false };
    const full = await effects({ fields: [...notes.fields, filled], permissions: { ...notes.permissions, read } });
    expect(full.notes).toEqual(['the field "archived" is new: stored records have the default']);
    expect(countsOf(on(full, null), "read")).toEqual([2, 2, 0, 0]);
  });

  test("is judged with the values that the migration gives to other fields", async () => {
    const fields = [
      { name: "by", type: "relation", collection: "users" },
      { name: "label", type: "string" },
      { name: "size", type: "integer" },
      { name: "level", type: "string", values: ["low", "high"] },
    ];
    const permissions = { read: "owner", create: "authenticated", update: "admin", delete: "admin" };
    const made = await api.request("POST", "/api/admin/collections", {
      token: admin,
      body: { name: "moved", fields, permissions },
    });
    expect(made.status).toBe(201);
    const mine = await make("moved", { by: bob.user.id, label: "x", size: 3, level: "high" }, ann.accessToken);
    const kept = await make("moved", { label: "y", size: 4, level: "low" }, ann.accessToken);
    const changed = (name: string, attributes: object, read: string): Promise<RuleEffects> => {
      const next = fields.map((field) => (field.name === name ? { ...field, ...attributes } : field));
      return effects({ fields: next, permissions: { ...permissions, read } }, {}, "moved");
    };
    // The owner field takes over the owner; the creator stays the owner of a record with an empty field.
    const owned = await changed("by", { owner: true }, "owner");
    expect(countsOf(on(owned, "ann@example.com"), "read")).toEqual([2, 1, 0, 1]);
    expect(on(owned, "ann@example.com").operations[0]?.lost.records).toEqual([{ id: mine, part: "owner" }]);
    expect(countsOf(on(owned, "bob@example.com"), "read")).toEqual([0, 1, 1, 0]);
    const several = await changed("label", { multiple: true }, 'length(label) = 1 && label != "y"');
    expect([several.unjudged, countsOf(on(several, null), "read")]).toEqual([[], [0, 1, 1, 0]]);
    expect(countsOf(on(await changed("label", { multiple: true }, 'label = "x"'), null), "read")).toEqual([0, 1, 1, 0]);
    const wide = await changed("size", { type: "float", convertedFrom: "integer" }, "size > 3.5 || size = null");
    expect(countsOf(on(wide, null), "read")).toEqual([0, 1, 1, 0]);
    const narrow = await changed("size", {}, "(size > 4 || size = null) && label != null");
    expect(on(narrow, "ann@example.com").operations[0]?.lost.records).toEqual([
      { id: kept, part: "size > 4 || size = null" },
      { id: mine, part: "size > 4 || size = null" },
    ]);
    const turned = await changed("level", { values: ["high", "low"] }, 'level > "high"');
    expect(on(turned, "bob@example.com").operations[0]?.gained).toMatchObject({ count: 1, records: [{ id: kept }] });
    const renamed = await changed("level", { values: ["low", { name: "top", renamedFrom: "high" }] }, 'level = "top"');
    expect(renamed.unjudged.map(({ operation }) => operation)).toEqual(["read"]);
    expect(on(renamed, null).operations.map(({ operation }) => operation)).toEqual(["update", "delete"]);
  });

  test("says which operation only the change itself could tell about", async () => {
    const fields = [...notes.fields, { name: "number", type: "integer", sequence: true }];
    const answer = await effects({ fields, permissions: { ...notes.permissions, update: "number > 1" } });
    expect(answer.unjudged).toEqual([
      { operation: "update", reason: 'the rule names "number", whose values only the change makes' },
    ]);
    expect(on(answer, null).operations.map(({ operation }) => operation)).toEqual(["read", "delete"]);
  });

  test("says that a field is dropped", async () => {
    const fields = notes.fields.filter(({ name }) => name !== "points");
    expect((await effects({ fields })).notes).toEqual(['the field "points" is dropped with its values']);
  });
});

test.each<[string, unknown, Definition?]>([
  ["a rule with an unknown field", { permissions: { read: "none = 1" } }],
  ["a rule that does not parse", { permissions: { read: "points >" } }],
  ["another type of a field", { fields: [{ name: "points", type: "string" }] }],
  ["a dropped field of a rule", { fields: [], permissions: { read: 'status = "open"' } }],
  ["the name of another collection", { name: "teams" }],
  [
    "a required field that records lack",
    { fields: [...notes.fields, { name: "must", type: "string", required: true }] },
  ],
  ["an unknown attribute", { permisions: {} }],
])("%s is refused as saving would refuse", async (_, definition) => {
  const answer = await api.request("POST", "/api/admin/collections/notes/try", { token: admin, body: { definition } });
  const saved = await api.request("PUT", "/api/admin/collections/notes", { token: admin, body: definition });
  expect([answer.status, answer.body]).toEqual([400, saved.body]);
  expect(saved.status).toBe(400);
});

test.each<[string, unknown, Definition, RegExp]>([
  ["a definition that is no object", "x", {}, /"definition" must be a JSON object/],
  ["a null definition", null, {}, /"definition" must be a JSON object/],
  ["too large a sample", {}, { sample: 101 }, /"sample" must be a whole number from 0 to 100, not 101/],
  ["half a sample", {}, { sample: 0.5 }, /"sample" must be a whole number/],
  ["a text as a sample", {}, { sample: "20" }, /"sample" must be a whole number/],
  ["a user who is not there", {}, { as: "usr_none" }, /there is no user "usr_none"/],
  ["a number as a user", {}, { as: 1 }, /"as" must be the id of a user, or null/],
  ["another operation", {}, { operation: "list" }, /"operation" must be/],
  ["a record beside the definition", {}, { id: open }, /"id" cannot be set here/],
])("%s is no trial", async (_, definition, others, message) => {
  const answer = await api.request("POST", "/api/admin/collections/notes/try", {
    token: admin,
    body: { definition, ...others },
  });
  expect([answer.status, String(answer.body["error"]?.["message"])]).toEqual([400, expect.stringMatching(message)]);
});

test("only admins try definitions, of collections that are there", async () => {
  const body = { definition: { permissions: { read: "owner" } } };
  const path = "/api/admin/collections/notes/try";
  expect((await api.request("POST", path, { body })).status).toBe(401);
  expect((await api.request("POST", path, { body, token: ann.accessToken })).status).toBe(403);
  expect((await api.request("POST", "/api/admin/collections/none/try", { body, token: admin })).status).toBe(404);
});

/** All that a trial must leave alone. */
async function stateOf({ service: { database, collections, ...service } }: TestApi): Promise<unknown[]> {
  return [
    database.reader.all("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name"),
    database.reader.get("PRAGMA schema_version"),
    database.reader.all("SELECT * FROM _collections ORDER BY name"),
    collections.epoch,
    [...collections.definitions()],
    await lastSeq({ ...service, database, collections } as TestApi["service"]),
  ];
}

test("nothing is changed, written or kept", async () => {
  const before = await stateOf(api);
  const present = api.service.collections.named("notes");
  const fields = [...notes.fields, { name: "added", type: "string", unique: true }];
  await effects({ fields, indexes: [["text"]], search: ["text"], permissions: { read: "owner" } });
  await effects({ name: "remarks", renamedFrom: "notes" });
  await effects({ fields: [], permissions: { read: "public" } });
  await send({ permissions: { read: "none = 1" } });
  expect(await stateOf(api)).toEqual(before);
  expect(api.service.collections.named("notes")).toBe(present);
  expect((await api.request("GET", "/api/notes?count=exact")).body).toMatchObject({ total: 2 });
  expect(api.log.filter((line) => /^(WARN|ERROR|FATAL)/.test(line))).toEqual([]);
});

test("the users are judged as any collection, once users have a definition", async () => {
  const { api: own, admin: token, users: known } = await opened();
  const attempt = (definition: Definition) =>
    own.request<RuleEffects>("POST", "/api/admin/collections/users/try", { token, body: { definition } });
  expect((await attempt({ permissions: { read: "public" } })).status).toBe(404);
  const made = await own.request("PUT", "/api/admin/collections/users", { token, body: { fields: [] } });
  expect(made.status).toBe(200);
  const { body } = await attempt({ permissions: { read: '@user.email ~ "ann"' } });
  const counts = body.callers.map(({ as, operations }) => [
    as?.email ?? null,
    operations[0]?.before,
    operations[0]?.after,
  ]);
  expect(counts).toEqual([
    [null, 0, 0],
    ["ann@example.com", 1, known.length + 1],
    ["bob@example.com", 1, 0],
    ["eve@example.com", 1, 0],
  ]);
});

test("a trial beside changes of the schema is answered, or is a conflict, and never a defect", async () => {
  const { api: own, admin: token } = await opened();
  for (let n = 0; n < 3; n++) {
    const operations = Array.from({ length: 100 }, (_, i) => ({
      method: "create",
      collection: "teams",
      body: { name: `t${n}${i}` },
    }));
    expect((await own.request("POST", "/api/batch", { token, body: { operations } })).status).toBe(200);
  }
  const field = (name: string, from?: string) => ({ name, type: "string", ...(from && { renamedFrom: from }) });
  const statuses = new Set<number>();
  let [name, other] = ["name", "title"];
  for (let round = 0; round < 12; round++) {
    const tried = Array.from({ length: 4 }, () =>
      own.request("POST", "/api/admin/collections/teams/try", {
        token,
        body: { definition: { permissions: { read: `${name} ~ "1"` } } },
      }),
    );
    const body = { fields: [field(other, name)] };
    const saved = await own.request("PUT", "/api/admin/collections/teams", { token, body });
    expect([saved.status, saved.body]).toEqual([200, saved.body]);
    [name, other] = [other, name];
    for (const { status } of await Promise.all(tried)) statuses.add(status);
  }
  // 400: the rule names the field as before the rename.
  expect([...statuses].filter((status) => ![200, 400, 409].includes(status))).toEqual([]);
  expect(own.log.filter((line) => /^(ERROR|FATAL)/.test(line))).toEqual([]);
});

test("a trial is no answer about a schema that has changed meanwhile", async () => {
  const { api: own, admin: token } = await opened();
  const { database } = own.service;
  const body = { definition: { permissions: { read: "owner" } } };
  const query = database.query.bind(database);
  const changing = spyOn(database, "query").mockImplementationOnce(async (work, waiter) => {
    const found = await query(work, waiter);
    const change = { permissions: { ...notes.permissions, read: "admin" } };
    await own.request("PUT", "/api/admin/collections/notes", { token, body: change });
    return found;
  });
  const answer = await own.request("POST", "/api/admin/collections/notes/try", { token, body });
  expect([answer.status, answer.body["error"]?.["code"]]).toEqual([409, "conflict" as never]);
  changing.mockRestore();
  expect((await own.request("POST", "/api/admin/collections/notes/try", { token, body })).status).toBe(200);
});

describe("a trial within a bound of time", () => {
  const { service } = api;
  const callers = [null, ...users.map(({ user }) => user)].map((as) => {
    return { as, isSample: true, principal: as && { userId: as.id, role: as.role } };
  });
  const judged = async (milliseconds: number, slow = 0): Promise<RuleEffects | null> => {
    const reader = asSlowReader(service.database.reader);
    const late: SlowReader = {
      ...reader,
      async all(sql, ...values) {
        if (sql.includes("count(*)") && !values.includes(Number.MAX_SAFE_INTEGER)) await Bun.sleep(slow);
        return reader.all(sql, ...values);
      },
    };
    const current = service.collections.definitions();
    const { definition, ...others } = {
      definition: { ...teams, permissions: { read: 'name ~ "7"' } },
      renamedFrom: new Map(),
    };
    const plans = service.collections.plan({
      define: [{ definition: definition as CollectionDefinition, ...others }],
      drop: [],
    });
    const trial = new EffectTrial("teams", { plans, current, users: service.collections.users, operation: "read" });
    const principals = callers.map(({ principal }) => principal);
    await trial.judge(late, principals, milliseconds);
    return trial.effects(callers, 16);
  };

  test("says that the counts are not exact, and leaves out callers that were not reached", async () => {
    for (let i = 0; i < 15; i++) await make("teams", { name: `team ${i}` });
    const short = await judged(Number.MIN_VALUE);
    expect(short).toMatchObject({ records: 16, looked: 10, isExact: false });
    expect(short?.callers).toMatchObject([
      { as: null, operations: [{ before: 0, after: 1, gained: { count: 1 }, lost: none }] },
    ]);
    // The time is over in the second slice, after the first caller: the slice counts for no caller.
    const middle = await judged(1_000, 1_200);
    expect(middle).toMatchObject({ looked: 10, isExact: false });
    expect(middle?.callers.map(({ operations }) => operations[0]?.before)).toEqual([0, 10, 10, 10]);
    expect(middle?.callers.map(({ operations }) => operations[0]?.after)).toEqual([1, 1, 1, 1]);
    const long = await judged(60_000);
    expect(long).toMatchObject({ looked: 16, isExact: true });
    expect(long?.callers.map(({ operations }) => operations[0]?.before)).toEqual([0, 16, 16, 16]);
    expect(long?.callers[1]?.operations).toMatchObject([
      { operation: "read", after: 1, lost: { count: 15, rest: 10 } },
    ]);
  });
});
