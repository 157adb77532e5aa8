/** Tests of rules of PocketBase in the language of Socle: what is equal, what is closed, and what was open to callers without a token. */
import { describe, expect, test } from "bun:test";
import { callerFields, RuleTranslator } from "./rules.ts";
import type { PbCollection, PbField, RuleName } from "./sql/data-folder.ts";
import { World } from "./world.ts";

const collection = (name: string, fields: PbField[], more: Partial<PbCollection> = {}): PbCollection => ({
  ...{ id: `pbc_${name}`, name, type: "base", created: "2026-01-01 00:00:00.000Z", fields, indexes: [], options: {} },
  ...{ listRule: null, viewRule: null, createRule: null, updateRule: null, deleteRule: null },
  ...more,
});
const relation = (name: string, to: string, more: Partial<PbField> = {}): PbField => ({
  ...{ name, type: "relation", collectionId: `pbc_${to}`, maxSelect: 1 },
  ...more,
});
const fields: PbField[] = [
  { name: "title", type: "text" },
  { name: "status", type: "select", maxSelect: 1, values: ["draft", "open"] },
  { name: "flags", type: "select", maxSelect: 3, values: ["a", "b"] },
  { name: "views", type: "number" },
  { name: "isDone", type: "bool" },
  { name: "due", type: "date" },
  { name: "meta", type: "json" },
  { name: "spot", type: "geoPoint" },
  { name: "home", type: "geoPoint" },
  { name: "created", type: "autodate", onCreate: true },
  relation("author", "users", { required: true }),
  relation("editor", "users"),
  relation("readers", "users", { maxSelect: 9 }),
  relation("team", "teams"),
];

/** @param owner the field that shows the owner. */
function translated(
  rule: string | null,
  name: RuleName = "listRule",
  { owner = null as string | null, staff = false } = {},
) {
  const all = [
    collection("users", [{ name: "handle", type: "text" }], { type: "auth" }),
    ...(staff ? [collection("staff", [], { type: "auth" })] : []),
    collection("teams", [{ name: "name", type: "text" }, { name: "due", type: "date" }, relation("lead", "users")]),
    collection("members", [relation("team", "teams"), relation("user", "users")]),
    collection("posts", fields, { [name]: rule }),
  ];
  const world = new World(all);
  const posts = world.named("posts");
  if (posts === undefined) throw new Error("There are posts");
  return new RuleTranslator(world, posts, owner).translate(name);
}

test.each([
  [null, "admin"],
  ["", "public"],
  ['@request.auth.id != ""', "authenticated"],
  ["'' != @request.auth.id // anybody with a token", "authenticated"],
  ["author = @request.auth.id", "author = @user.id"],
  ["@request.auth.id = author", "author = @user.id"],
  ["author.id = @request.auth.id", "author = @user.id"],
  ['status = "open" || author = @request.auth.id', 'status = "open" || author = @user.id'],
  ['status = "open" && (isDone = true || views >= 3)', 'status = "open" && (isDone = true || views >= 3)'],
  ['3 < views && title ~ "a\\"b"', 'views > 3 && title ~ "a\\"b"'],
  ['title = ""', '(title = null || title = "")'],
  ['title != ""', '(title != null && title != "")'],
  ['editor = ""', "editor = null"],
  ['status = "none"', "admin"],
  ['status != "none"', "public"],
  ['title:lower = "a"', 'lower(title) = "a"'],
  ["readers:length <= 3", "length(readers) <= 3"],
  ['flags:each != "a"', 'flags != "a"'],
  ['flags:each ?= "a"', 'flags = "a"'],
  ["readers.id ?= @request.auth.id", "readers = @user.id"],
  ['@request.auth.id != "" && readers ~ @request.auth.id', "@user.id != null && readers = @user.id"],
  ["team.members_via_team.user ?= @request.auth.id", "team.members(team).user = @user.id"],
  ['due > "2026-01-02 03:04:05.678Z"', 'due > "2026-01-02T03:04:05.678Z"'],
  ['due >= "2026-01-02"', 'due >= "2026-01-02T00:00:00.000Z"'],
  ['due < "2026-01-02"', '(due < "2026-01-02T00:00:00.000Z" || due = null)'],
  ["geoDistance(spot.lon, spot.lat, 10, 53.5) < 300", "distance(spot, 53.5, 10) < 300km"],
  ["geoDistance(-10.5, 53, home.lon, home.lat) >= 1.5", "distance(home, 53, -10.5) >= 1.5km"],
  ["300 > geoDistance(spot.lon,spot.lat,10,53.5)", "distance(spot, 53.5, 10) < 300km"],
  ["due <= @now", "(due <= @now || due = null)"],
  ["team.due < @now", "team.due < @now"],
  ["created > @yesterday", "createdAt > @now - 1d"],
  ['@request.auth.collectionName = "users" && isDone = false', "@user.id != null && isDone = false"],
])("a rule of the same meaning: %s becomes %s", (rule, expected) => {
  expect(translated(rule)).toMatchObject({ rule: expected, closed: [] });
});

describe("a comparison without the same meaning is closed", () => {
  test.each([
    ["@request.auth.verified = true", "admin"],
    ['@request.auth.id != "" && @request.auth.handle = title', "admin"],
    ['isDone = true || @request.headers.x = "1"', "isDone = true"],
    ["@collection.members.user ?= @request.auth.id", "admin"],
    ["team.members_via_team.user = @request.auth.id", "admin"],
    ["readers ?= @request.auth.id || isDone = true", "isDone = true"],
    ["editor != @request.auth.id", "admin"],
    ["isDone = true && editor != @request.auth.id", "admin"],
    ["members_via_team.id:length > 1", "admin"],
    ["geoDistance(a.lon, a.lat, 10, (5)) < 3 || isDone = true", "isDone = true"],
    ["geoDistance(spot.lon, spot.lat, 10, title) < 3", "admin"],
    ["geoDistance(spot.lat, spot.lon, 10, 5) < 3", "admin"],
    ["geoDistance(spot.lon, spot.lat, 10, 5) = 3", "admin"],
    ["geoDistance(spot.lon, home.lat, 10, 5) < 3", "admin"],
    ["meta.a = 1", "admin"],
    ["missing = 1", "admin"],
    ['title ~ "a%"', "admin"],
    // PocketBase heeds the case of letters beyond ASCII.
    ['title ~ "é"', "admin"],
    ['title:lower = "é"', "admin"],
    // PocketBase compares texts of times: a day is less than midnight of the day.
    ['due <= "2026-01-02"', "admin"],
    ['due = "2026-01-02"', "admin"],
    ['due > "2026-01-02 03:04:05Z"', "admin"],
    ["(title = 1", "admin"],
    ["title = title", "admin"],
    ['@request.body.status = "open"', "admin"],
  ])("%s becomes %s", (rule, expected) => {
    const found = translated(rule);
    expect(found.rule).toBe(expected);
    expect(found.closed).toBeArrayOfSize(1);
  });

  test("of two auth collections, a rule does not know the collection of the caller", () => {
    expect(translated('@request.auth.collectionName = "users"', "listRule", { staff: true }).rule).toBe("admin");
  });
});

describe("a value of the body", () => {
  test.each([
    ["@request.body.isDone:isset = false", "(isDone = null || isDone = false)"],
    ["@request.body.title:isset = false", "title = null"],
    ['@request.body.status != "open"', 'status != "open"'],
    // A time that is not sent is no time before now.
    ["@request.body.due <= @now", "due <= @now"],
    ['@request.auth.id != "" && @request.body.author = @request.auth.id', "authenticated"],
  ])("of a create: %s", (rule, expected) => {
    expect(translated(rule, "createRule", { owner: "author" })).toMatchObject({ rule: expected, closed: [] });
  });

  test("that an update must not change locks the field, but for the owner", () => {
    const rule =
      "author = @request.auth.id && @request.body.author:changed = false && @request.body.team:isset = false";
    expect(translated(rule, "updateRule", { owner: "author" })).toMatchObject({
      ...{ rule: "author = @user.id", closed: [], locked: ["team"] },
    });
    expect(translated("@request.body.team = 'x'", "updateRule").rule).toBe("admin");
    expect(translated("@request.body.title:isset = true", "createRule").rule).toBe("admin");
  });
});

describe("an empty id of a caller", () => {
  const leaks = (rule: string) => translated(rule).leaks.map(({ path }) => path);

  test("equals an empty value if the rule demands no token", () => {
    expect(leaks("editor = @request.auth.id")).toEqual(["editor"]);
    expect(leaks("team.lead = @request.auth.id || isDone = true")).toEqual(["team.lead"]);
    expect(leaks("readers.id ?= @request.auth.id")).toEqual(["readers"]);
    expect(leaks("title = @request.auth.id")).toEqual(["title"]);
    expect(leaks("isDone = true && editor = @request.auth.id")).toEqual(["editor"]);
  });

  test("equals no empty value if the rule demands a token, or the value is never empty", () => {
    expect(leaks('@request.auth.id != "" && (isDone = true || editor = @request.auth.id)')).toEqual([]);
    expect(leaks('(@request.auth.id != "" && editor = @request.auth.id) || isDone = true')).toEqual([]);
    expect(leaks("author = @request.auth.id")).toEqual([]);
  });
});

test("the fields that a create rule demands to be the caller", () => {
  expect(callerFields('@request.auth.id != "" && @request.body.author = @request.auth.id')).toEqual(["author"]);
  expect(callerFields("@request.auth.id = author && (editor = @request.auth.id || isDone = true)")).toEqual(["author"]);
  for (const rule of [null, "", "author = @request.auth.id || isDone = true", "author != @request.auth.id", "(("])
    expect(callerFields(rule)).toEqual([]);
});
