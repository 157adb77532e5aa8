/** Seeds: users and records of a file, all or nothing. */
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { JsonValue } from "@socle/protocol";
import { lastSeq, openApi, temporaryFolder } from "../../test/kit.ts";
import { openScripts } from "../../test/scripts.ts";
import { seedFrom } from "./seed.ts";

const api = await openApi({
  collections: [
    {
      name: "teams",
      fields: [
        { name: "name", type: "string", required: true },
        { name: "lead", type: "relation", collection: "users" },
        { name: "data", type: "json" },
        { name: "by", type: "relation", collection: "users", owner: true },
      ],
    },
    {
      name: "issues",
      fields: [
        { name: "title", type: "string" },
        { name: "team", type: "relation", collection: "teams" },
        { name: "watchers", type: "relation", collection: "users", multiple: true },
      ],
    },
  ],
});
const { service } = api;
const folder = temporaryFolder();
let files = 0;

async function seed(content: object): Promise<string[]> {
  files += 1;
  const file = join(folder, `${files}.json`);
  await Bun.write(file, JSON.stringify(content));
  return (await seedFrom(file, service)).map(({ name, outcome }) => `${name}: ${outcome}`);
}

async function all(name: string): Promise<{ [field: string]: JsonValue }[]> {
  return (await api.request<{ items: { [field: string]: JsonValue }[] }>("GET", `/api/${name}`)).body.items;
}

const ada = { $as: "ada", email: "Ada@example.com", password: "correct horse" };

describe("refused as a whole", () => {
  test.each<[string, object, string]>([
    ["a collection that is none", { nothing: [] }, 'no collection "nothing"'],
    ["a list that is none", { teams: {} }, '"teams" must be an array'],
    ["an item that is none", { teams: [7] }, "teams[0]: must be an object"],
    ["an unknown key with $", { teams: [{ name: "a", $ownr: "x" }] }, '"$ownr" means nothing here'],
    ["an unknown key of a user", { users: [{ ...ada, role: "admin" }] }, '"role" means nothing here'],
    ["an unknown field", { teams: [{ name: "a" }, { name: "b", titel: "x" }] }, 'teams[1]: "titel" is not a field'],
    [
      "a key beside $ref",
      { users: [ada], teams: [{ name: "a", lead: { $ref: "ada", x: 1 } }] },
      '"x" means nothing beside "$ref"',
    ],
    [
      "a reference to nothing",
      { issues: [{ team: { $ref: "later" } }], teams: [{ $as: "latter", name: "a" }] },
      'called "later"',
    ],
    [
      "a reference to a later record of another collection",
      {
        issues: [
          { title: "a", team: { $ref: "b" } },
          { $as: "b", title: "b" },
        ],
      },
      'issues[0]: team points to "rec_',
    ],
    ["an owner who is none", { teams: [{ name: "a", $owner: "bob@example.com" }] }, '"$owner" "bob@example.com"'],
    [
      "a name twice",
      {
        teams: [
          { $as: "x", name: "a" },
          { $as: "x", name: "b" },
        ],
      },
      '"x" is the name of an earlier one',
    ],
    ["a short password", { users: [{ ...ada, password: "x" }] }, "users[0]: password must be at least"],
    [
      "a record at the end",
      { users: [ada], teams: [{ name: "a" }], issues: [{ title: 7 }] },
      "issues[0]: title must be a string",
    ],
  ])("%s", async (_name, content, message) => {
    const seq = await lastSeq(service);
    await expect(seed(content)).rejects.toThrow(message);
    expect([await all("teams"), await all("issues"), await lastSeq(service)]).toEqual([[], [], seq]);
    expect(await service.auth.users.findByEmail("ada@example.com")).toBeNull();
  });
});

test("users and records that point to each other; a second run changes nothing", async () => {
  const content = {
    users: [ada, { email: "bob@example.com", password: "correct horse" }],
    teams: [
      {
        $as: "red",
        $owner: "ADA@example.com",
        name: "red",
        lead: { $ref: "bob@example.com" },
        data: [{ $ref: "#/x" }],
      },
      { name: "blue", lead: { $ref: "ada" } },
    ],
    issues: [{ title: "first", team: { $ref: "red" }, watchers: [{ $ref: "bob@example.com" }, { $ref: "ada" }] }],
  };
  expect(await seed(content)).toEqual(["users: 2 users added", "teams: 2 records added", "issues: 1 record added"]);
  const user = async (email: string) => (await service.auth.users.findByEmail(email))?.id ?? "";
  const [adaId, bobId] = [await user("ada@example.com"), await user("bob@example.com")];
  const [blue, red] = await all("teams");
  expect(red).toMatchObject({ name: "red", by: adaId, lead: bobId, data: [{ $ref: "#/x" }] });
  expect(blue).toMatchObject({ name: "blue", by: null, lead: adaId });
  expect((await all("issues"))[0]).toMatchObject({ team: red?.["id"] ?? "", watchers: [bobId, adaId] });
  const left = "has records already, nothing added";
  expect(await seed(content)).toEqual(["users: 0 users added", `teams: ${left}`, `issues: ${left}`]);
  expect((await all("teams")).length).toBe(2);
});

test("references forward, to the record itself and in rings, and records that need each other", async () => {
  const forward = await openApi({
    collections: [
      { name: "users", fields: [{ name: "team", type: "relation", collection: "teams" }] },
      {
        name: "teams",
        fields: [
          { name: "lead", type: "relation", collection: "users" },
          { name: "first", type: "relation", collection: "issues", required: true },
          { name: "parent", type: "relation", collection: "teams" },
        ],
      },
      { name: "issues", fields: [{ name: "team", type: "relation", collection: "teams", required: true }] },
    ],
  });
  const file = join(folder, "forward.json");
  const content = {
    issues: [{ $as: "one", team: { $ref: "red" } }],
    teams: [{ $as: "red", lead: { $ref: "ada@example.com" }, first: { $ref: "one" }, parent: { $ref: "red" } }],
    users: [{ email: "ada@example.com", password: "correct horse", team: { $ref: "red" } }],
  };
  await Bun.write(file, JSON.stringify(content));
  const report = await seedFrom(file, forward.service);
  expect(report.map(({ name, outcome }) => `${name}: ${outcome}`)).toEqual([
    "issues: 1 record added",
    "teams: 1 record added",
    "users: 1 user added",
  ]);
  const only = async (name: string): Promise<{ [field: string]: JsonValue } | undefined> =>
    (await forward.request<{ items: { [field: string]: JsonValue }[] }>("GET", `/api/${name}`)).body.items[0];
  const [issue, team] = [await only("issues"), await only("teams")];
  const ada = forward.service.auth.users.findByEmail("ada@example.com");
  expect(issue).toMatchObject({ team: team?.["id"] ?? "" });
  expect(team).toMatchObject({ first: issue?.["id"] ?? "", parent: team?.["id"] ?? "", lead: ada?.id ?? "" });
  const { reader } = forward.service.database;
  expect(forward.service.records.users.find(reader, ada?.id ?? "")).toMatchObject({ team: team?.["id"] ?? "" });
});

test("a seed calls no hooks", async () => {
  const hooked = await openScripts({
    collections: [{ name: "notes", fields: [{ name: "text", type: "string" }] }],
    files: { "functions/notes/a.ts": 'export const beforeCreate = () => { throw new Refusal("no notes"); };' },
  });
  expect((await hooked.request("POST", "/api/notes", { body: { text: "a" } })).status).toBe(400);
  const file = join(folder, "hooked.json");
  await Bun.write(file, JSON.stringify({ notes: [{ text: "a" }] }));
  await seedFrom(file, hooked.service);
  expect((await hooked.request<{ items: object[] }>("GET", "/api/notes")).body.items).toHaveLength(1);
});
