/** Rules as expressions: a team issue tracker, in which only members of a workspace see and change the workspace's issues. */
import { describe, expect, test } from "bun:test";
import { openApi, setRole } from "../../../test/kit.ts";

const member = "project.workspace.members(workspace)[user = @user.id]";
const { request, register, admin, service } = await openApi({
  collections: [
    {
      name: "workspaces",
      fields: [{ name: "name", type: "string" }],
      permissions: { read: "members(workspace)[user = @user.id]", create: "admin" },
    },
    {
      name: "members",
      fields: [
        { name: "workspace", type: "relation", collection: "workspaces", required: true },
        { name: "user", type: "relation", collection: "users", required: true },
        { name: "role", type: "string" },
      ],
      permissions: { read: "workspace.members(workspace)[user = @user.id]", create: "admin" },
    },
    {
      name: "projects",
      fields: [
        { name: "name", type: "string" },
        { name: "workspace", type: "relation", collection: "workspaces" },
      ],
      permissions: { read: "workspace.members(workspace)[user = @user.id]", create: "admin" },
    },
    {
      name: "issues",
      fields: [
        { name: "title", type: "string" },
        { name: "status", type: "string" },
        { name: "project", type: "relation", collection: "projects" },
        { name: "author", type: "relation", collection: "users", owner: true },
      ],
      permissions: {
        read: `${member} || status = "public"`,
        create: `project.workspace.members(workspace)[user = @user.id && role != "guest"]`,
        update: `author = @user.id || project.workspace.members(workspace)[user = @user.id && role = "owner"]`,
        delete: `project.workspace.members(workspace)[user = @user.id && role = "owner"]`,
      },
    },
    {
      name: "comments",
      fields: [
        { name: "text", type: "string" },
        { name: "issue", type: "relation", collection: "issues" },
      ],
      permissions: { read: "issue.project.workspace.members(workspace).user = @user.id", create: "authenticated" },
    },
  ],
});
const root = await admin();
const [ann, bob, eve] = [await register("ann@x.org"), await register("bob@x.org"), await register("eve@x.org")];

interface Made {
  readonly id: string;
}
async function make(collection: string, body: object, token = root): Promise<string> {
  const { status, body: made } = await request<Made>("POST", `/api/${collection}`, { body, token });
  expect([collection, status]).toEqual([collection, 201]);
  return made.id;
}
const join = (workspace: string, user: string, role: string): Promise<string> =>
  make("members", { workspace, user, role });
const [acme, globex] = [await make("workspaces", { name: "acme" }), await make("workspaces", { name: "globex" })];
await join(acme, ann.user.id, "owner");
const bobsMembership = await join(acme, bob.user.id, "member");
await join(globex, eve.user.id, "owner");
const [rockets, widgets] = [
  await make("projects", { name: "rockets", workspace: acme }),
  await make("projects", { name: "widgets", workspace: globex }),
];
const first = await make("issues", { title: "first", status: "open", project: rockets }, ann.accessToken);
const second = await make("issues", { title: "second", status: "open", project: rockets }, bob.accessToken);
const other = await make("issues", { title: "other", status: "open", project: widgets }, eve.accessToken);
const open = await make("issues", { title: "for all", status: "public", project: widgets }, eve.accessToken);

type List = {
  items: { id: string; title?: string; expand?: Record<string, unknown> }[];
  total?: number;
  nextCursor?: string | null;
};
async function ids(path: string, token?: string): Promise<string[]> {
  const { status, body } = await request<List>("GET", path, token === undefined ? {} : { token });
  expect([path, status]).toEqual([path, 200]);
  return body.items.map(({ id }) => id);
}
const status = async (method: string, path: string, token?: string, body?: object): Promise<number> =>
  (await request(method, path, { ...(token !== undefined && { token }), ...(body !== undefined && { body }) })).status;

describe("read", () => {
  test("lists, whole and in pages, have the records that the rule shows the caller", async () => {
    for (const path of [
      "/api/issues",
      "/api/issues?limit=10",
      "/api/issues?sort=title",
      "/api/issues?filter=title != null",
    ]) {
      expect([path, ...(await ids(path, ann.accessToken)).sort()]).toEqual([path, ...[first, second, open].sort()]);
      expect([path, ...(await ids(path, eve.accessToken)).sort()]).toEqual([path, ...[other, open].sort()]);
      expect([path, ...(await ids(path))]).toEqual([path, open]);
      expect((await ids(path, root)).length).toBe(4);
    }
  });

  test("pages by cursor, counts and totals too", async () => {
    const seen: string[] = [];
    for (let cursor: string | null = ""; cursor !== null; ) {
      const page: { body: List } = await request<List>("GET", `/api/issues?limit=1&count=exact&cursor=${cursor}`, {
        token: bob.accessToken,
      });
      expect(page.body.total).toBe(3);
      seen.push(...page.body.items.map(({ id }) => id));
      cursor = page.body.nextCursor ?? null;
    }
    expect(seen).toEqual([open, second, first]);
  });

  test("a single record by id: 404 for an unreadable record, also with fields and expand", async () => {
    for (const search of ["", "?fields=title", "?expand=project"]) {
      expect(await status("GET", `/api/issues/${first}${search}`, bob.accessToken)).toBe(200);
      expect(await status("GET", `/api/issues/${first}${search}`, eve.accessToken)).toBe(404);
      expect(await status("GET", `/api/issues/${first}${search}`)).toBe(404);
      expect(await status("GET", `/api/issues/${open}${search}`)).toBe(200);
    }
  });

  test("filters, sorts and expansions enter only readable records", async () => {
    expect(await ids('/api/issues?filter=project.name = "widgets"', ann.accessToken)).toEqual([]);
    expect(await ids('/api/issues?filter=project.name = "rockets"&sort=project.name,title', ann.accessToken)).toEqual([
      first,
      second,
    ]);
    expect(
      await ids("/api/issues?filter=project.workspace.members(workspace).role = 'owner'", ann.accessToken),
    ).toEqual([second, first]);
    const { body } = await request<List>("GET", "/api/issues?expand=project.workspace,comments(issue)&sort=title", {
      token: ann.accessToken,
    });
    expect(
      body.items.map(({ title, expand }) => [title, (expand?.["project"] as { name?: string } | null)?.name ?? null]),
    ).toEqual([
      ["first", "rockets"],
      ["for all", null],
      ["second", "rockets"],
    ]);
  });

  test("an ETag belongs to the records that its caller sees, and changes with a membership", async () => {
    const before = await request("GET", "/api/issues?limit=5", { token: bob.accessToken });
    const tag = before.headers.get("etag") ?? "";
    const again = await request("GET", "/api/issues?limit=5", {
      token: bob.accessToken,
      headers: { "If-None-Match": tag },
    });
    expect(again.status).toBe(304);
    expect(await status("DELETE", `/api/members/${bobsMembership}`, root)).toBe(204);
    const after = await request<List>("GET", "/api/issues?limit=5", {
      token: bob.accessToken,
      headers: { "If-None-Match": tag },
    });
    expect([after.status, after.body.items.map(({ id }) => id)]).toEqual([200, [open]]);
    await join(acme, bob.user.id, "member");
  });
});

test("a former admin does not get the cached list of an admin", async () => {
  const { user, accessToken: token } = await register("dan@x.org");
  for (const path of ["/api/issues", "/api/issues?limit=9"]) {
    await setRole(service, user.id, "admin");
    const all = await request<List>("GET", path, { token });
    expect(all.body.items.length).toBe(4);
    await setRole(service, user.id, "authenticated");
    const tag = all.headers.get("etag") ?? "";
    const own = await request<List>("GET", path, { token, headers: { "If-None-Match": tag } });
    expect([own.status, own.body.items.map(({ id }) => id)]).toEqual([200, [open]]);
  }
});

test("a former admin does not get the cached list, also under a rule that uses only the record", async () => {
  const fields = [{ name: "isOpen", type: "boolean" }];
  const body = { name: "doors", fields, permissions: { read: "isOpen = true", create: "admin" } };
  expect(await status("POST", "/api/admin/collections", root, body)).toBe(201);
  const seen = await make("doors", { isOpen: true });
  await make("doors", { isOpen: false });
  const { user, accessToken: token } = await register("fay@x.org");
  for (const path of ["/api/doors", "/api/doors?limit=9"]) {
    await setRole(service, user.id, "admin");
    const all = await request<List>("GET", path, { token });
    expect(all.body.items.length).toBe(2);
    await setRole(service, user.id, "authenticated");
    const tag = all.headers.get("etag") ?? "";
    const own = await request<List>("GET", path, { token, headers: { "If-None-Match": tag } });
    expect([own.status, own.body.items.map(({ id }) => id)]).toEqual([200, [seen]]);
  }
});

test("rules may ask for the email and the role of the caller, in lists, expansions and sorts too", async () => {
  const definition = {
    name: "mail",
    fields: [{ name: "to", type: "string" }],
    permissions: { read: 'to = @user.email || @user.role = "nobody"', create: "admin" },
  };
  const pointing = { name: "stamps", fields: [{ name: "mail", type: "relation", collection: "mail" }] };
  for (const body of [definition, pointing])
    expect(await status("POST", "/api/admin/collections", root, body)).toBe(201);
  const letter = await make("mail", { to: "ann@x.org" });
  const stamp = await make("stamps", { mail: letter });
  for (const [token, expected] of [
    [ann.accessToken, [letter]],
    [bob.accessToken, []],
    [undefined, []],
  ] as const) {
    expect(await ids("/api/mail", token)).toEqual([...expected]);
    const { body } = await request<List>(
      "GET",
      "/api/stamps?expand=mail&sort=mail.to",
      token === undefined ? {} : { token },
    );
    expect(body.items.map(({ id, expand }) => [id, (expand?.["mail"] as { id: string } | null)?.id ?? null])).toEqual([
      [stamp, expected[0] ?? null],
    ]);
    expect((await ids("/api/stamps?filter=mail.to ~ 'ann'", token)).length).toBe(expected.length);
  }
});

describe("changes", () => {
  test("create: the new record must fulfil the rule; a refused record leaves nothing behind", async () => {
    const body = { title: "foreign", project: widgets };
    expect(await status("POST", "/api/issues", ann.accessToken, body)).toBe(403);
    expect(await status("POST", "/api/issues", undefined, body)).toBe(401);
    expect(await ids("/api/issues?filter=title = 'foreign'", root)).toEqual([]);
    const events = await service.events.read(0, 1_000);
    expect(events.filter(({ payload }) => payload["title"] === "foreign")).toEqual([]);
  });

  test("update: 404 for an unreadable record, 403 for a readable record that the caller may not change", async () => {
    expect(await status("PUT", `/api/issues/${second}`, bob.accessToken, { title: "second" })).toBe(200);
    expect(await status("PUT", `/api/issues/${first}`, bob.accessToken, { title: "x" })).toBe(403);
    expect(await status("PUT", `/api/issues/${first}`, eve.accessToken, { title: "x" })).toBe(404);
    expect(await status("PUT", `/api/issues/${open}`, ann.accessToken, { title: "x" })).toBe(403);
    expect(await status("PUT", `/api/issues/${open}`, undefined, { title: "x" })).toBe(401);
    expect(await status("PUT", `/api/issues/${first}`, ann.accessToken, { title: "first" })).toBe(200);
  });

  test("update: the rule must hold for the record after the change, too", async () => {
    const mine = await make("issues", { title: "moving", project: rockets }, ann.accessToken);
    const move = { author: eve.user.id, project: widgets };
    // An admin makes Bob the author: now only the membership lets Ann change the issue, and the move would end this right.
    expect(await status("PUT", `/api/issues/${mine}`, root, { author: bob.user.id })).toBe(200);
    expect(await status("PUT", `/api/issues/${mine}`, ann.accessToken, { project: widgets })).toBe(403);
    expect((await request<{ project: string }>("GET", `/api/issues/${mine}`, { token: root })).body.project).toBe(
      rockets,
    );
    expect(await status("PUT", `/api/issues/${mine}`, ann.accessToken, move)).toBe(400);
    expect(await status("DELETE", `/api/issues/${mine}`, bob.accessToken)).toBe(403);
    expect(await status("DELETE", `/api/issues/${mine}`, eve.accessToken)).toBe(404);
    expect(await status("DELETE", `/api/issues/${mine}`, ann.accessToken)).toBe(204);
  });
});

describe("a record under creation grants no right", async () => {
  const api = await openApi({
    collections: [
      { name: "teams", fields: [{ name: "name", type: "string" }], permissions: { create: "admin" } },
      {
        name: "people",
        fields: [
          { name: "team", type: "relation", collection: "teams", required: true },
          { name: "user", type: "relation", collection: "users", required: true },
          { name: "role", type: "string", required: true },
          { name: "badge", type: "string", unique: true },
        ],
        permissions: {
          read: "team.people(team).user = @user.id",
          create: 'team.people(team)[user = @user.id && role = "owner"]',
        },
      },
    ],
  });
  const token = await api.admin();
  const [owner, other] = [await api.register("owner@x.org"), await api.register("other@x.org")];
  const post = (path: string, body: object, as = token) => api.request("POST", path, { token: as, body });
  const [red, blue] = [
    String((await post("/api/teams", { name: "red" })).body["id"]),
    String((await post("/api/teams", { name: "blue" })).body["id"]),
  ];
  const own = { team: red, user: owner.user.id, role: "owner", badge: "b1" };
  const id = String((await post("/api/people", own)).body["id"]);

  test("nobody joins a team by the membership under creation", async () => {
    for (const caller of [owner, other]) {
      const body = { team: blue, user: caller.user.id, role: "owner" };
      expect((await post("/api/people", body, caller.accessToken)).status).toBe(403);
    }
    expect(
      (await post("/api/people", { ...own, user: other.user.id, role: "guest", badge: null }, owner.accessToken))
        .status,
    ).toBe(201);
  });

  test("nobody joins a team by a change of the own membership", async () => {
    const put = (body: object) => api.request("PUT", `/api/people/${id}`, { token: owner.accessToken, body });
    expect((await put({ team: blue })).status).toBe(403);
    expect((await put({ badge: "b2" })).status).toBe(200);
  });

  test("a caller who may not create a record does not learn the taken values or the existing records", async () => {
    const body = { team: blue, user: other.user.id, role: "x", badge: "b2" };
    for (const each of [body, { ...body, badge: "b3" }, { ...body, team: red.replace(/.$/, "x") }])
      expect((await post("/api/people", each, other.accessToken)).status).toBe(403);
    const { status: code, body: answer } = await post("/api/people", { ...body, role: 5 }, other.accessToken);
    expect([code, JSON.stringify(answer)]).toEqual([400, expect.not.stringContaining("unique")]);
  });
});

describe("definitions", () => {
  const put = (name: string, body: object): Promise<{ status: number; body: Record<string, unknown> }> =>
    request("PUT", `/api/admin/collections/${name}`, { token: root, body });

  test.each([
    ["titel = 1", /permissions: the rule "read", at position 1: "issues" has no field "titel"; did you mean "title"\?/],
    ["title = ", /"read" must be public, authenticated, owner, admin or an expression, .*at position 9/],
    ["publik", /did you mean "public"\?/],
    ["comments(title)[text = 'x']", /"comments\(title\)" does not point to "issues"; did you mean comments\(issue\)\?/],
    ["nothing(issue)[text = 'x']", /there is no collection "nothing"/],
    [`title in (${"1,".repeat(3_000)}1)`, /bytes are too many/],
  ])("%s is refused, with the position", async (read, message) => {
    const { status: code, body } = await put("issues", { permissions: { read } });
    const { error } = body as { error?: { message: string } };
    expect([code, String(error?.message)]).toEqual([400, expect.stringMatching(message)]);
  });

  async function schemaWith(name: string, fields: unknown): Promise<object> {
    const { body } = await request<{ collections: { name: string }[] }>("GET", "/api/admin/schema.json", {
      token: root,
    });
    return { collections: body.collections.map((each) => (each.name === name ? { ...each, fields } : each)) };
  }

  test("a field that a rule of another collection names cannot be dropped, and is renamed in the rule", async () => {
    const { fields } = (
      await request<{ fields: { name: string }[] }>("GET", "/api/admin/collections/members", { token: root })
    ).body;
    const without = fields.filter(({ name }) => name !== "role");
    const refused = await put("members", { fields: without });
    expect([refused.status, JSON.stringify(refused.body)]).toEqual([
      400,
      expect.stringContaining('has no field \\"role\\"'),
    ]);
    const renamed = [...without, { name: "duty", type: "string", renamedFrom: "role" }];
    const dry = await request<{ steps: unknown[] }>("PUT", "/api/admin/collections/members?dryRun=true", {
      token: root,
      body: { fields: renamed },
    });
    // The plan tells the rules of other collections, too, that follow the rename.
    const told = await request<{ changes?: unknown }>("PUT", "/api/admin/schema.json?dryRun=true", {
      token: root,
      body: await schemaWith("members", renamed),
    });
    expect(JSON.stringify(told.body)).toContain('"operation":"delete"');
    expect(JSON.stringify(told.body)).toContain("duty = ");
    expect(dry.status).toBe(200);
    expect((await put("members", { fields: renamed })).status).toBe(200);
    const { permissions } = (
      await request<{ permissions: Record<string, string> }>("GET", "/api/admin/collections/issues", { token: root })
    ).body;
    expect(permissions["delete"]).toBe('project.workspace.members(workspace)[user = @user.id && duty = "owner"]');
    expect(await status("DELETE", `/api/issues/${first}`, bob.accessToken)).toBe(403);
    const back = [...without, { name: "role", type: "string", renamedFrom: "duty" }];
    expect((await put("members", { fields: back })).status).toBe(200);
  });

  test("a collection that a rule names cannot be deleted", async () => {
    const { status: code, body } = await request("DELETE", "/api/admin/collections/members", { token: root });
    expect([code, JSON.stringify(body)]).toEqual([
      400,
      expect.stringContaining('collection \\"comments\\": permissions'),
    ]);
  });
});
