/**
 * Move from PocketBase: a data folder that PocketBase has made becomes a project. Every record, relation, file, list and login is
 * compared with the answers of PocketBase; whatever differs is in the report.
 */
import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { executable, post, project, type Running, serve, singleService, socle, until } from "./kit.ts";
import { dataFolder, expected, isMany, moved, newField, newName, wantedFor } from "./move-in-kit.ts";

singleService("commands");

type Item = Record<string, unknown> & { id: string; sourceId: string };

/** The options that decide what the report asks. */
const decisions = [
  ...["--dangling", "keep", "--issuer", "oidc=https://id.harbour.example"],
  ...["--email", "user00000000013=capitals@harbour.example", "--email", "user00000000009=kim@harbour.example"],
  ...["--email", "user00000000015=juergen@harbour.example", "--email", "staff0000000002=ida.staff@harbour.example"],
];
const newEmails: Record<string, string> = {
  user00000000013: "capitals@harbour.example",
  user00000000009: "kim@harbour.example",
  user00000000015: "juergen@harbour.example",
  staff0000000002: "ida.staff@harbour.example",
};
const admin = { email: "root@harbour.example", password: "root of all harbours 7" };

const move = (cwd: string, folder: string, more: readonly string[] = ["--yes", ...decisions]) =>
  socle(["move-in", "pocketbase", folder, ...more], { cwd });

async function tokenOf(url: string, email: string, password: string): Promise<{ status: number; token: string }> {
  const response = await post(`${url}/api/auth/login`, { email, password });
  const { accessToken = "" } = (await response.json()) as { accessToken?: string };
  return { status: response.status, token: accessToken };
}

async function list(url: string, collection: string, token: string): Promise<Item[] | number> {
  const headers = token === "" ? undefined : { Authorization: `Bearer ${token}` };
  const response = await fetch(`${url}/api/${collection}`, headers && { headers });
  return response.ok ? ((await response.json()) as { items: Item[] }).items : response.status;
}

/** A moved project with a service, and an admin. */
async function movedProject(): Promise<{ cwd: string; server: Running; report: string; token: string }> {
  const cwd = await project();
  const done = await move(cwd, dataFolder());
  expect(done).toMatchObject({ code: 0, stderr: "" });
  await socle(["admin", "create", admin.email, "--password", admin.password], { cwd });
  const server = await serve(cwd);
  return { cwd, server, report: done.stdout, token: (await tokenOf(server.url, admin.email, admin.password)).token };
}

/** The number of lines of a database's log of events: a run without a change adds none. */
function events(cwd: string): number {
  const database = new Database(join(cwd, "socle.db"));
  try {
    return Number(Object.values(database.query("SELECT count(*) FROM _events").get() as object)[0]);
  } finally {
    database.close();
  }
}

describe("the whole folder", async () => {
  const { cwd, server, report, token } = await movedProject();
  const items = new Map<string, Item[]>();
  for (const { name } of moved) {
    const found = await list(server.url, newName(name), token);
    if (typeof found === "number") throw new Error(`${name}: ${found}`);
    const own = found.filter(({ sourceId }) => sourceId !== null);
    items.set(name, newName(name) === "users" ? own.filter((each) => each["sourceCollection"] === name) : own);
  }
  const ids = new Map(
    moved.flatMap(({ id, name }) =>
      (items.get(name) ?? []).map((item) => [`${id}/${item.sourceId}`, item.id] as const),
    ),
  );
  const idOf = (collectionId: string, id: string): string | undefined => ids.get(`${collectionId}/${id}`);
  const fileOf = async (id: unknown, as = token) => {
    const response = await fetch(
      `${server.url}/api/storage/${id}`,
      as === "" ? {} : { headers: { Authorization: `Bearer ${as}` } },
    );
    return { status: response.status, headers: response.headers, bytes: await response.bytes() };
  };

  test("every record and every relation is there", () => {
    let compared = 0;
    for (const { name, fields } of moved) {
      const records = expected.records[name] ?? [];
      expect(
        items
          .get(name)
          ?.map(({ sourceId }) => sourceId)
          .toSorted(),
      ).toEqual(records.map(({ id }) => id).toSorted());
      for (const record of records) {
        const item = items.get(name)?.find(({ sourceId }) => sourceId === record.id);
        for (const field of fields) {
          if (["password", "file"].includes(field.type) || ["id", "tokenKey", "email", "verified"].includes(field.name))
            continue;
          const time = field.type !== "autodate" ? null : { created: "createdAt", updated: "updatedAt" }[field.name];
          const to = time ?? (name === "job" && field.name === "updatedAt" ? "updatedAt" : newField(name, field.name));
          const actual = item?.[to];
          const value = record[field.name];
          const place = `${name}/${record.id}/${field.name}`;
          compared += 1;
          if (name === "job" && field.name === "log" && typeof value === "object") {
            expect(Bun.SHA256.hash(String(actual), "hex")).toBe(String(Reflect.get(value ?? {}, "$sha256")));
            continue;
          }
          const wanted = wantedFor({ collection: name, id: record.id, field, value }, idOf);
          // A value that was never sent is an empty text, or nothing where an empty text breaks a rule of the field.
          if (wanted === "" || (wanted === 0 && actual === null))
            expect([place, actual || null]).toEqual([place, null]);
          else if (wanted === "gone") expect([place, /^(rec|usr)_/.test(String(actual))]).toEqual([place, true]);
          else if (Array.isArray(wanted) && wanted.includes("gone")) expect(actual).toBeArrayOfSize(wanted.length);
          else expect([place, actual]).toEqual([place, wanted]);
        }
      }
    }
    expect(compared).toBeGreaterThan(6_000);
  });

  test("ids that lead nowhere are kept, and are the ids of no record", () => {
    const known = new Set(ids.values());
    const author = items.get("posts")?.find(({ sourceId }) => sourceId === "post00000000025")?.["author"];
    expect(author).toStartWith("usr_");
    expect(known.has(String(author))).toBe(false);
    expect(report).toContain("posts.author: 1 value with an id of no record (post00000000025): kept");
  });

  test("every file has its bytes, its name as uploaded, and its readers", async () => {
    const callers = ["anonymous", "ada", "bo", "cem"];
    const tokens = new Map([["anonymous", ""]]);
    for (const name of callers.slice(1)) {
      const person = expected.people.users.find(({ email }) => email.toLowerCase().startsWith(name));
      tokens.set(name, (await tokenOf(server.url, person?.email ?? "", person?.password ?? "")).token);
    }
    let compared = 0;
    for (const file of expected.files) {
      const pb = moved.find(({ name }) => name === file.collection);
      const field = pb?.fields.find(({ name }) => name === file.field);
      if (pb === undefined || field === undefined) continue;
      const item = items.get(pb.name)?.find(({ sourceId }) => sourceId === file.record);
      const names = [expected.records[pb.name]?.find(({ id }) => id === file.record)?.[file.field] ?? []].flat();
      const id = isMany(field) ? [item?.[file.field]].flat()[names.indexOf(file.name)] : item?.[file.field];
      if (file.size > 10 * 1024 ** 2) {
        expect([id, report.includes(`job.dump: 1 value with a file above 10 MiB (${file.record})`)]).toEqual([
          null,
          true,
        ]);
        continue;
      }
      const { headers, bytes } = await fileOf(id);
      expect([file.name, Bun.SHA256.hash(bytes, "hex")]).toEqual([file.name, file.sha256]);
      const disposition = headers.get("content-disposition") ?? "";
      const shown = /filename\*=UTF-8''([^;]+)/.exec(disposition)?.[1] ?? /filename="([^"]*)"/.exec(disposition)?.[1];
      if (file.uploadedAs !== null) expect(decodeURIComponent(shown ?? "")).toBe(file.uploadedAs);
      for (const caller of callers) {
        const allowed = (await fileOf(id, tokens.get(caller))).status === 200;
        const before = file.status[caller] === 200;
        // A record of `notes` without readers was open to callers without a token; the view rule alone shows a note to the others with whom the note is shared.
        if (allowed !== before)
          expect([
            file.collection,
            before,
            report.includes("notes: Socle reads lists and single records by one rule"),
          ]).toEqual(["notes", true, true]);
        compared += 1;
      }
    }
    expect(compared).toBeGreaterThan(80);
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
      "* places": "places.listRule: geoDistance(spot.lon, spot.lat, 10, 53.5) < 300",
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
      const login =
        person && (await tokenOf(server.url, emails[caller] ?? newEmails[person.id] ?? "", person.password));
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
    expect(report).toContain("staff/staff0000000003: the authRule refuses this user");
  });

  test("links to providers are kept, and a link of nobody is left", () => {
    const database = new Database(join(cwd, "socle.db"), { readonly: true });
    const links = database.query("SELECT issuer, subject, provider FROM _links ORDER BY provider").all();
    database.close();
    expect(links).toEqual([
      { issuer: "https://github.com", subject: "583231", provider: "github" },
      { issuer: "https://accounts.google.com", subject: "117000000000000000042", provider: "google" },
      { issuer: "https://id.harbour.example", subject: "b3d9c0de-0000-4000-8000-00000000fa7a", provider: "oidc" },
    ]);
  });

  test("the map leads from each old address to a new address that answers", async () => {
    const lines = readFileSync(join(cwd, "move-in-map.ndjson"), "utf8").trimEnd().split("\n");
    const map = lines.map((line) => JSON.parse(line) as { from: string; to: string });
    expect(map.filter(({ from }) => from.startsWith("/api/collections/"))).toBeArrayOfSize(402);
    const files = map.filter(({ from }) => from.startsWith("/api/files/"));
    expect(files).toBeArrayOfSize(2 * 24);
    for (const { to } of [...files, ...map.slice(0, 40)]) {
      const response = await fetch(`${server.url}${to}`, { headers: { Authorization: `Bearer ${token}` } });
      expect([to, response.status]).toEqual([to, 200]);
      await response.bytes();
    }
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
  });

  test("changes of callers are as before, or refused with a reason of the report", async () => {
    const write = async (caller: string, [method, path, body]: [string, string, object?]): Promise<number> => {
      const person = expected.people.users.find(({ email }) => email.startsWith(caller));
      const { token: own } =
        caller === "anonymous" ? { token: "" } : await tokenOf(server.url, person?.email ?? "", person?.password ?? "");
      const headers = { "Content-Type": "application/json", ...(own !== "" && { Authorization: `Bearer ${own}` }) };
      const response = await fetch(`${server.url}/api/${path}`, {
        method,
        headers,
        ...(body && { body: JSON.stringify(body) }),
      });
      await response.bytes();
      return response.status;
    };
    const at = (collection: string, id: string): string =>
      `${collection}/${items.get(collection)?.find(({ sourceId }) => sourceId === id)?.id}`;
    const idIn = (collection: string, id: string): string => at(collection, id).slice(collection.length + 1);
    const [ada, bo] = [idIn("users", "adalindgren0001"), idIn("users", "user00000000002")];
    expect(await write("anonymous", ["POST", "guestbook", { message: "hello" }])).toBe(201);
    expect(await write("anonymous", ["POST", "guestbook", { message: "hello", website: "" }])).toBe(403);
    expect(await write("ada", ["POST", "posts", { title: "t", status: "draft", author: ada }])).toBe(201);
    expect(await write("ada", ["POST", "posts", { title: "t", status: "draft", author: bo }])).toBe(400);
    expect(await write("ada", ["POST", "posts", { title: "t", status: "published" }])).toBe(403);
    expect(await write("ada", ["POST", "posts", { title: "t", status: "draft", featured: true }])).toBe(403);
    expect(await write("ada", ["PUT", at("posts", "post00000000005"), { title: "changed" }])).toBe(200);
    expect(await write("ada", ["PUT", at("posts", "post00000000005"), { author: bo }])).toBe(400);
    expect(await write("bo", ["PUT", at("posts", "post00000000005"), { title: "changed" }])).toBe(403);
    expect(await write("bo", ["DELETE", at("posts", "post00000000016")])).toBe(204);
    expect(await write("bo", ["DELETE", at("posts", "post00000000001")])).toBe(403);
    expect(await write("ada", ["PUT", at("teams", "team00000000001"), { name: "Deck 2" }])).toBe(200);
    expect(
      await write("ada", [
        "POST",
        "members",
        { team: idIn("teams", "team00000000001"), user: idIn("users", "user00000000003") },
      ]),
    ).toBe(201);
    // A member stays in the team.
    expect(
      await write("ada", ["PUT", at("members", "member000000002"), { team: idIn("teams", "team00000000002") }]),
    ).toBe(403);
    expect(await write("ada", ["PUT", at("members", "member000000002"), { role: "cook" }])).toBe(200);
    expect(await write("ada", ["POST", "specimens", { code: "N-1", seen: "2020-01-01" }])).toBe(201);
    expect(await write("ada", ["POST", "specimens", { code: "N-2", seen: "2199-01-01" }])).toBe(403);
    expect(await write("ada", ["POST", "specimens", { code: "S-0006", seen: "2020-01-01" }])).toBe(400);
    // Open before, as the report tells.
    expect(await write("anonymous", ["PUT", at("teams", "team00000000003"), { name: "renamed by nobody" }])).toBeOneOf([
      401, 404,
    ]);
    expect(
      await write("anonymous", ["POST", "members", { team: idIn("teams", "team00000000003"), role: "made by nobody" }]),
    ).toBeOneOf([400, 401]);
    expect(await write("anonymous", ["DELETE", at("comments", "comm00000000003")])).toBeOneOf([401, 404]);
    expect(report).toContain(
      "teams.updateRule: the empty id of a caller without a token equals an empty lead.user: 1 record",
    );
    // Closed, as the report tells.
    expect(await write("ada", ["POST", "tags", { name: "new tag b" }])).toBe(403);
    expect(report).toContain("tags.createRule: @request.auth.verified = true");
  });
});

describe("runs", () => {
  test("a report alone writes nothing, and a move waits for the decisions", async () => {
    const cwd = await project();
    const folder = dataFolder();
    const before = readdirSync(folder).toSorted();
    const report = await move(cwd, folder, []);
    expect(report.code).toBe(0);
    expect(report.stdout).toContain("Nothing was moved. Decide first, then add --yes to move.");
    for (const line of [
      "ida@harbour.example is the address of users/user00000000008 and of staff/staff0000000002",
      "comments.post: 2 values with an id of no record",
    ])
      expect(report.stdout).toContain(line);
    const early = await move(cwd, folder, ["--yes"]);
    expect([early.code, early.stderr]).toEqual([
      2,
      "socle: nothing was moved: 8 points of the report must be decided by options\n",
    ]);
    expect(readdirSync(cwd).toSorted()).toEqual(["collections", "config.json"]);
    expect(readdirSync(join(cwd, "collections"))).toEqual([]);
    expect(readdirSync(folder).toSorted()).toEqual(before);
  });

  test("ids that lead nowhere are cleared where the field may be empty", async () => {
    const cwd = await project();
    const done = await move(cwd, dataFolder(), ["--yes", "--dangling", "clear", "--emails", "first"]);
    expect(done.code).toBe(0);
    expect(done.stdout).toContain("posts.parent: 1 value with an id of no record (post00000000020): cleared");
    expect(done.stdout).toContain("posts.author: 1 value with an id of no record (post00000000025): kept");
    const database = new Database(join(cwd, "socle.db"), { readonly: true });
    expect(database.query("SELECT parent FROM posts WHERE sourceId = 'post00000000020'").get()).toEqual({
      parent: null,
    });
    expect(database.query("SELECT count(*) AS n FROM _users WHERE email = 'ida@harbour.example'").get()).toEqual({
      n: 1,
    });
    database.close();
  });

  test("a move goes on after kill -9, and a run without a change changes nothing", async () => {
    const cwd = await project();
    const folder = dataFolder();
    for (const stored of [1, 6]) {
      const child = Bun.spawn([executable, "move-in", "pocketbase", folder, "--yes", ...decisions], {
        cwd,
        stdout: "ignore",
        stderr: "ignore",
      });
      const files = (): number =>
        existsSync(join(cwd, "storage"))
          ? readdirSync(join(cwd, "storage")).filter((name) => !name.startsWith(".")).length
          : 0;
      await until(() => files() >= stored || child.exitCode !== null);
      child.kill("SIGKILL");
      await child.exited;
      expect(child.signalCode).toBe("SIGKILL");
    }
    const rest = await move(cwd, folder);
    expect(rest).toMatchObject({ code: 0, stderr: "" });
    const made = Number(/(\d+) records? made/.exec(rest.stdout)?.[1]);
    expect(made).toBeGreaterThan(0);
    const whole = await project();
    await move(whole, folder);
    const rows = (of: string): unknown[] => {
      const database = new Database(join(of, "socle.db"), { readonly: true });
      const tables = moved.map(({ name }) => newName(name));
      const all = [...new Set(tables), "_users", "_links"].map((name) =>
        database
          .query(`SELECT * FROM "${name}"`)
          .all()
          .map((row) => ({ ...(row as object), _seq: 0 })),
      );
      const files = database
        .query("SELECT id, filename, mimeType, size, visibility, userId FROM _files ORDER BY id")
        .all();
      database.close();
      return [...all, files];
    };
    const stable = (list: unknown[]): unknown =>
      JSON.parse(JSON.stringify(list, (key, value) => (key === "createdAt" && typeof value === "number" ? 0 : value)));
    expect(stable(rows(cwd))).toEqual(stable(rows(whole)));
    const before = events(cwd);
    const again = await move(cwd, folder);
    expect(again.stdout).toContain(
      "0 records made, 0 changed, 402 as before, 0 gone at the source and kept (--delete deletes them); 0 files stored",
    );
    expect(events(cwd)).toBe(before);
  }, 120_000);

  test("a second run brings over what has changed since, and deletes when asked", async () => {
    const cwd = await project();
    const folder = dataFolder();
    expect((await move(cwd, folder)).code).toBe(0);
    const source = new Database(join(folder, "data.db"));
    source.run(
      "UPDATE posts SET title = 'Another title', updated = '2026-11-29 10:00:00.000Z' WHERE id = 'post00000000003'",
    );
    source.run(
      "INSERT INTO tags (id, name, slug, created, parent) VALUES ('tag000000000099', 'New', 'new', '2026-11-29 09:00:00.000Z', '')",
    );
    source.run("DELETE FROM guestbook WHERE id = (SELECT min(id) FROM guestbook)");
    source.run("DELETE FROM users WHERE id = 'user00000000014'");
    source.run("PRAGMA wal_checkpoint(TRUNCATE)");
    source.close();
    const kept = await move(cwd, folder);
    expect(kept.stdout).toContain(
      "1 record made, 1 changed, 399 as before, 2 gone at the source and kept (--delete deletes them)",
    );
    const deleted = await move(cwd, folder, ["--yes", "--delete", ...decisions]);
    expect(deleted.stdout).toContain("0 records made, 0 changed, 401 as before, 2 deleted");
    const database = new Database(join(cwd, "socle.db"), { readonly: true });
    expect(database.query("SELECT title, updatedAt FROM posts WHERE sourceId = 'post00000000003'").get()).toEqual({
      title: "Another title",
      updatedAt: "2026-11-29T10:00:00.000Z",
    });
    expect(database.query("SELECT count(*) AS n FROM guestbook").get()).toEqual({ n: 4 });
    expect(database.query("SELECT count(*) AS n FROM _users WHERE email LIKE 'hana%'").get()).toEqual({ n: 0 });
    database.close();
  });
});

describe("a folder that cannot be moved: one line, and nothing is written", () => {
  /** Changes the folder, moves, and answers the error. */
  async function refusal(
    change: (folder: string) => void,
    { config = {}, more = [] as string[] } = {},
  ): Promise<string> {
    const cwd = await project({ config });
    const folder = dataFolder();
    change(folder);
    const { code, stderr } = await move(cwd, folder, ["--yes", ...decisions, ...more]);
    expect([code, readdirSync(join(cwd, "collections")), existsSync(join(cwd, "storage"))]).toEqual([2, [], false]);
    expect(stderr.trimEnd().split("\n")).toBeArrayOfSize(1);
    expect(readdirSync(cwd).filter((name) => name.includes("move-in"))).toEqual([]);
    return stderr;
  }
  const sql = (folder: string, ...statements: string[]): void => {
    const database = new Database(join(folder, "data.db"));
    for (const statement of statements) database.run(statement);
    database.run("PRAGMA wal_checkpoint(TRUNCATE)");
    database.close();
  };

  test("no data folder", async () => {
    expect(await refusal((folder) => rmSync(join(folder, "data.db")))).toMatch(
      /is no data folder of PocketBase: there is no data\.db/,
    );
  });

  test("a database that is cut", async () => {
    expect(await refusal((folder) => truncateSync(join(folder, "data.db"), 1_000_000))).toMatch(
      /data\.db.*(damaged|malformed)/,
    );
  });

  test("a database with garbled pages", async () => {
    const message = await refusal((folder) => {
      const path = join(folder, "data.db");
      const bytes = readFileSync(path);
      for (let at = 40_960; at < bytes.length; at += 4_096) bytes.fill(0xa5, at, at + 64);
      writeFileSync(path, bytes);
    });
    expect(message).toMatch(/data\.db.*(damaged|malformed)/);
  });

  test("a file that is no database", async () => {
    expect(await refusal((folder) => writeFileSync(join(folder, "data.db"), "x".repeat(9_000)))).toMatch(
      /data\.db: is not a SQLite database/,
    );
  });

  test("data of a newer version, unless the option says so", async () => {
    const newer = (folder: string): void => sql(folder, "INSERT INTO _migrations VALUES ('1999999999_more.go', 1)");
    expect(await refusal(newer)).toContain("1999999999_more.go, which PocketBase 0.40 does not know");
    const cwd = await project();
    const folder = dataFolder();
    newer(folder);
    expect((await move(cwd, folder, ["--any-version"])).code).toBe(0);
  });

  test("a value that is no JSON", async () => {
    expect(await refusal((folder) => sql(folder, "UPDATE posts SET meta = '{' WHERE id = 'post00000000007'"))).toMatch(
      /posts\/post00000000007: meta is no JSON/,
    );
  });

  test("a type of field that has no counterpart", async () => {
    expect(
      await refusal((folder) =>
        sql(folder, `UPDATE _collections SET fields = replace(fields, '"editor"', '"vector"')`),
      ),
    ).toMatch(/the field posts\.body has the type vector/);
  });

  test("data of a version before 0.23", async () => {
    expect(await refusal((folder) => sql(folder, "ALTER TABLE _collections RENAME COLUMN fields TO schema"))).toContain(
      "before 0.23",
    );
  });

  test("a PocketBase that runs", async () => {
    expect(await refusal((folder) => writeFileSync(join(folder, "data.db-wal"), "x"))).toContain(
      "PocketBase runs, or was killed",
    );
  });

  test("a file that is missing, unless the option says so", async () => {
    const lose = (folder: string): void =>
      rmSync(join(folder, "storage/pbc_1125843985/post00000000003/dot_fqna6zh9v0.gif"));
    expect(await refusal(lose)).toBe("socle: nothing was moved: 1 point of the report must be decided by options\n");
    const cwd = await project();
    const folder = dataFolder();
    lose(folder);
    const done = await move(cwd, folder, ["--yes", "--missing-files", "clear", ...decisions]);
    expect(done.code).toBe(0);
    expect(done.stdout).toContain(
      "posts.cover: 1 value with a file that is missing (post00000000003): the field is cleared",
    );
  });

  test("too little room for the files", async () => {
    expect(await refusal(() => undefined, { config: { limits: { storage: 1_000 } } })).toMatch(
      /limits\.storage is 1000 bytes, and the files to move have \d+/,
    );
  });

  test("a project with a collection of the same name", async () => {
    const cwd = await project({ collections: [{ name: "posts", fields: [{ name: "title", type: "string" }] }] });
    const { code, stderr } = await move(cwd, dataFolder());
    expect([code, stderr]).toEqual([
      2,
      'socle: the project has a collection "posts" already, which no move has made: move into an empty folder\n',
    ]);
    expect(readdirSync(join(cwd, "collections"))).toEqual(["posts.json"]);
  });

  test("a service that runs in the project", async () => {
    const cwd = await project();
    const server = await serve(cwd);
    const { code, stderr } = await move(cwd, dataFolder());
    expect(code).toBe(2);
    expect(stderr).toMatch(/in use|runs/);
    expect(readdirSync(join(cwd, "collections"))).toEqual([]);
    await server.stop();
  });

  test("wrong words", async () => {
    const folder = dataFolder();
    for (const [args, message] of [
      [["move-in", "excel", folder], "move-in knows pocketbase, not excel"],
      [["move-in", "pocketbase", folder, "--dangling", "drop"], "--dangling is keep or clear, not drop"],
      [
        ["move-in", "pocketbase", folder, "--email", "nobody"],
        "--email is a name and a value, with = between, not nobody",
      ],
    ] as const) {
      const { code, stderr } = await socle(args, { cwd: await project() });
      expect([code, stderr.includes(message)]).toEqual([2, true]);
    }
  });
});
