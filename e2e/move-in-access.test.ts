/** Access after a move from PocketBase: logins, lists and changes of each caller are as in PocketBase, or the report has the reason. */
import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { join } from "node:path";
import { post, singleService } from "./kit.ts";
import {
  expected,
  type Item,
  list,
  moved,
  movedProject,
  newEmails,
  newField,
  newName,
  tokenOf,
  type Write,
} from "./move-in-kit.ts";

singleService("commands");

const { cwd, server, report, items, ids } = await movedProject();

test("people sign in with their old passwords, which are hashed anew", async () => {
  const hashes = (): Map<string, string> => {
    const database = new Database(join(cwd, "socle.db"), { readonly: true });
    const rows = database.query("SELECT id, passwordHash FROM _users").all() as {
      id: string;
      passwordHash: string;
    }[];
    database.close();
    return new Map(rows.map(({ id, passwordHash }) => [id, passwordHash]));
  };
  const people = Object.entries(expected.people).flatMap(([name, each]) =>
    name in newName ? [] : each.map((one) => ({ ...one, name })),
  );
  let tried = 0;
  for (const { id, email, password, name } of people) {
    const own = items.get(name)?.find(({ sourceId }) => sourceId === id);
    if (own === undefined) continue;
    const address = newEmails[id] ?? email;
    const wanted = id === "staff0000000003" ? 401 : 200;
    expect([address, (await tokenOf(server.url, address, `${password}?`)).status]).toEqual([address, 401]);
    expect([address, (await tokenOf(server.url, address, password)).status]).toEqual([address, wanted]);
    expect(hashes().get(own.id)).toMatch(wanted === 200 ? /^\$argon2id\$/ : /^$/);
    expect([address, (await tokenOf(server.url, address, password)).status]).toEqual([address, wanted]);
    tried += 1;
  }
  expect(tried).toBe(17);
  expect(report).toContain("Users whom the authRule refuses, and who move without a password: staff/staff0000000003");
});

test("the lists of each caller are equal, or the report has the reason", async () => {
  const people = [...expected.people.users, ...expected.people.staff];
  const emails: Record<string, string> = {
    ada: "ada@harbour.example",
    bo: "bo@harbour.example",
    cem: "cem+club@harbour.example",
  };
  /** The lists that differ, and the line of the report. */
  const reasons: Record<string, string> = {
    "anonymous comments":
      "comments.listRule: the empty id of a caller without a token equals an empty author: 2 records",
    "anonymous teams":
      "teams.listRule: the empty id of a caller without a token equals an empty members(team).user: 3 records",
    "anonymous members":
      "members.listRule: the empty id of a caller without a token equals an empty team.members(team).user: 5 records",
    "* specimens": "specimens.listRule: keeper:lower = @request.auth.handle:lower",
    "staff ida staff": 'staff.listRule: @request.auth.collectionName = "staff"',
  };
  const differing = new Set<string>();
  for (const [caller, collections] of Object.entries(expected.access)) {
    const id = {
      ada: "adalindgren0001",
      bo: "user00000000002",
      cem: "user00000000003",
      "staff ida": "staff0000000002",
    }[caller];
    const person = people.find((each) => each.id === id);
    const login = person && (await tokenOf(server.url, emails[caller] ?? newEmails[person.id] ?? "", person.password));
    expect(login?.status ?? 200).toBe(200);
    for (const { name } of moved) {
      const before = collections[name]?.list;
      const found = await list(server.url, newName(name), login?.token ?? "");
      const own = (typeof found === "number" ? [] : found).filter(
        ({ id: each }) => newName(name) !== "users" || items.get(name)?.some((item) => item.id === each),
      );
      const after = own
        .map((each) => items.get(name)?.find((item) => item.id === each.id)?.sourceId ?? each.id)
        .toSorted();
      const wanted = Array.isArray(before) ? before.toSorted() : [];
      if (JSON.stringify(after) === JSON.stringify(wanted)) continue;
      // Nobody reads more than before.
      expect([caller, name, after.filter((each) => !wanted.includes(each))]).toEqual([caller, name, []]);
      const reason = reasons[`${caller} ${name}`] ?? reasons[`* ${name}`] ?? "no reason";
      expect([caller, name, report.includes(reason)]).toEqual([caller, name, true]);
      differing.add(`${caller} ${name}`);
    }
  }
  expect([...differing].filter((each) => !/specimens|places/.test(each)).toSorted()).toEqual(
    ["anonymous comments", "anonymous members", "anonymous teams", "staff ida staff"].toSorted(),
  );
});

test("hidden fields, locked fields and shown emails keep their meaning", async () => {
  const ada = await tokenOf(server.url, "ada@harbour.example", expected.people.users[0]?.password ?? "");
  const found = (await list(server.url, "users", ada.token)) as Item[];
  const shown = found
    .filter(({ email }) => email !== undefined)
    .map(({ id }) => items.get("users")?.find((each) => each.id === id)?.sourceId);
  expect(shown.toSorted()).toEqual(["adalindgren0001", "user00000000003"]);
  const posts = (await list(server.url, "posts", ada.token)) as Item[];
  expect(posts.some((each) => "internalNote" in each)).toBe(false);
  const own = items.get("users")?.find(({ sourceId }) => sourceId === "adalindgren0001");
  const put = (body: object) =>
    fetch(`${server.url}/api/users/${own?.id}`, {
      method: "PUT",
      headers: { Authorization: `Bearer ${ada.token}`, "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
  expect((await put({ role_: "treasurer" })).status).toBe(403);
  expect((await put({ sourceCollection: "staff" })).status).toBe(403);
  expect((await put({ sourceId: "another" })).status).toBe(403);
  expect((await put({ name: "Ada L." })).status).toBe(200);
  const register = (fields: object) =>
    post(`${server.url}/api/auth/register`, { email: "otto@harbour.example", password: "a new member 1", ...fields });
  expect((await register({ role_: "treasurer" })).status).toBe(403);
  expect((await register({ sourceCollection: "staff" })).status).toBe(403);
  expect((await register({ role_: "member", sourceId: "another" })).status).toBe(403);
  expect((await register({})).status).toBe(201);
});

/** The token of each caller of the answers; "" for a caller without a token. */
async function tokensOfCallers(): Promise<Map<string, string>> {
  const ids = { ada: "adalindgren0001", bo: "user00000000002", cem: "user00000000003", "staff ida": "staff0000000002" };
  const people = [...expected.people.users, ...expected.people.staff];
  const tokens = new Map([["anonymous", ""]]);
  for (const [caller, id] of Object.entries(ids)) {
    const person = people.find((each) => each.id === id);
    const login = await tokenOf(server.url, newEmails[id] ?? person?.email ?? "", person?.password ?? "");
    expect([caller, login.status]).toEqual([caller, 200]);
    tokens.set(caller, login.token);
  }
  return tokens;
}

/** A request to Socle for a write of the answers: new names, new ids. */
function requestFor({ method, path, body = {} }: Write): { method: string; path: string; body: object } {
  const [, name = "", id] = /^(\w+)(?:\/(\w+))?/.exec(path) ?? [];
  const pb = moved.find((each) => each.name === name);
  const values = Object.entries(body).map(([key, value]) => {
    const target = pb?.fields.find((field) => field.name === key)?.collectionId;
    const idFor = (old: unknown): unknown => ids.get(`${target}/${old}`) ?? old;
    const isList = Array.isArray(value);
    return [newField(name, key), target === undefined ? value : isList ? value.map(idFor) : idFor(value)] as const;
  });
  const { passwordConfirm: _, ...sent } = Object.fromEntries(values);
  if (name === "users" && method === "POST") return { method, path: "auth/register", body: sent };
  const record = id === undefined ? "" : `/${items.get(name)?.find(({ sourceId }) => sourceId === id)?.id}`;
  return { method: method === "PATCH" ? "PUT" : method, path: `${newName(name)}${record}`, body: sent };
}

/** The writes that PocketBase takes and Socle refuses, and the line of the report. */
const refusedNow: Record<string, string> = {
  "ada POST tags": "tags.createRule: @request.auth.verified = true",
  "staff ida PATCH tags": 'tags.updateRule: @request.auth.collectionName = "staff"',
  "staff ida PATCH posts": 'posts.updateRule: @request.auth.collectionName = "staff"',
  "ada POST comments": "comments.createRule: @collection.bans.user != @request.auth.id",
  "ada PATCH specimens": "specimens.updateRule: keeper:lower = @request.auth.handle:lower",
  "anonymous PATCH places": 'places.updateRule: @request.headers.x_club = "harbour"',
  "anonymous GET places": 'places.viewRule: @request.query.all = "1"',
  "anonymous PATCH teams":
    "teams.updateRule: the empty id of a caller without a token equals an empty lead.user: 1 record",
  "anonymous POST members":
    "members.createRule: the empty id of a caller without a token equals an empty team.lead.user",
  "anonymous DELETE comments":
    "comments.deleteRule: the empty id of a caller without a token equals an empty author: 2 records",
};

test("each write of a caller is as before, or refused with a reason of the report", async () => {
  const tokens = await tokensOfCallers();
  const refused = new Set<string>();
  for (const write of expected.writes) {
    const { caller, method: verb, path: before, body: given } = write;
    const { method, path, body } = requestFor(write);
    const token = tokens.get(caller) ?? "";
    const headers = { "Content-Type": "application/json", ...(token !== "" && { Authorization: `Bearer ${token}` }) };
    const sent = method === "POST" || method === "PUT" ? { body: JSON.stringify(body) } : {};
    const response = await fetch(`${server.url}/api/${path}`, { method, headers, ...sent });
    await response.bytes();
    const place = [caller, verb, before, given, write.status];
    if (!response.ok) expect([...place, [400, 401, 403, 404].includes(response.status)]).toEqual([...place, true]);
    // A value that is the default counts as a value that is not sent.
    const isDefault = Reflect.get(given ?? {}, "featured") === false;
    if (write.status >= 400) expect([...place, response.ok]).toEqual([...place, isDefault]);
    else if (!response.ok) {
      const key = `${caller} ${verb} ${/^\w+/.exec(before)}`;
      expect([...place, report.includes(refusedNow[key] ?? "no reason")]).toEqual([...place, true]);
      refused.add(key);
    }
  }
  expect([...refused].toSorted()).toEqual(Object.keys(refusedNow).toSorted());
  expect(expected.writes).toBeArrayOfSize(79);
});

test("a rule about the sent value is a rule about the record, and a locked field stays", async () => {
  const token = (await tokensOfCallers()).get("ada") ?? "";
  const write = async (method: string, path: string, body: object): Promise<number> => {
    const request = requestFor({ caller: "ada", method, path, body: { ...body }, status: 0 });
    const headers = { "Content-Type": "application/json", Authorization: `Bearer ${token}` };
    const response = await fetch(`${server.url}/api/${request.path}`, {
      ...{ method: request.method, headers, body: JSON.stringify(request.body) },
    });
    await response.bytes();
    return response.status;
  };
  expect(await write("POST", "posts", { title: "t", status: "draft", featured: true })).toBe(403);
  expect(await write("POST", "posts", { title: "t", status: "published" })).toBe(403);
  expect(await write("POST", "members", { team: "team00000000001", user: "user00000000003" })).toBe(201);
  // A member stays in the team.
  expect(await write("PATCH", "members/member000000002", { team: "team00000000002" })).toBe(403);
  expect(await write("PATCH", "members/member000000002", { role: "cook" })).toBe(200);
});
