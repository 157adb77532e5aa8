/**
 * Rules of fields: no answer holds a value that the caller may not read, and no caller writes a field without the right to write.
 */
import { describe, expect, test } from "bun:test";
import { openApi, setRole } from "../../../test/kit.ts";

const relation = (name: string, collection: string): object => ({ name, type: "relation", collection });
const isMember = "team.members(team)[user = @user.id]";
const { request, register, admin, service } = await openApi({
  collections: [
    { name: "teams", fields: [{ name: "name", type: "string" }] },
    {
      name: "members",
      fields: [relation("team", "teams"), relation("user", "users")],
      permissions: { read: "admin" },
    },
    {
      name: "hooks",
      fields: [
        { name: "name", type: "string", required: true },
        { name: "secret", type: "string", permissions: { read: "admin" } },
        { name: "note", type: "string", permissions: { read: "owner" } },
        { name: "salary", type: "integer", permissions: { read: isMember, update: `${isMember} && salary < 100` } },
        { name: "status", type: "string", permissions: { update: "admin" } },
        { name: "pin", type: "string", permissions: { read: "admin", update: "authenticated" } },
        { ...relation("team", "teams") },
        { ...relation("rival", "teams"), permissions: { read: isMember, update: "authenticated" } },
        { ...relation("by", "users"), owner: true },
      ],
      permissions: { read: "public", create: "authenticated", update: "authenticated", delete: "admin" },
    },
  ],
});
const root = await admin();
const [ann, bob] = [await register("ann@x.org"), await register("bob@x.org")];

type Answered = { id: string } & Record<string, unknown>;
async function make(collection: string, body: object, token = root): Promise<Answered> {
  const made = await request<Answered>("POST", `/api/${collection}`, { body, token });
  expect([collection, made.status, made.body]).toEqual([collection, 201, expect.anything()]);
  return made.body;
}
const [red, blue] = [(await make("teams", { name: "red" })).id, (await make("teams", { name: "blue" })).id];
await make("members", { team: red, user: ann.user.id });
await make("members", { team: blue, user: bob.user.id });
const whole = {
  name: "one",
  secret: "s3cret",
  note: "n0te",
  salary: 50,
  status: "new",
  pin: "1234",
  team: red,
  rival: blue,
};
const { id } = await make("hooks", { ...whole, by: bob.user.id });
const path = `/api/hooks/${id}`;

const always = ["by", "createdAt", "id", "name", "status", "team", "updatedAt"];
const callers = [
  ["nobody", undefined, []],
  ["a member", ann.accessToken, ["rival", "salary"]],
  ["the owner", bob.accessToken, ["note"]],
  ["an admin", root, ["note", "pin", "rival", "salary", "secret"]],
] as const;
const as = (token: string | undefined): { token?: string } => (token === undefined ? {} : { token });

describe.each(callers)("%s", (_name, token, more) => {
  const keys = [...always, ...more].sort();
  const get = async <T = Answered>(address: string): Promise<T> => {
    const answer = await request<T>("GET", address, as(token));
    expect([address, answer.status]).toEqual([address, 200]);
    return answer.body;
  };

  test("gets the readable fields of a record, in lists, and beside other records", async () => {
    expect(Object.keys(await get(path)).sort()).toEqual(keys);
    for (const search of ["", "?limit=5", "?sort=name", "?filter=name = 'one'", "?count=exact", "?fields=*"]) {
      const { items } = await get<{ items: Answered[] }>(`/api/hooks${search}`);
      expect([search, Object.keys(items[0] ?? {}).sort()]).toEqual([search, keys]);
    }
    const one = await get<{ expand: { "hooks(team)": Answered[] } }>(`/api/teams/${red}?expand=hooks(team)`);
    expect(Object.keys(one.expand["hooks(team)"][0] ?? {}).sort()).toEqual(keys);
    expect(Object.keys(await get(`${path}?expand=team`)).sort()).toEqual([...keys, "expand"].sort());
  });

  test("has a readable relation expanded", async () => {
    const answer = await request<{ expand: { rival: object | null } }>("GET", `${path}?expand=rival`, as(token));
    expect(answer.status).toBe(200);
    expect(answer.body.expand.rival !== null).toBe(keys.includes("rival"));
  });

  test("searches and sorts by fields that are readable in every record; other fields are unknown", async () => {
    const isAdmin = token === root;
    const closed = ["secret", "note", "salary", "rival.name", "pin"];
    for (const name of closed)
      for (const search of [`filter=${name} != null`, `sort=${name}`]) {
        const answer = await request<{ error?: { message: string } }>("GET", `/api/hooks?${search}`, as(token));
        expect([search, answer.status]).toEqual([search, isAdmin ? 200 : 400]);
        if (!isAdmin) {
          const unknown = await request<{ error: { message: string } }>(
            "GET",
            `/api/hooks?${search.replace(name, "nothing")}`,
            as(token),
          );
          const [mine, theirs] = [answer.body.error?.message ?? "", unknown.body.error.message];
          expect(mine.replace(name.replace(".name", ""), "nothing")).toStartWith(
            theirs.slice(0, theirs.indexOf("nothing")),
          );
          expect(theirs).not.toContain("secret");
        }
      }
    const back = await request("GET", "/api/teams?filter=hooks(rival).name = 'one'", as(token));
    expect(back.status).toBe(isAdmin ? 200 : 400);
    expect((await request("GET", "/api/teams?expand=hooks(rival)", as(token))).status).toBe(isAdmin ? 200 : 400);
    expect((await request("GET", `${path}?fields=secret`, as(token))).status).toBe(isAdmin ? 200 : 400);
  });

  test("may name a field that is readable in some records", async () => {
    if (token === undefined) return;
    const answer = await get(`${path}?fields=name,salary`);
    expect(Object.keys(answer)).toEqual(keys.includes("salary") ? ["name", "salary"] : ["name"]);
  });

  test("gets the response to a change without the unreadable fields", async () => {
    if (token === undefined) return;
    for (const body of [{ name: "one" }, {}, { name: "two" }, { name: "one", pin: "1234" }]) {
      const answer = await request<Answered>("PUT", path, { body, ...as(token) });
      expect([answer.status, Object.keys(answer.body).sort()]).toEqual([200, keys]);
    }
  });
});

describe("a value that may not be written", () => {
  const put = (body: object, token: string, address = path) =>
    request<{ error?: { code: string; details: { field: string }[] } }>("PUT", address, { body, token });
  const refused = async (body: object, token: string, fields: string[], address = path): Promise<void> => {
    const answer = await put(body, token, address);
    expect([answer.status, answer.body.error?.code, answer.body.error?.details.map(({ field }) => field)]).toEqual([
      403,
      "forbidden",
      fields,
    ]);
  };

  test("is 403 with the field, and nothing is changed", async () => {
    await refused({ secret: "x", name: "changed" }, bob.accessToken, ["secret"]);
    await refused({ status: "x", secret: 5, name: 5 }, ann.accessToken, ["secret", "status"]);
    await refused({ note: "x" }, ann.accessToken, ["note"]);
    await refused({ salary: 51 }, bob.accessToken, ["salary"]);
    const { body } = await request<Answered>("GET", path, { token: root });
    expect(body).toMatchObject(whole);
  });

  test("is 403 also with an equal value, for a caller without the right to read: nobody learns the value by trying", async () => {
    await refused({ secret: "s3cret" }, bob.accessToken, ["secret"]);
    await refused({ salary: 50 }, bob.accessToken, ["salary"]);
    // A caller may send back a readable value unchanged.
    expect((await put({ status: "new" }, bob.accessToken)).status).toBe(200);
  });

  test("the response of GET can be PUT", async () => {
    for (const token of [ann.accessToken, bob.accessToken, root]) {
      const { body } = await request<Answered>("GET", path, { token });
      expect((await put(body, token)).status).toBe(200);
    }
  });

  test("a rule holds before the change and after the change", async () => {
    await refused({ salary: 100 }, ann.accessToken, ["salary"]);
    expect((await put({ salary: 60 }, ann.accessToken)).status).toBe(200);
    await refused({ salary: 61, team: blue }, ann.accessToken, ["salary"]);
    // Bob is in the other team: the rule would hold after this change, and does not hold before.
    await refused({ salary: 61, team: blue }, bob.accessToken, ["salary"]);
    expect((await put({ salary: 50 }, root)).status).toBe(200);
  });

  test("is 403 in a new record, by the record as created", async () => {
    const post = (body: object, token?: string) => request("POST", "/api/hooks", { body, ...as(token) });
    expect((await post({ name: "x", secret: "y" }, ann.accessToken)).status).toBe(403);
    expect((await post({ name: "x", secret: null }, ann.accessToken)).status).toBe(403);
    expect((await post({ name: "x", salary: 5, team: blue }, ann.accessToken)).status).toBe(403);
    const made = await post({ name: "x", salary: 5, team: red, note: "mine", pin: "9" }, ann.accessToken);
    expect([made.status, Object.keys(made.body).sort()]).toEqual([201, [...always, "note", "rival", "salary"].sort()]);
    const stored = await request<Answered>("GET", `/api/hooks/${made.body["id"]}`, { token: root });
    expect(stored.body).toMatchObject({ pin: "9", note: "mine", secret: null });
  });

  test("an owner keeps their own field when an admin gives the record away, and not longer", async () => {
    const mine = await make("hooks", { name: "y", note: "mine" }, ann.accessToken);
    const address = `/api/hooks/${mine.id}`;
    const keysOf = async (token: string) => Object.keys((await request("GET", address, { token })).body);
    expect(await keysOf(ann.accessToken)).toContain("note");
    await put({ by: bob.user.id }, root, address);
    expect(await keysOf(ann.accessToken)).not.toContain("note");
    expect(await keysOf(bob.accessToken)).toContain("note");
  });
});

describe("cached responses", () => {
  test("a list of a caller is not the list of another, from memory or by its ETag", async () => {
    for (const address of ["/api/hooks", "/api/hooks?limit=9", "/api/teams?expand=hooks(team)&limit=9"]) {
      const texts = new Set<string>();
      const tags = new Set<string>();
      for (const token of [root, undefined, ann.accessToken, bob.accessToken, root, undefined]) {
        const answer = await request("GET", address, as(token));
        const text = new TextDecoder().decode(answer.bytes);
        if (token !== root) expect(text).not.toContain("s3cret");
        texts.add(text);
        tags.add(answer.headers.get("etag") ?? "");
      }
      expect([address, texts.size, tags.size]).toEqual([address, 4, 4]);
    }
  });

  test("a former admin gets another list for the same ETag", async () => {
    const { user, accessToken: token } = await register("dan@x.org");
    for (const address of ["/api/hooks", "/api/hooks?limit=9"]) {
      await setRole(service, user.id, "admin");
      const all = await request("GET", address, { token });
      expect(new TextDecoder().decode(all.bytes)).toContain("s3cret");
      await setRole(service, user.id, "authenticated");
      const headers = { "If-None-Match": all.headers.get("etag") ?? "" };
      const own = await request("GET", address, { token, headers });
      expect([own.status, new TextDecoder().decode(own.bytes).includes("s3cret")]).toEqual([200, false]);
    }
  });
});

describe("definitions", () => {
  const put = (name: string, body: object, search = "") =>
    request<{ error?: { message: string }; steps?: object[] }>("PUT", `/api/admin/collections/${name}${search}`, {
      token: root,
      body,
    });
  const field = (permissions: unknown): object => ({ name: "a", type: "string", permissions });

  test.each([
    [{ read: "admn" }, 'field "a": permissions: "read" is "admn"; did you mean "admin"?'],
    [{ read: 5 }, 'field "a": permissions: "read" must be public, authenticated, owner, admin or an expression, not 5'],
    [{ create: "admin" }, 'field "a": permissions: unknown operation "create"; allowed: read, update'],
    [{ update: "b = 1" }, 'field "a": permissions: the rule "update", at position 1: "things" has no field "b"'],
    [{ read: "a = " }, 'field "a": permissions: "read" must be public'],
    ["admin", 'field "a": "permissions" must be an object, not "admin"'],
  ])("%j is refused, with the position", async (permissions, message) => {
    const body = { name: "things", fields: [field(permissions)] };
    const answer = await request<{ error: { message: string } }>("POST", "/api/admin/collections", {
      token: root,
      body,
    });
    expect([answer.status, answer.body.error.message]).toEqual([400, expect.stringContaining(message)]);
  });

  test("a plan reports the rules of fields that change, and a rename is carried into the rules", async () => {
    const fields = [
      { name: "a", type: "string", permissions: { read: 'kind = "open"' } },
      { name: "kind", type: "string" },
    ];
    expect(
      (await request("POST", "/api/admin/collections", { token: root, body: { name: "parts", fields } })).status,
    ).toBe(201);
    const renamed = [
      { name: "b", type: "string", renamedFrom: "a", permissions: { read: 'kind = "open"' } },
      { name: "sort", type: "string", renamedFrom: "kind" },
    ];
    const dry = await put("parts", { fields: renamed }, "?dryRun=true");
    expect(dry.body.steps).toContainEqual({
      step: "permissions",
      field: "b",
      rules: [
        { operation: "read", from: 'kind = "open"', to: 'sort = "open"' },
        { operation: "update", from: 'kind = "open"', to: 'sort = "open"' },
      ],
      records: 0,
    });
    expect((await put("parts", { fields: renamed })).status).toBe(200);
    const { body } = await request<{ fields: object[] }>("GET", "/api/admin/collections/parts", { token: root });
    expect(body.fields[0]).toEqual({ name: "b", type: "string", permissions: { read: 'sort = "open"' } });
    const dropped = await put("parts", { fields: [body.fields[0]] });
    expect([dropped.status, dropped.body.error?.message]).toEqual([
      400,
      expect.stringContaining('has no field "sort"'),
    ]);
  });
});
