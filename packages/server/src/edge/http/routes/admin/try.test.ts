/** Trials: the answer that another user would get, and the part of the rule that decides. */
import { describe, expect, test } from "bun:test";
import type { RulePart, RuleTrial, RuleTrialRequest, StoredRecord } from "@socle/protocol";
import { lastSeq, openApi, setRole } from "../../../../../test/kit.ts";

const api = await openApi({
  collections: [
    {
      name: "teams",
      fields: [{ name: "name", type: "string" }],
      permissions: { read: "members(team).user = @user.id" },
    },
    {
      name: "members",
      fields: [
        { name: "team", type: "relation", collection: "teams", required: true },
        { name: "user", type: "relation", collection: "users", required: true },
        { name: "role", type: "string" },
      ],
      permissions: { read: "admin" },
    },
    {
      name: "tasks",
      fields: [
        { name: "title", type: "string", required: true },
        { name: "points", type: "integer" },
        { name: "team", type: "relation", collection: "teams" },
      ],
      permissions: {
        read: "team.members(team).user = @user.id",
        create: 'team.members(team)[user = @user.id && role != "guest"] && (points = null || points < 10)',
        delete: "admin",
      },
    },
    {
      name: "notes",
      fields: [{ name: "text", type: "string" }],
      permissions: { read: "owner", update: "authenticated" },
    },
  ],
});
const admin = await api.admin();
const [ann, bob, eve] = [
  (await api.register("ann@example.com")).user,
  await api.register("bob@example.com"),
  (await api.register("eve@example.com")).user,
];

async function made(name: string, body: object, token = admin): Promise<string> {
  const answer = await api.request<StoredRecord>("POST", `/api/${name}`, { body, token });
  expect(answer.status).toBe(201);
  return answer.body.id;
}

const ours = await made("teams", { name: "ours" });
const theirs = await made("teams", { name: "theirs" });
await made("members", { team: ours, user: ann.id, role: "member" });
await made("members", { team: ours, user: bob.user.id, role: "guest" });
await made("members", { team: theirs, user: eve.id, role: "member" });
const task = await made("tasks", { title: "Ours", team: ours });
const foreign = await made("tasks", { title: "Theirs", team: theirs, points: 3 });

async function attempt(name: string, body: RuleTrialRequest): Promise<RuleTrial> {
  const answer = await api.request<RuleTrial>("POST", `/api/admin/collections/${name}/try`, { token: admin, body });
  expect(answer.status).toBe(200);
  return answer.body;
}

/** The parts of a rule as "text: outcome", in the order of the tree. */
function outcomes(rule: string, part: RulePart | null | undefined): string[] {
  if (part === null || part === undefined) return [];
  const own = `${rule.slice(part.start, part.end)}: ${part.holds}`;
  return [own, ...part.parts.flatMap((each) => outcomes(rule, each))];
}

describe("a single record", () => {
  test("is read by its readers, and the parts of the rule give the reason", async () => {
    const trial = await attempt("tasks", { as: ann.id, operation: "read", id: task });
    expect(trial).toMatchObject({ as: { id: ann.id }, allowed: true, status: 200, error: null });
    expect(trial.answer).toMatchObject({ id: task, title: "Ours" });
    expect(trial.rules).toMatchObject([{ operation: "read", moment: "before", holds: true, parts: { holds: true } }]);
    const refused = await attempt("tasks", { as: ann.id, operation: "read", id: foreign });
    expect(refused).toMatchObject({ allowed: false, status: 404, error: { code: "not_found" }, answer: null });
    expect(refused.rules).toMatchObject([{ operation: "read", holds: false, parts: { holds: false } }]);
    const nobody = await attempt("tasks", { as: null, operation: "read", id: task });
    expect(nobody).toMatchObject({ as: null, allowed: false, status: 404 });
  });

  test("with fields and expansions, as in the caller's response", async () => {
    const query = { fields: "title,team.name", expand: "team" };
    const { answer } = await attempt("tasks", { as: ann.id, operation: "read", id: task, query });
    expect(answer).toEqual({ title: "Ours", expand: { team: { name: "ours" } } });
  });

  test("a change names the failed part, before and after the change", async () => {
    const asGuest = await attempt("tasks", { as: bob.user.id, operation: "update", id: task, body: { title: "Mine" } });
    expect(asGuest).toMatchObject({ allowed: false, status: 403, error: { code: "forbidden" } });
    const [before] = asGuest.rules;
    expect(asGuest.rules.map(({ operation, moment, holds }) => [operation, moment, holds])).toEqual([
      ["update", "before", false],
      ["read", "before", true],
    ]);
    expect(outcomes(before?.rule ?? "", before?.parts)).toEqual([
      // The update has no rule of its own: the rules of create and read must both hold.
      '(team.members(team)[user = @user.id && role != "guest"] && (points = null || points < 10)) and (team.members(team).user = @user.id): false',
      'team.members(team)[user = @user.id && role != "guest"] && (points = null || points < 10): false',
      'team.members(team)[user = @user.id && role != "guest"]: false',
      "user = @user.id: true",
      'role != "guest": false',
      "points = null || points < 10: true",
      "points = null: true",
      "points < 10: null",
      "team.members(team).user = @user.id: true",
    ]);
    const moved = await attempt("tasks", {
      as: ann.id,
      operation: "update",
      id: task,
      body: { team: theirs, points: 12 },
    });
    expect(moved).toMatchObject({ allowed: false, status: 403 });
    expect(moved.rules.map(({ operation, moment, holds }) => [operation, moment, holds])).toEqual([
      ["update", "before", true],
      ["read", "before", true],
      ["update", "after", false],
      ["read", "after", false],
    ]);
    const after = moved.rules[2];
    expect(outcomes(after?.rule ?? "", after?.parts)).toContain("user = @user.id: false");
    const allowed = await attempt("tasks", { as: ann.id, operation: "update", id: task, body: { points: 5 } });
    expect(allowed).toMatchObject({ allowed: true, status: 200, answer: { id: task, points: 5 } });
  });

  test("a creation is tried with the resulting record", async () => {
    const body = { title: "New", team: ours };
    expect(await attempt("tasks", { as: ann.id, operation: "create", body })).toMatchObject({
      allowed: true,
      status: 201,
      answer: { title: "New", team: ours },
      rules: [
        { operation: "create", moment: "after", holds: true },
        { operation: "read", moment: "after", holds: true },
      ],
    });
    expect(await attempt("tasks", { as: eve.id, operation: "create", body })).toMatchObject({
      allowed: false,
      status: 403,
      rules: [
        { operation: "create", holds: false },
        { operation: "read", holds: false },
      ],
    });
    expect(await attempt("tasks", { as: null, operation: "create", body })).toMatchObject({
      allowed: false,
      status: 401,
    });
    const invalid = await attempt("tasks", { as: ann.id, operation: "create" });
    expect(invalid).toMatchObject({ allowed: false, status: 400, error: { details: [{ field: "title" }] }, rules: [] });
  });

  test("a deletion, words, and missing records", async () => {
    expect(await attempt("tasks", { as: ann.id, operation: "delete", id: task })).toMatchObject({
      allowed: false,
      status: 403,
      rules: [
        { operation: "delete", rule: "admin", holds: false, parts: null },
        { operation: "read", holds: true },
      ],
    });
    const missing = task.replace(/.$/, (last) => (last === "0" ? "1" : "0"));
    expect(await attempt("tasks", { as: ann.id, operation: "delete", id: missing })).toMatchObject({
      status: 403,
      rules: [],
    });
    expect(await attempt("tasks", { as: ann.id, operation: "read", id: missing })).toMatchObject({
      status: 404,
      rules: [],
    });
    const note = await made("notes", { text: "bob's" }, bob.accessToken);
    expect(await attempt("notes", { as: bob.user.id, operation: "delete", id: note })).toMatchObject({
      allowed: true,
      status: 204,
    });
    expect(await attempt("notes", { as: ann.id, operation: "read", id: note })).toMatchObject({
      allowed: false,
      status: 403,
      rules: [{ rule: "owner", holds: false, parts: null }],
    });
  });

  test("no rule holds an admin back, and the parts have their own results", async () => {
    await setRole(api.service, eve.id, "admin");
    const trial = await attempt("tasks", { as: eve.id, operation: "read", id: task });
    expect(trial).toMatchObject({ allowed: true, rules: [{ holds: true, parts: { holds: false } }] });
    await setRole(api.service, eve.id, "authenticated");
  });
});

describe("a list", () => {
  test("has the caller's records, as in the response to GET", async () => {
    const trial = await attempt("tasks", {
      as: bob.user.id,
      operation: "read",
      query: { count: "exact", sort: "title" },
    });
    expect(trial).toMatchObject({ allowed: true, status: 200, rules: [], answer: { total: 1, items: [{ id: task }] } });
    const same = await api.request("GET", "/api/tasks?count=exact&sort=title&limit=20", { token: bob.accessToken });
    expect(trial.answer).toEqual(same.body as never);
    expect(await attempt("tasks", { as: null, operation: "read" })).toMatchObject({
      allowed: true,
      answer: { items: [] },
    });
    expect(await attempt("notes", { as: null, operation: "read" })).toMatchObject({
      allowed: false,
      status: 401,
      answer: null,
    });
    const wrong = await attempt("tasks", { as: bob.user.id, operation: "read", query: { filter: "no = 1" } });
    expect(wrong).toMatchObject({ allowed: false, status: 400, error: { code: "bad_request" } });
  });
});

test("nothing is written, published or counted", async () => {
  const before = await lastSeq(api.service);
  const records = await api.request("GET", "/api/tasks?count=exact", { token: admin });
  for (const as of [ann.id, eve.id, null]) {
    await attempt("tasks", { as, operation: "create", body: { title: "New", team: ours } });
    await attempt("tasks", { as, operation: "update", id: task, body: { title: "Changed" } });
    await attempt("notes", { as, operation: "create", body: { text: "New" } });
  }
  expect(await lastSeq(api.service)).toBe(before);
  const after = await api.request("GET", "/api/tasks?count=exact", { token: admin });
  expect(after.body).toEqual(records.body);
  expect((await api.request("GET", "/api/admin/collections/notes", { token: admin })).body).toMatchObject({
    records: 1,
  });
  expect(api.log.filter((line) => /^(WARN|ERROR|FATAL)/.test(line))).toEqual([]);
});

test.each([
  ["no operation", { as: null }, /"operation" must be/],
  ["a user who is not there", { as: "usr_none", operation: "read" }, /there is no user "usr_none"/],
  ["no caller", { operation: "read" }, /"as" must be/],
  ["an update of nothing", { as: null, operation: "update" }, /"id" is missing/],
  ["a creation of something", { as: null, operation: "create", id: task }, /"id" is left out/],
  ["too long a list", { as: null, operation: "read", query: { limit: 101 } }, /at most 100/],
  ["an odd query", { as: null, operation: "read", query: { limit: null } }, /texts and numbers/],
  ["something else", { as: null, operation: "read", rule: "public" }, /"rule" cannot be set here/],
])("%s is no trial", async (_, body, message) => {
  const answer = await api.request("POST", "/api/admin/collections/tasks/try", { token: admin, body });
  expect(answer.status).toBe(400);
  expect(String(answer.body["error"]?.["message"])).toMatch(message);
});

test("an unknown collection is 404", async () => {
  const body = { as: null, operation: "read" };
  expect((await api.request("POST", "/api/admin/collections/none/try", { token: admin, body })).status).toBe(404);
});
