/** Server queries over HTTP: access, scopes, arguments, values, refusals, and failures. */
import { describe, expect, test } from "bun:test";
import { makeKey } from "../../../test/keys.ts";
import { setRole } from "../../../test/kit.ts";
import { openScripts } from "../../../test/scripts.ts";

/** Arguments of a Standard Schema: `status` is a text, `n` a number; both may be missing. */
const schema = `
  export const args = { "~standard": { version: 1, vendor: "own", validate(value) {
    const issues = [];
    if (value.status !== undefined && typeof value.status !== "string") issues.push({ message: "must be a text", path: ["status"] });
    if (value.n !== undefined && typeof value.n !== "number") issues.push({ message: "must be a number", path: ["n"] });
    return issues.length > 0 ? { issues } : { value };
  } } };`;
const open = (handler: string): string =>
  `import { args } from "./_args.ts"; export default query({ access: "public", args }, ${handler});`;
const opened = await openScripts({
  collections: [
    {
      name: "items",
      fields: [
        { name: "name", type: "string", unique: true },
        { name: "status", type: "string" },
      ],
      permissions: { read: "admin" },
    },
  ],
  files: {
    "queries/_args.ts": schema,
    "queries/mine.ts": "export default query({}, async ({ user, auth }) => ({ id: user.id, role: auth.user.role }));",
    "queries/open.ts":
      'export default query({ access: "public" }, async ({ db }) => (await db.collection("items").list()).length);',
    "queries/admins.ts": 'export default query({ access: "admin" }, () => "admins");',
    "queries/args.ts": open("async ({ db, user, logger, signal, ...args }) => args"),
    "queries/hidden.ts": open(
      "async (context) => [typeof context.db.query, context.args, Object.keys(context), typeof context.jobs.enqueue]",
    ),
    "queries/reads.ts": open(`async ({ db, auth, storage, status }) => {
      const items = db.collection("items");
      const [first] = await items.list({ filter: "status = \\"" + status + "\\"", sort: "name" });
      const [row] = await db.query("SELECT count(*) AS n FROM items WHERE status = ?", [status]);
      return [first?.name ?? null, row.n, await items.get(first?.id ?? "none") === null, (await auth.users.list()).length > 0, await storage.get("fil_x")];
    }`),
    "queries/kinds.ts": open(`async ({ db, auth, storage, jobs, mail, status }) => {
      const items = db.collection("items");
      const cyclic = {}; cyclic.self = cyclic;
      return await {
        nothing: () => undefined, null: () => null, text: () => "x", date: () => new Date(0),
        fn: () => () => 1, bigint: () => 1n, cyclic: () => cyclic, large: () => "x".repeat(3_000_000),
        throws: () => { throw new Error("secret4711"); }, refusal: () => { throw new Refusal("not today"); },
        forbidden: () => { throw new Refusal("not you", { status: 403 }); }, field: () => { throw new Refusal("too long", { field: "status" }); },
        missing: () => db.collection("none").list(), filter: () => items.list({ filter: "nope = 1" }), sql: () => db.query("SELECT secret4711 FROM items"),
        create: () => items.create({ name: "written" }), update: () => items.update("rec_x", {}), delete: () => items.delete("rec_x"),
        batch: () => db.batch([{ method: "create", collection: "items", body: { name: "written" } }]),
        transaction: () => db.transaction(async (tx) => tx.collection("items").create({ name: "written" })),
        enqueue: () => jobs.enqueue("note"), mail: () => mail.send({ to: "a@example.com", subject: "s", text: "t" }),
        put: () => storage.put({ filename: "x", data: "x" }), remove: () => storage.delete("fil_x"),
        role: () => auth.users.setRole("usr_x", "admin"), user: () => auth.users.create({ email: "written@example.com", password: "longenough" }),
        session: () => auth.createSession("usr_x"), password: () => auth.verifyPassword("usr_x", "x"),
        caught: () => items.create({ name: "written" }).catch((error) => error.code),
        many: async () => { for (let i = 0; i < 1_001; i += 1) await items.get("rec_x"); },
        thousand: async () => { for (let i = 0; i < 1_000; i += 1) await items.get("rec_x"); return "read"; },
      }[status]();
    }`),
    "queries/late.ts":
      'export const options = { timeout: "150ms" }; export default query({ access: "public" }, () => new Promise(() => {}));',
    "queries/loop.ts":
      'export const options = { timeout: "150ms" }; export default query({ access: "public" }, () => { for (;;); });',
    "queries/schemas.ts": `const raw = (validate) => ({ "~standard": { version: 1, vendor: "own", validate } });
      export default query({ access: "public", args: raw(() => { throw new Error("secret4711"); }) }, () => 1);`,
    "queries/broken.ts": "export default query({ acess: 1 }, () => 1);",
  },
});
const { request, log, service } = opened;
const admin = await opened.admin();
const member = await opened.register("member@example.com");
const textOf = ({ bytes }: { bytes: Uint8Array }): string => new TextDecoder().decode(bytes);
const get = (name: string, args?: unknown, token?: string) =>
  request("GET", `/api/query/${name}${args === undefined ? "" : `?args=${encodeURIComponent(JSON.stringify(args))}`}`, {
    ...(token !== undefined && { token }),
  });
const errorOf = async (name: string, args?: unknown, token?: string): Promise<[number, unknown]> => {
  const { status, body } = await get(name, args, token);
  return [status, body["error"]?.["code"]];
};

describe("access", () => {
  test.each<[name: string, token: string | undefined, status: number]>([
    ["mine", undefined, 401],
    ["mine", "wrong", 401],
    ["mine", member.accessToken, 200],
    ["open", undefined, 200],
    ["open", "wrong", 401],
    ["admins", undefined, 401],
    ["admins", member.accessToken, 403],
    ["admins", admin, 200],
    ["none", admin, 404],
    ["_args", admin, 404],
    ["toString", admin, 404],
    ["broken", undefined, 500],
  ])("%s with the token %p: %p", async (name, token, status) => {
    expect((await get(name, undefined, token)).status).toBe(status);
  });

  test("GET, HEAD and OPTIONS only; the method is checked before the token", async () => {
    const wrong = await request("POST", "/api/query/mine", { body: {} });
    expect([wrong.status, wrong.headers.get("allow")]).toEqual([405, "GET, HEAD, OPTIONS"]);
    expect((await request("HEAD", "/api/query/open")).status).toBe(200);
  });

  test("an API key needs the scope of the query", async () => {
    const boss = await opened.register("boss@example.com");
    await setRole(service, boss.user.id, "admin");
    const statusesOf = async (...scopes: string[]): Promise<number[]> => {
      const { key } = await makeKey(opened, { token: boss.accessToken, scopes });
      return Promise.all(["open", "mine", "admins"].map(async (name) => (await get(name, undefined, key)).status));
    };
    expect(await statusesOf("query:open")).toEqual([200, 403, 403]);
    expect(await statusesOf("query:*")).toEqual([200, 200, 403]);
    expect(await statusesOf("*:read", "function:/*")).toEqual([403, 403, 403]);
    expect(await statusesOf("admin")).toEqual([200, 200, 200]);
    const { key } = await makeKey(opened, { token: boss.accessToken, scopes: ["query:mine"] });
    expect((await get("mine", undefined, key)).body).toEqual({ id: boss.user.id, role: "authenticated" } as never);
  });
});

describe("arguments", () => {
  test("are the properties of the context; its parts hide arguments of the same name", async () => {
    expect(textOf(await get("args", { status: "a", more: [1] }))).toBe('{"status":"a","more":[1]}');
    const hidden = await get("hidden", { db: 1, args: 2, jobs: 3, x: 4 });
    expect(JSON.parse(textOf(hidden))).toEqual(["function", { db: 1, args: 2, jobs: 3, x: 4 }, ["x"], "function"]);
    expect(textOf(await request("GET", "/api/query/args"))).toBe("{}");
    expect(textOf(await request("GET", "/api/query/args?args="))).toBe("{}");
  });

  test("refused by the schema are 400 with all details", async () => {
    const { status, body } = await get("args", { status: 5, n: "x" });
    const detail = (field: string, message: string) => ({ field, rule: "schema", message });
    expect<unknown>([status, body]).toEqual([
      400,
      {
        error: {
          code: "validation_error",
          message: "2 fields are not valid.",
          details: [detail("args.status", "must be a text"), detail("args.n", "must be a number")],
        },
      },
    ]);
  });

  test.each(["{", "[1]", "5", "null", '"x"', `{"status":"${"x".repeat(9_000)}"}`])(
    "%.20s is no object of JSON: 400",
    async (text) => {
      const { status, body } = await request("GET", `/api/query/args?args=${encodeURIComponent(text)}`);
      expect([status, body["error"]?.["code"] as unknown]).toEqual([400, "bad_request"]);
    },
  );

  test("of a query without a schema are refused; a schema that throws is 500", async () => {
    expect(await errorOf("open", { status: "x" })).toEqual([400, "bad_request"]);
    expect(await errorOf("schemas", {})).toEqual([500, "internal_error"]);
    expect(
      log.some((line) => line.includes("query of queries/schemas.ts failed: The schema of args threw an error")),
    ).toBe(true);
  });
});

describe("a value", () => {
  test("equals the result of the reads, without permission rules", async () => {
    const body = { name: "first", status: "open" };
    expect((await request("POST", "/api/items", { token: admin, body })).status).toBe(201);
    expect(JSON.parse(textOf(await get("reads", { status: "open" })))).toEqual(["first", 1, false, true, null]);
    expect(JSON.parse(textOf(await get("reads", { status: "none" })))).toEqual([null, 0, true, true, null]);
  });

  test.each([
    ["nothing", "null"],
    ["null", "null"],
    ["text", '"x"'],
    ["date", '"1970-01-01T00:00:00.000Z"'],
    ["caught", '"internal_error"'],
    ["thousand", '"read"'],
  ])("%s is JSON", async (status, json) => {
    const answer = await get("kinds", { status });
    expect([answer.status, answer.headers.get("content-type"), textOf(answer)]).toEqual([
      200,
      "application/json",
      json,
    ]);
  });

  test("has an ETag of the value: 304 for the same, whatever was written meanwhile", async () => {
    const first = await get("open");
    const etag = first.headers.get("etag") ?? "";
    expect(etag).toMatch(/^"[\w-]{20,}"$/);
    const again = (token?: string) =>
      request("GET", "/api/query/open", { headers: { "If-None-Match": etag }, ...(token !== undefined && { token }) });
    expect((await again()).status).toBe(304);
    expect((await request("POST", "/api/items", { token: admin, body: { name: "second" } })).status).toBe(201);
    const changed = await again();
    expect([changed.status, changed.headers.get("etag") === etag]).toEqual([200, false]);
    expect([changed.headers.get("vary"), changed.headers.get("cache-control")]).toEqual(["Authorization", "no-cache"]);
    expect((await again(admin)).headers.get("cache-control")).toBe("private, no-cache");
  });
});

describe("a failure", () => {
  test.each<[kind: string, status: number, code: string]>([
    ["refusal", 400, "bad_request"],
    ["forbidden", 403, "forbidden"],
    ["field", 400, "validation_error"],
    ["missing", 404, "not_found"],
    ["filter", 400, "bad_request"],
  ])("%s is the response: %i", async (kind, status, code) => {
    const before = log.length;
    expect(await errorOf("kinds", { status: kind })).toEqual([status, code]);
    expect(log.slice(before).filter((line) => line.startsWith("ERROR"))).toEqual([]);
  });

  test.each(["throws", "sql", "fn", "bigint", "cyclic", "large"])(
    "%s is 500, and only the log has the reason",
    async (kind) => {
      const before = log.length;
      const answer = await get("kinds", { status: kind });
      expect([answer.status, answer.body["error"]?.["code"] as unknown]).toEqual([500, "internal_error"]);
      expect(textOf(answer)).not.toContain("4711");
      expect(log.slice(before).some((line) => line.startsWith("ERROR query of queries/kinds.ts failed"))).toBe(true);
    },
  );

  test.each([
    ["create", "db.create"],
    ["update", "db.update"],
    ["delete", "db.delete"],
    ["batch", "db.batch"],
    ["transaction", "db.transaction"],
    ["enqueue", "jobs.enqueue"],
    ["mail", "mail.send"],
    ["put", "storage.put"],
    ["remove", "storage.delete"],
    ["role", "users.setRole"],
    ["user", "users.create"],
    ["session", "auth.createSession"],
    ["password", "auth.verifyPassword"],
  ])("%s is refused: 500, and the log says that a query only reads", async (kind, method) => {
    const before = log.length;
    expect(await errorOf("kinds", { status: kind })).toEqual([500, "internal_error"]);
    expect(log.slice(before).some((line) => line.includes(`${method}: a query only reads`))).toBe(true);
    const { body } = await request("GET", '/api/items?filter=name="written"', { token: admin });
    expect(body["items"]).toEqual([] as never);
    expect(service.auth.users.findByEmail("written@example.com")).toBeNull();
  });

  test("more than 1,000 reads are 500", async () => {
    expect(await errorOf("kinds", { status: "many" })).toEqual([500, "internal_error"]);
    expect(log.some((line) => line.includes("a query makes 1000 reads at most"))).toBe(true);
  });

  test("a timeout is 504, also of an endless loop, and other queries complete meanwhile", async () => {
    expect(await errorOf("late")).toEqual([504, "unavailable"]);
    const looping = errorOf("loop");
    expect(await looping).toEqual([504, "unavailable"]);
    expect((await get("admins", undefined, admin)).status).toBe(200);
    const { body } = await request("GET", "/api/admin/functions/runs?filePath=queries/late.ts", { token: admin });
    expect(body["items"] as unknown).toMatchObject([
      { filePath: "queries/late.ts", handler: "query", status: "failed" },
    ]);
  });
});

describe("files", () => {
  test.each([
    ["queries/a b.ts", "export default query({}, () => 1);", '"a b" cannot be the name of a query'],
    ["queries/plain.ts", "export default () => 1;", "has no default export that is a query"],
    [
      "queries/other.ts",
      'export default endpoint({ access: "public" }, () => 1);',
      "has no default export that is a query",
    ],
    ["queries/named.ts", "export const one = query({}, () => 1);", "has no default export that is a query"],
    ["queries/who.ts", 'export default query({ access: "all" }, () => 1);', 'access: "all" is not valid'],
    [
      "queries/typo.ts",
      "export default query({ arg: 1 }, () => 1);",
      "query(): arg is unknown; allowed: args or access",
    ],
    ["queries/schema.ts", "export default query({ args: {} }, () => 1);", "query(): args is no Standard Schema"],
    ["queries/handler.ts", "export default query({});", "query() needs a handler"],
    [
      "queries/opts.ts",
      "export const options = { retries: 1 }; export default query({}, () => 1);",
      "options.retries is unknown",
    ],
  ])("%s does not load: %s", async (path, code, message) => {
    await opened.save({ [path]: code });
    const found = log.find((line) => line.startsWith(`ERROR ${path} does not load, its path answers 500`));
    expect(found).toContain(message);
    await Bun.file(`${opened.folder}/${path}`).delete();
  });

  test("a change is in use after a reload, a broken change is not, and a deleted file is 404", async () => {
    await opened.save({ "queries/fresh.ts": 'export default query({ access: "public" }, () => 1);' });
    expect(textOf(await get("fresh"))).toBe("1");
    await opened.save({ "queries/fresh.ts": 'export default query({ access: "public" }, () => 2);' });
    expect(textOf(await get("fresh"))).toBe("2");
    await opened.save({ "queries/fresh.ts": "export default query(" });
    expect(textOf(await get("fresh"))).toBe("2");
    await Bun.file(`${opened.folder}/queries/fresh.ts`).delete();
    await opened.scripts.reload();
    expect((await get("fresh")).status).toBe(404);
  });
});
