/** Lists under a rule by membership: on the event loop for few memberships, on a thread for many, with the same result on both. */
import { afterEach, describe, expect, spyOn, test } from "bun:test";
import type { RecordPage } from "@socle/protocol";
import { type Answer, openApi } from "../../../test/kit.ts";
import { readWithoutTime } from "../../../test/loop-reads.ts";

const relation = (name: string, collection: string): object => ({ name, type: "relation", collection });
const text = (name: string): object => ({ name, type: "string" });
const members = 'members(workspace)[user = @user.id && role != "guest"]';
const api = await openApi({
  collections: [
    { name: "workspaces", fields: [text("name")], permissions: { read: members } },
    {
      name: "members",
      fields: [relation("workspace", "workspaces"), relation("user", "users"), text("role")],
      permissions: { read: "admin" },
    },
    {
      name: "rooms",
      fields: [text("name")],
      permissions: { read: "invitations(room).email = @user.email" },
    },
    {
      name: "invitations",
      fields: [relation("room", "rooms"), text("email")],
      permissions: { read: "admin" },
      indexes: [["email"]],
    },
    { name: "projects", fields: [text("name"), relation("workspace", "workspaces")] },
    {
      name: "issues",
      fields: [text("name"), text("status"), { name: "n", type: "integer" }, relation("project", "projects")],
      permissions: { read: `project.workspace.${members}` },
      indexes: [["project", "status", "n"]],
    },
    {
      name: "boards",
      fields: [text("name"), { ...relation("workspaces", "workspaces"), multiple: true }],
      permissions: { read: `workspaces.${members}` },
    },
    {
      name: "cards",
      fields: [relation("user", "users"), { ...relation("clubs", "clubs"), multiple: true }],
      permissions: { read: "admin" },
    },
    { name: "clubs", fields: [text("name")], permissions: { read: "cards(clubs)[user = @user.id]" } },
    {
      name: "tasks_of_late",
      fields: [text("name"), relation("project", "projects")],
      permissions: { read: `project.workspace.${members}` },
    },
    {
      name: "tasks",
      fields: [text("name"), relation("project", "projects")],
      permissions: { read: `project.workspace.${members} && name != "hidden"` },
      indexes: [["project", "name"]],
    },
  ],
  settings: { SERVICE_CACHE_SIZE: "0" },
});
const { request, service } = api;
const root = await api.admin();
const [few, many, none] = [
  await api.register("few@x.org"),
  await api.register("many@x.org"),
  await api.register("none@x.org"),
];

async function make(collection: string, body: object): Promise<string> {
  const answer = await request("POST", `/api/${collection}`, { body, token: root });
  expect([collection, answer.status]).toEqual([collection, 201]);
  return String(answer.body["id"]);
}

const projects: string[] = [];
for (let n = 0; n < 70; n++) {
  const workspace = await make("workspaces", { name: `w${n}` });
  await make("members", { workspace, user: many.user.id, role: "member" });
  const role = n < 3 ? "member" : "guest";
  if (n < 5) await make("members", { workspace, user: few.user.id, role });
  // A second membership of the same workspace changes nothing.
  if (n === 1) await make("members", { workspace, user: few.user.id, role: "owner" });
  projects.push(await make("projects", { name: `p${n}`, workspace }));
}
// More memberships than the event loop looks at.
for (let batch = 0; batch < 6; batch++) {
  const body = { user: many.user.id, role: "guest" };
  const operations = Array.from({ length: 900 }, () => ({ method: "create", collection: "members", body }));
  expect((await request("POST", "/api/batch", { body: { operations }, token: root })).status).toBe(200);
}
const gone = await make("workspaces", { name: "gone" });
await make("members", { workspace: gone, user: few.user.id, role: "member" });
const orphan = await make("projects", { name: "orphan", workspace: gone });
await request("DELETE", `/api/workspaces/${gone}`, { token: root });

interface Issue {
  readonly name: string;
  readonly status: string | null;
  readonly n: number | null;
  readonly project: string | null;
}
const issues: Issue[] = [];
for (let i = 0; i < 60; i++) {
  const status = ["open", "done", null][i % 3] ?? null;
  const project = [projects[0], projects[1], projects[2], projects[3], orphan, null][i % 6] ?? null;
  const issue: Issue = { name: `i${i}`, status, n: i % 7 === 0 ? null : i % 5, project };
  issues.push(issue);
  await make("issues", issue);
}
/** The issues of a member of the first three workspaces, oldest first. */
const visible = issues.filter(({ project }) => projects.slice(0, 3).includes(project ?? ""));
/** The issues of a member of all workspaces. */
const ofMany = issues.filter(({ project }) => projects.includes(project ?? ""));

readWithoutTime(service.database);
const onThreads = spyOn(service.database, "task");
afterEach(() => {
  onThreads.mockClear();
});

/** The names in all pages of a list. */
async function names(
  collection: string,
  search: Record<string, string>,
  token: string | undefined,
): Promise<unknown[]> {
  const found: unknown[] = [];
  for (let cursor: string | null = ""; cursor !== null; ) {
    const path: string = `/api/${collection}?${new URLSearchParams({ ...search, cursor })}`;
    const { status, body }: Answer<RecordPage> = await request<RecordPage>(
      "GET",
      path,
      token === undefined ? {} : { token },
    );
    expect([path, status]).toEqual([path, 200]);
    found.push(...body.items.map((item) => item["name"]));
    cursor = body.nextCursor;
  }
  return found;
}

const named = (found: readonly Issue[]): string[] => found.map(({ name }) => name);
/** In the order of `n`, null first, then of creation. */
function byNumber(found: readonly Issue[], sign: 1 | -1): Issue[] {
  const place = (issue: Issue): number => (issue.n ?? -1) * 1_000 + issues.indexOf(issue);
  return found.toSorted((a, b) => sign * (place(a) - place(b)));
}

describe("a list under a rule by membership", () => {
  const open = 'status = "open"';
  const isOpen = ({ status }: Issue): boolean => status === "open";
  const cases: [Record<string, string>, (found: readonly Issue[]) => Issue[]][] = [
    [{}, (found) => found.toReversed()],
    [{ filter: open, sort: "n" }, (found) => byNumber(found.filter(isOpen), 1)],
    [{ filter: open, sort: "-n" }, (found) => byNumber(found.filter(isOpen), -1)],
    [
      { filter: `${open} && n > 1`, sort: "-n" },
      (found) =>
        byNumber(
          found.filter((each) => isOpen(each) && Number(each.n) > 1),
          -1,
        ),
    ],
  ];

  test.each(cases)("%j: of few memberships on the event loop, of many on a thread", async (search, expected) => {
    for (const limit of ["1", "4", "50"]) {
      expect(await names("issues", { ...search, limit }, few.accessToken)).toEqual(named(expected(visible)));
      expect(await names("issues", { ...search, limit }, none.accessToken)).toEqual([]);
      expect(await names("issues", { ...search, limit }, undefined)).toEqual([]);
      expect(onThreads).not.toHaveBeenCalled();
      expect(await names("issues", { ...search, limit }, many.accessToken)).toEqual(named(expected(ofMany)));
      expect(onThreads).toHaveBeenCalled();
      onThreads.mockClear();
    }
  });

  test("with an offset, which counts the records of the whole list", async () => {
    for (const [sort, sign] of [
      ["n", 1],
      ["-n", -1],
    ] as const) {
      const path = `/api/issues?${new URLSearchParams({ filter: open, sort, offset: "2", limit: "4" })}`;
      const { items } = (await request<RecordPage>("GET", path, { token: few.accessToken })).body;
      expect(items.map(({ name }) => name as unknown)).toEqual(
        named(byNumber(visible.filter(isOpen), sign)).slice(2, 6),
      );
    }
  });

  test("with a filter for a single project, also a project of other users", async () => {
    for (const [project, expected] of [
      [projects[1], visible.filter((issue) => issue.project === projects[1])],
      [projects[3], []],
      [orphan, []],
    ] as const) {
      const search = { filter: `project = "${project}"`, limit: "3" };
      expect(await names("issues", search, few.accessToken)).toEqual(named(expected.toReversed()));
      expect(
        await names("issues", { ...search, filter: `${search.filter} && ${open}`, sort: "n" }, few.accessToken),
      ).toEqual(named(byNumber(expected.filter(isOpen), 1)));
    }
    expect(onThreads).not.toHaveBeenCalled();
  });

  test("follows every change of the records that lead to its records", async () => {
    const late = await api.register("late@x.org");
    const list = () => names("tasks_of_late", { limit: "5" }, late.accessToken);
    const change = async (method: string, path: string, body?: object): Promise<void> => {
      const { status } = await request(method, `/api/${path}`, { token: root, ...(body !== undefined && { body }) });
      expect([path, status < 300]).toEqual([path, true]);
    };
    const [red, blue] = [await make("workspaces", { name: "red" }), await make("workspaces", { name: "blue" })];
    const project = await make("projects", { name: "p", workspace: red });
    await make("tasks_of_late", { name: "t", project });
    expect(await list()).toEqual([]);
    const membership = await make("members", { workspace: red, user: late.user.id, role: "guest" });
    expect(await list()).toEqual([]);
    await change("PUT", `members/${membership}`, { role: "member" });
    expect(await list()).toEqual(["t"]);
    await change("PUT", `projects/${project}`, { workspace: blue });
    expect(await list()).toEqual([]);
    await change("PUT", `members/${membership}`, { workspace: blue });
    expect(await list()).toEqual(["t"]);
    await change("DELETE", `workspaces/${blue}`);
    expect(await list()).toEqual([]);
    await change("PUT", `projects/${project}`, { workspace: red });
    await change("PUT", `members/${membership}`, { workspace: red });
    expect(await list()).toEqual(["t"]);
    await change("DELETE", `members/${membership}`);
    expect(await list()).toEqual([]);
    expect(onThreads).not.toHaveBeenCalled();
  });

  test("over a collection that the memberships point to", async () => {
    expect(await names("workspaces", { limit: "2" }, few.accessToken)).toEqual(["w2", "w1", "w0"]);
    expect(onThreads).not.toHaveBeenCalled();
    expect(await names("workspaces", { limit: "50" }, many.accessToken)).toHaveLength(70);
    expect(onThreads).toHaveBeenCalled();
  });

  test("with the present address of the caller", async () => {
    const room = await make("rooms", { name: "room" });
    await make("invitations", { room, email: "few@x.org" });
    expect(await names("rooms", { limit: "5" }, few.accessToken)).toEqual(["room"]);
    expect(await names("rooms", { limit: "5" }, many.accessToken)).toEqual([]);
    expect(await names("rooms", { limit: "5" }, undefined)).toEqual([]);
    expect(onThreads).not.toHaveBeenCalled();
  });

  test("with related records, by the rules of their collections", async () => {
    const path = "/api/issues?limit=1&expand=project.workspace&fields=name,project.workspace.name";
    const { items } = (await request<RecordPage>("GET", path, { token: few.accessToken })).body;
    expect(items as unknown[]).toEqual([
      { name: "i56", expand: { project: { expand: { workspace: { name: "w2" } } } } },
    ]);
    expect(onThreads).not.toHaveBeenCalled();
  });

  test("through multiple relations", async () => {
    const { items } = (await request<RecordPage>("GET", "/api/workspaces?sort=createdAt&limit=4", { token: root }))
      .body;
    const ids = items.map(({ id }) => id);
    await make("boards", { name: "hers", workspaces: [ids[3], ids[1]] });
    await make("boards", { name: "other", workspaces: [ids[3]] });
    const clubs = [await make("clubs", { name: "in" }), await make("clubs", { name: "out" })];
    await make("cards", { user: few.user.id, clubs: [clubs[0]] });
    onThreads.mockClear();
    expect(await names("clubs", { limit: "5" }, few.accessToken)).toEqual(["in"]);
    expect(onThreads).not.toHaveBeenCalled();
    expect(await names("boards", { limit: "5" }, few.accessToken)).toEqual(["hers"]);
    expect(onThreads).not.toHaveBeenCalled();
  });

  test.each([
    ["a count", { count: "exact", limit: "20" }, visible.length, 0],
    ["an order that no index gives", { sort: "name", limit: "20" }, undefined, 0],
    ["an offset", { offset: "1", limit: "20" }, undefined, 0],
    ["a filter that looks into texts", { filter: 'name ~ "i"', limit: "20" }, undefined, 1],
  ])("with %s", async (_, search, total, threads) => {
    const path = `/api/issues?${new URLSearchParams(search)}`;
    const { status, body } = await request<RecordPage>("GET", path, { token: few.accessToken });
    expect([status, body.items.length, body.total]).toEqual([200, 20, total]);
    expect(onThreads).toHaveBeenCalledTimes(threads);
  });

  test("with a rule that has a condition without an index", async () => {
    for (const name of ["hidden", "shown"]) await make("tasks", { name, project: projects[0] });
    expect(await names("tasks", { limit: "5" }, few.accessToken)).toEqual(["shown"]);
    expect(onThreads).not.toHaveBeenCalled();
  });
});

test("its statements read by indexes alone", async () => {
  const statements: { sql: string; values: readonly unknown[] }[] = [];
  const { rows } = service.database;
  const all = spyOn(rows, "all");
  const some = spyOn(rows, "some");
  await names("issues", { limit: "20", filter: 'status = "open"', sort: "-n" }, few.accessToken);
  await names("issues", { limit: "5" }, few.accessToken);
  for (const [sql, ...values] of all.mock.calls) statements.push({ sql, values });
  for (const [{ sql, values }] of some.mock.calls) statements.push({ sql, values });
  all.mockRestore();
  some.mockRestore();
  expect(statements.length).toBeGreaterThan(3);
  for (const { sql, values } of statements) {
    const steps = rows.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`, ...(values as string[]));
    const scans = steps.filter(({ detail }) => /^SCAN (?!_found|CONSTANT)/.test(detail));
    expect([sql, scans]).toEqual([sql, []]);
  }
});
