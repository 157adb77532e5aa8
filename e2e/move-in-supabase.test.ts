/**
 * Move from Supabase: a dump of pg_dump and a folder of files become a project. Every record, relation and file, logins, rules, later
 * runs, and dumps that are refused.
 */
import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { executable, post, project, root, serve, singleService, socle, temporaryFolder, until } from "./kit.ts";
import { type Item, list, tokenOf } from "./move-in-kit.ts";

singleService("commands");

const dump = await Bun.file(join(root, "e2e", "move-in-supabase", "dump.sql")).text();
const admin = { email: "root@harbour.example", password: "root of all harbours 7" };
const password = "correct horse 1";

/** A dump and the files of storage in a new folder. */
function sourceOf(text: string | Uint8Array): { path: string; files: string } {
  const folder = temporaryFolder();
  const files = join(folder, "files");
  mkdirSync(join(files, "avatars", "ada"), { recursive: true });
  mkdirSync(join(files, "papers", "b0"), { recursive: true });
  writeFileSync(join(files, "avatars", "ada", "me #1.png"), "a picture");
  writeFileSync(join(files, "papers", "b0", "plan.txt"), "a plan");
  writeFileSync(join(files, "papers", "large.bin"), new Uint8Array(10 * 1024 * 1024 + 1));
  const path = join(folder, "dump.sql");
  writeFileSync(path, text);
  return { path, files };
}

const move = (cwd: string, { path, files }: { path: string; files: string }, more: readonly string[] = decided) =>
  socle(["move-in", "supabase", path, "--files", files, ...more], { cwd });
const decided = ["--yes", "--missing-files", "clear", "--issuer", "keycloak=https://id.harbour.example"];

const cwd = await project();
const source = sourceOf(dump);
const moved = await move(cwd, source);
if (moved.code !== 0 || moved.stderr !== "") throw new Error(`The move has failed: ${moved.stderr}`);
await socle(["admin", "create", admin.email, "--password", admin.password], { cwd });
const server = await serve(cwd);
const { token } = await tokenOf(server.url, admin.email, admin.password);
const ada = await tokenOf(server.url, "ada@harbour.example", password);
const bo = await tokenOf(server.url, "bo@harbour.example", password);

const items = new Map<string, Item[]>();
for (const name of ["users", "profiles", "posts", "comments", "members", "teams", "notes", "settings", "tips"])
  items.set(name, (await list(server.url, name, token)) as Item[]);
const files = (await list(server.url, "storage_objects", token)) as Item[];
const idOf = (collection: string, sourceId: string): string =>
  items.get(collection)?.find((each) => each.sourceId === sourceId)?.id ?? `no ${collection}/${sourceId}`;

const [adaId, boId, cemId, doraId, elsId, finnId] = [
  "a0000000-0000-4000-8000-000000000001",
  "b0000000-0000-4000-8000-000000000002",
  "c0000000-0000-4000-8000-000000000003",
  "d0000000-0000-4000-8000-000000000004",
  "e0000000-0000-4000-8000-000000000005",
  "f0000000-0000-4000-8000-000000000006",
];
const user = { ada: idOf("users", adaId), bo: idOf("users", boId), finn: idOf("users", finnId) };
const postIds = [1, 2, 3, 4].map((n) => `10000000-0000-4000-8000-00000000000${n}`);
const posts = postIds.map((id) => idOf("posts", id));
const fileOf = (path: string): Item | undefined => files.find((each) => each["path"] === path);
/** The values of a record without the id. */
const valuesOf = ({ id: _, ...values }: Item): object => values;
const sorted = (collection: string): object[] =>
  (items.get(collection) ?? []).toSorted((a, b) => (a.sourceId < b.sourceId ? -1 : 1)).map(valuesOf);
const own = (found: Item[] | number, collection: string): string[] =>
  typeof found === "number"
    ? [String(found)]
    : found.map(({ id }) => items.get(collection)?.find((each) => each.id === id)?.sourceId ?? id).toSorted();

test("every record, value and relation has moved", () => {
  const picture = `/api/storage/${fileOf("ada/me #1.png")?.["file"]}`;
  expect(sorted("posts")).toEqual([
    {
      ...{ sourceId: postIds[0], title: "First", slug: "first", body: "tab\there\nline\r\\back\\N \b\fv end" },
      ...{ status: "open", scores: [1, 2], notes: ["x", "x", null], tags: ["news", "two words", 'a "q" \\ b', "NULL"] },
      meta: { n: 1.5, by: user.ada, big: "12345678901234567890", deep: [{ post: posts[1] }] },
      ...{ author_id: user.ada, editor_id: idOf("profiles", boId), team_id: idOf("teams", "1"), parent_id: null },
      ...{ views: 3, big: "9007199254740993", rating: 1.2345678901, ratio: 1.5, published: true, number: 1 },
      ...{
        published_at: "2024-05-01T10:00:00.000Z",
        due: "2024-05-31T00:00:00.000Z",
        local: "2024-05-01T12:00:00.000Z",
      },
      ...{ token: user.ada, span: "1 day 02:00:00" },
      ...{ createdAt: "2024-04-01T00:00:00.000Z", updatedAt: "2024-04-02T00:00:00.000Z" },
    },
    {
      ...{ sourceId: postIds[1], title: "Second", slug: null, body: null, status: "draft", meta: null, tags: [] },
      ...{ scores: null, notes: null, author_id: user.bo, editor_id: null, team_id: null, parent_id: posts[0] },
      ...{ views: 200, big: "1", rating: null, ratio: null, published: false, published_at: null, due: null },
      ...{ local: null, number: 2, token: null, span: null },
      ...{ createdAt: "2024-04-03T00:00:00.000Z", updatedAt: "2024-04-03T00:00:00.000Z" },
    },
    {
      ...{
        sourceId: postIds[2],
        title: "Ü ⚓ \\N",
        slug: "third",
        body: "",
        status: "it's closed",
        meta: null,
        tags: [],
      },
      ...{
        scores: [],
        notes: [],
        author_id: user.ada,
        editor_id: idOf("profiles", adaId),
        team_id: idOf("teams", "2"),
      },
      ...{ parent_id: posts[0], views: 0, big: null, rating: 100, ratio: null, published: true, published_at: null },
      ...{ due: null, local: null, number: 3, token: null, span: null },
      ...{ createdAt: "2024-04-04T00:00:00.000Z", updatedAt: "2024-04-04T00:00:00.000Z" },
    },
    {
      ...{ sourceId: postIds[3], title: "Fourth", slug: "fourth", body: "\\.", status: "open", meta: [], tags: [] },
      ...{
        scores: null,
        notes: null,
        author_id: user.bo,
        editor_id: null,
        team_id: idOf("teams", "1"),
        parent_id: null,
      },
      ...{ views: 1, big: null, rating: null, ratio: null, published: false, published_at: null, due: null },
      ...{ local: null, number: 4, token: null, span: null },
      ...{ createdAt: "2024-04-05T00:00:00.000Z", updatedAt: "2024-04-05T00:00:00.000Z" },
    },
  ]);
  const time = expect.any(String);
  const times = { createdAt: time, updatedAt: time };
  const changed = "2024-03-01T10:00:00.123Z";
  expect(sorted("profiles")).toEqual([
    {
      ...{ sourceId: adaId, user: user.ada, username: "Ada", website: "https://ada.example", avatar_url: picture },
      ...{ createdAt: changed, updatedAt: changed },
    },
    {
      ...{ sourceId: boId, user: user.bo, username: "bo", website: null, ...times },
      avatar_url: "https://abc.supabase.co/storage/v1/object/public/avatars/gone.png",
    },
    { sourceId: finnId, user: user.finn, username: "finn", website: "", avatar_url: user.finn, ...times },
  ]);
  expect(sorted("comments")).toEqual(
    [
      [posts[0], idOf("profiles", adaId), "one", false, 1],
      [posts[0], idOf("profiles", boId), "two", null, 3],
      [posts[1], idOf("profiles", boId), "three", true, null],
      [posts[1], idOf("profiles", boId), "four", true, 2],
    ].map(([post_id, author_id, body, hidden, level], i) => ({
      ...{ sourceId: String(i + 1), post_id, author_id, body, hidden, level, ...times },
    })),
  );
  const team = (n: number): string => idOf("teams", String(n));
  expect(sorted("members")).toEqual([
    { sourceId: `1/${adaId}`, team_id: team(1), user_id: user.ada, label: "lead", ...times },
    { sourceId: `1/${boId}`, team_id: team(1), user_id: user.bo, label: "member", ...times },
    { sourceId: `2/${boId}`, team_id: team(2), user_id: user.bo, label: null, ...times },
  ]);
  expect(sorted("teams")).toEqual([
    { sourceId: "1", name: "Harbour", Founded_On_: "1999-12-31T00:00:00.000Z", role: "x", ...times },
    { sourceId: "2", name: "Quay", Founded_On_: null, role: null, ...times },
  ]);
  expect(sorted("settings")).toEqual([
    { sourceId: "key", key: "key", value: "abc", is_secret: true, ...times },
    { sourceId: "odd", key: "odd", value: null, is_secret: null, ...times },
    { sourceId: "theme/x", key: "theme/x", value: { dark: true }, is_secret: false, ...times },
  ]);
  expect(sorted("notes").map((each) => [Reflect.get(each, "owner_ref"), Reflect.get(each, "body")])).toEqual([
    [user.ada, "mine"],
    [null, "nobody's"],
    [user.bo, "secret"],
  ]);
  expect(items.get("tips")).toBeArrayOfSize(1);
});

test("users: addresses, proofs, metadata, links, and old passwords", async () => {
  const users = items.get("users")?.filter(({ sourceId }) => sourceId !== null) ?? [];
  expect(Object.fromEntries(users.map(({ email, verified, sourceId }) => [sourceId, [email, verified]]))).toEqual({
    [adaId]: ["ada@harbour.example", true],
    [boId]: ["bo@harbour.example", false],
    // Banned for ever, and deleted: a mail to the address would give a new password.
    [cemId]: [null, false],
    [doraId]: [null, false],
    [elsId]: [null, false],
    [finnId]: ["finn@harbour.example", true],
  });
  const found = users.find(({ sourceId }) => sourceId === adaId);
  expect(found).toMatchObject({
    userMetadata: { name: 'Ada "L" Å', avatar_url: `/api/storage/${fileOf("ada/me #1.png")?.["file"]}` },
    ...{ createdAt: "2024-01-01T00:00:00.000Z" },
  });
  expect((await tokenOf(server.url, "ada@harbour.example", `${password}?`)).status).toBe(401);
  expect([ada.status, bo.status]).toEqual([200, 200]);
  const database = new Database(join(cwd, "socle.db"), { readonly: true });
  const hash = (email: string) =>
    database.query("SELECT passwordHash FROM _users WHERE email = ?").get(email) as { passwordHash: string };
  expect(hash("ada@harbour.example").passwordHash).toStartWith("$argon2id$");
  expect(hash("finn@harbour.example").passwordHash).toStartWith("$2a$10$");
  const links = database.query("SELECT provider, issuer, subject, userId FROM _links ORDER BY provider").all();
  database.close();
  expect(links).toEqual([
    { provider: "github", issuer: "https://github.com", subject: "583231", userId: user.ada },
    { provider: "google", issuer: "https://accounts.google.com", subject: "1098765", userId: user.finn },
    { provider: "keycloak", issuer: "https://id.harbour.example", subject: "xyz", userId: user.bo },
  ]);
  for (const [email, sourceId] of [
    ["cem@harbour.example", cemId],
    ["dora@harbour.example", doraId],
  ] as const) {
    expect((await tokenOf(server.url, email, password)).status).toBe(401);
    expect(hashOf(idOf("users", sourceId))).toBe("");
  }
  // The ban has ended.
  expect((await tokenOf(server.url, "finn@harbour.example", password)).status).toBe(200);
});

function hashOf(id: string): string {
  const database = new Database(join(cwd, "socle.db"), { readonly: true });
  const row = database.query("SELECT passwordHash FROM _users WHERE id = ?").get(id) as { passwordHash: string };
  database.close();
  return row.passwordHash;
}

test("lists of anonymous callers, of the owner and of another user", async () => {
  const seen = async (name: string): Promise<string[][]> =>
    Promise.all(["", ada.token, bo.token].map(async (each) => own(await list(server.url, name, each), name)));
  const [first = "", second = "", third = "", fourth = ""] = postIds;
  expect(await seen("posts")).toEqual([[first], [first, third], [first, second, fourth]]);
  expect(await seen("profiles")).toEqual([
    [adaId, boId, finnId],
    [adaId, boId, finnId],
    [adaId, boId, finnId],
  ]);
  expect(await seen("comments")).toEqual([[], ["1", "2", "4"], ["1", "2", "4"]]);
  expect(await seen("notes")).toEqual([
    [],
    ["30000000-0000-4000-8000-000000000001"],
    ["30000000-0000-4000-8000-000000000003"],
  ]);
  expect(await seen("members")).toEqual([
    ["401"],
    [`1/${adaId}`, `1/${boId}`, `2/${boId}`],
    [`1/${adaId}`, `1/${boId}`, `2/${boId}`],
  ]);
  expect(await seen("settings")).toEqual([["theme/x"], ["theme/x"], ["theme/x"]]);
  expect(await seen("tips")).toEqual([["1"], ["1"], ["1"]]);
  expect(await seen("teams")).toEqual([["401"], ["403"], ["403"]]);
  const users = (await list(server.url, "users", ada.token)) as Item[];
  expect(users.map(({ id }) => id)).toEqual([user.ada]);
});

test("writes of anonymous callers, of the owner and of another user", async () => {
  const write = async (method: string, path: string, { as = "", body = {} }: { as?: string; body?: object }) => {
    const headers = { "Content-Type": "application/json", ...(as !== "" && { Authorization: `Bearer ${as}` }) };
    const sent = method === "DELETE" ? {} : { body: JSON.stringify(body) };
    const response = await fetch(`${server.url}/api/${path}`, { method, headers, ...sent });
    await response.bytes();
    return response.status;
  };
  const made = { title: "New", number: 9 };
  expect(await write("POST", "posts", { body: made })).toBe(401);
  expect(await write("POST", "posts", { as: ada.token, body: made })).toBe(201);
  expect(await write("POST", "posts", { as: ada.token, body: { ...made, author_id: user.bo } })).toBe(400);
  expect(await write("PUT", `posts/${posts[0]}`, { as: bo.token, body: { title: "x" } })).toBe(403);
  expect(await write("PUT", `posts/${posts[0]}`, { as: ada.token, body: { title: "Changed" } })).toBe(200);
  expect(await write("PUT", `posts/${posts[0]}`, { as: ada.token, body: { sourceId: "x" } })).toBe(403);
  // "Delete drafts": neither a post that is closed, nor a post of another user.
  expect(await write("DELETE", `posts/${posts[2]}`, { as: ada.token })).toBe(403);
  expect(await write("DELETE", `posts/${posts[1]}`, { as: ada.token })).toBe(404);
  expect(await write("PUT", `profiles/${idOf("profiles", adaId)}`, { as: bo.token, body: { website: "x" } })).toBe(403);
  expect(await write("PUT", `profiles/${idOf("profiles", adaId)}`, { as: ada.token, body: { website: "y" } })).toBe(
    200,
  );
  const comment = { post_id: posts[0], author_id: idOf("profiles", adaId), body: "five" };
  expect(await write("POST", "comments", { as: bo.token, body: comment })).toBe(403);
  expect(await write("POST", "comments", { as: ada.token, body: comment })).toBe(201);
  expect(await write("PUT", `comments/${idOf("comments", "1")}`, { as: ada.token, body: { body: "x" } })).toBe(403);
  expect(await write("POST", "notes", { as: ada.token, body: { owner_ref: user.bo } })).toBe(403);
  expect(await write("POST", "notes", { as: ada.token, body: { owner_ref: user.ada } })).toBe(201);
  expect(
    await write("DELETE", `notes/${idOf("notes", "30000000-0000-4000-8000-000000000001")}`, { as: ada.token }),
  ).toBe(403);
  expect(await write("POST", "tips", { body: { body: "x" } })).toBe(401);
  expect(await write("POST", "tips", { as: bo.token, body: { body: "x" } })).toBe(201);
  expect(await write("DELETE", `tips/${idOf("tips", "1")}`, { as: bo.token })).toBe(403);
  expect(await write("POST", "teams", { as: ada.token, body: { name: "x" } })).toBe(403);
});

test("files: public buckets are public, others follow the rules, and old addresses are in the map", async () => {
  expect(files.map(({ bucket, path, owner, file }) => [bucket, path, owner, file !== null]).toSorted()).toEqual([
    ["avatars", "ada/me #1.png", user.ada, true],
    ["papers", "b0/plan.txt", user.bo, true],
    ["papers", "large.bin", null, false],
    ["papers", "missing.txt", user.ada, false],
  ]);
  const read = async (path: string, as: string): Promise<string> => {
    const headers = as === "" ? {} : { Authorization: `Bearer ${as}` };
    const response = await fetch(`${server.url}/api/storage/${fileOf(path)?.["file"]}`, { headers });
    return response.ok ? response.text() : String(response.status);
  };
  expect(await read("ada/me #1.png", "")).toBe("a picture");
  expect(await read("b0/plan.txt", bo.token)).toBe("a plan");
  expect(["401", "403", "404"]).toContain(await read("b0/plan.txt", ""));
  expect(["403", "404"]).toContain(await read("b0/plan.txt", ada.token));
  const map = new Map(
    readFileSync(join(cwd, "move-in-map.ndjson"), "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as { from: string; to: string })
      .map(({ from, to }) => [from, to]),
  );
  expect(map.get("/storage/v1/object/public/avatars/ada/me%20%231.png")).toBe(
    `/api/storage/${fileOf("ada/me #1.png")?.["file"]}`,
  );
  expect(map.get("/storage/v1/object/authenticated/papers/b0/plan.txt")).toBe(
    `/api/storage/${fileOf("b0/plan.txt")?.["file"]}`,
  );
  expect(map.get("/rest/v1/teams?id=eq.1")).toBe(`/api/teams/${idOf("teams", "1")}`);
  expect(map.get(`/auth/v1/admin/users/${adaId}`)).toBe(`/api/users/${user.ada}`);
});

test("the report names differences and the parts that stay behind", () => {
  for (const line of [
    "From Supabase: 10 collections, 33 records, 2 files",
    'comments: UPDATE: "Change comments" USING ((auth.uid() = author_id)) WITH CHECK ((level < 3)): an update rule is about the record before and after: write a hook',
    'notes: DELETE: "No secrets" USING',
    'posts: SELECT: "Team posts" USING ((EXISTS',
    'settings: SELECT: "Admins" USING (public.is_admin()): write the condition of the function as an expression',
    "teams: has no row level security, so every holder of the anon key reads 2 records, or also writes: write the rules",
    "posts.big: has whole numbers beyond 2^53, and is a text",
    "posts.notes: is an array in JSON",
    "posts.number: is numbered by a sequence",
    "posts.published_at: 1 value with a number or a time that Socle does not know, which becomes null",
    "profiles.avatar_url: 1 value with an address of a file that no record has, which stays",
    "storage.objects.file: 1 value with a file above 10 MiB",
    "posts.raw: bytes (bytea) are no value of a field",
    "public.events: 1 row without a primary key",
    "function: handle_new_user, is_admin: write functions",
    "view: open_posts: write server queries",
    "trigger: on_auth_user_created on auth.users: write hooks",
    "1 second factor: ask these users",
    "The dump does not say who may sign up: set auth.registration to false if nobody may",
    "Users who are banned or deleted, and who move without an address, without a password and without links: c0000000-0000-4000-8000-000000000003, d0000000-0000-4000-8000-000000000004",
  ])
    expect([line, moved.stdout.includes(line)]).toEqual([line, true]);
  expect(moved.stdout).not.toContain("providers keycloak");
  const text = readFileSync(join(cwd, "collections", "posts.json"), "utf8");
  expect(text).toContain('//   left out: "Team posts" USING ((EXISTS ( SELECT 1 FROM public.members m');
});

test("a path that leads out of the folder of files is a file that is missing", async () => {
  const { stdout } = await move(await project(), sourceOf(dump.replace("\tb0/plan.txt\t", "\t../../dump.sql\t")), []);
  expect(stdout).toContain(
    "storage.objects.file: 2 values with a file that is missing (40000000-0000-4000-8000-000000000002,",
  );
});

test("a second run changes nothing; a later dump brings the changes, and with --delete the deletions", async () => {
  const own = await project();
  expect((await move(own, source)).code).toBe(0);
  const again = await move(own, source);
  expect(again.stdout).toContain("0 records made, 0 changed, 33 as before, 0 gone at the source and kept");
  expect(again.stdout).toContain("0 files stored");
  const later = sourceOf(
    dump.replace("\tFourth\tfourth\t", "\tFifth\tfourth\t").replace("1\tMind the tide\n", "2\tMind the gap\n"),
  );
  const kept = await move(own, later);
  expect(kept.stdout).toContain("1 record made, 1 changed, 31 as before, 1 gone at the source and kept");
  const deleted = await move(own, later, [...decided, "--delete"]);
  expect(deleted.stdout).toContain("0 records made, 0 changed, 33 as before, 1 deleted");
  const database = new Database(join(own, "socle.db"), { readonly: true });
  expect(database.query("SELECT title FROM posts WHERE sourceId = ?").get(postIds[3] ?? "")).toEqual({
    title: "Fifth",
  });
  expect(database.query("SELECT sourceId FROM tips").all()).toEqual([{ sourceId: "2" }]);
  database.close();
});

test("a move goes on after kill -9, and a run without a change changes nothing", async () => {
  const tips = Array.from({ length: 1_500 }, (_, i) => `${i + 1}\tMind the tide ${i}\n`).join("");
  const large = sourceOf(dump.replace("1\tMind the tide\n", () => tips));
  const own = await project();
  for (const bytes of [1, 40_000]) {
    const child = Bun.spawn([executable, "move-in", "supabase", large.path, "--files", large.files, ...decided], {
      ...{ cwd: own, stdout: "ignore", stderr: "ignore" },
    });
    const map = join(own, "move-in-map.ndjson.unfinished");
    await until(() => (statSync(map, { throwIfNoEntry: false })?.size ?? 0) >= bytes || child.exitCode !== null);
    child.kill("SIGKILL");
    await child.exited;
    expect(child.signalCode).toBe("SIGKILL");
  }
  const rest = await move(own, large);
  expect(rest).toMatchObject({ code: 0, stderr: "" });
  const [, made, before] = /(\d+) records? made, 0 changed, (\d+) as before/.exec(rest.stdout)?.map(Number) ?? [];
  expect([(made ?? 0) > 0, (before ?? 0) > 0, (made ?? 0) + (before ?? 0)]).toEqual([true, true, 1_532]);
  const whole = await project();
  await move(whole, large);
  const rows = (of: string): unknown[] => {
    const database = new Database(join(of, "socle.db"), { readonly: true });
    const tables = [...items.keys()].filter((name) => name !== "users");
    const found = [...tables, "storage_objects", "_users", "_links", "_files"].map((name) =>
      database
        .query<object, []>(`SELECT * FROM "${name}" ORDER BY 1, 2, 3`)
        .all()
        .map((row) => ({ ...row, _seq: 0, createdAt: 0, updatedAt: 0 })),
    );
    database.close();
    return found;
  };
  expect(rows(own)).toEqual(rows(whole));
  expect(existsSync(join(own, "socle.db-move-in"))).toBe(false);
  expect((await move(own, large)).stdout).toContain("0 records made, 0 changed, 1532 as before");
}, 120_000);

test("a move without files, and a registration after the move", async () => {
  const own = await project();
  const done = await socle(["move-in", "supabase", source.path, "--yes"], { cwd: own });
  expect(done).toMatchObject({ code: 0, stderr: "" });
  expect(done.stdout).toContain("4 files of storage: download the buckets into a folder, and add --files FOLDER");
  expect(done.stdout).toContain("1 link of the provider keycloak: name the issuer");
  expect(existsSync(join(own, "collections", "storage_objects.json"))).toBe(false);
  const service = await serve(own);
  const registered = await post(`${service.url}/api/auth/register`, { email: "new@harbour.example", password });
  expect(registered.status).toBe(201);
});

describe("a refusal is a single line, and nothing is written", () => {
  async function refusal(text: string | Uint8Array, more: readonly string[] = decided): Promise<string> {
    const own = await project();
    const { code, stderr } = await move(own, sourceOf(text), more);
    expect([code, readdirSync(join(own, "collections")), readdirSync(own).toSorted()]).toEqual([
      2,
      [],
      ["collections", "config.json"],
    ]);
    expect(stderr.trimEnd().split("\n")).toBeArrayOfSize(1);
    return stderr;
  }

  test("a dump that is cut, at any place", async () => {
    for (const part of [0.2, 0.45, 0.5, 0.7, 0.99])
      expect(await refusal(dump.slice(0, Math.floor(dump.length * part)))).toMatch(/the dump is cut|has no rows of/);
  });

  test("a custom dump", async () => {
    expect(await refusal(new Uint8Array([...Buffer.from("PGDMP"), 1, 14, 0]))).toContain(
      "is a dump in the custom format; dump as text: pg_dump",
    );
  });

  test("a file that is missing, before an option decides", async () => {
    expect(await refusal(dump, ["--yes"])).toBe(
      "socle: nothing was moved: 1 point of the report must be decided by options\n",
    );
  });

  test("wrong words", async () => {
    const own = await project();
    for (const [args, message] of [
      [["move-in", "supabase", join(own, "no.sql")], "no.sql: there is no such file"],
      [["move-in", "supabase", source.path, "--files", join(own, "no")], "no: is no folder of files"],
      [["move-in", "pocketbase", own, "--files", own], "--files is for supabase and firebase"],
    ] as const) {
      const { code, stderr } = await socle(args, { cwd: own });
      expect([code, stderr.includes(message), stderr]).toEqual([2, true, stderr]);
    }
  });
});
