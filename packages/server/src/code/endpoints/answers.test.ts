/** Answers of endpoints that are no returned `Response`: thrown errors, and the plain values of `endpoint`. */
import { describe, expect, test } from "bun:test";
import { openScripts } from "../../../test/scripts.ts";
import { until } from "../../../test/sockets.ts";

const open = `export const access = "public";`;
/** A Standard Schema of objects: `fields` are functions that answer the value, or throw the message of an issue. */
const schemas = `
  export const of = (fields, isAsync) => ({ "~standard": { version: 1, vendor: "own", validate(value) {
    const issues = [], result = {};
    if (typeof value !== "object" || value === null) issues.push({ message: "must be an object" });
    else for (const [name, field] of Object.entries(fields))
      try { result[name] = field(value[name]); } catch (error) { issues.push({ message: error.message, path: isAsync ? [{ key: name }, 0] : [name] }); }
    const end = issues.length > 0 ? { issues } : { value: result };
    return isAsync ? Promise.resolve(end) : end;
  } } });
  export const number = (text) => { if (Number.isNaN(Number(text))) throw new Error("must be a number"); return Number(text); };
  export const text = (value) => { if (typeof value !== "string") throw new Error("must be a text"); return value; };
  export const raw = (validate) => ({ "~standard": { version: 1, vendor: "own", validate } });
`;
const typed = (code: string, up = "../../"): string =>
  `import { number, of, raw, text } from "${up}_schemas.ts"; ${open} ${code}`;

const opened = await openScripts({
  collections: [
    {
      name: "items",
      fields: [
        { name: "name", type: "string", required: true, unique: true },
        { name: "secret", type: "string" },
      ],
      permissions: { read: "admin", create: "admin", update: "admin", delete: "admin" },
    },
  ],
  files: {
    "endpoints/_schemas.ts": schemas,
    "endpoints/throws/[kind].ts": `${open} export const GET = async (_, { params, db, auth, storage, jobs }) => {
      const items = db.collection("items");
      const kinds = {
        refusal: () => { throw new Refusal("not today"); }, field: () => { throw new Refusal("too long", { field: "name" }); },
        forbidden: () => { throw new Refusal("not you", { status: 403 }); },
        response: () => { throw new Response("teapot", { status: 418, headers: [["Set-Cookie", "a=1"], ["Set-Cookie", "b=2"]] }); },
        usedResponse: async () => { const used = new Response("x"); await used.text(); throw used; },
        missing: () => items.update("rec_x", { name: "x" }), invalid: () => items.create({}),
        collection: () => db.collection("none").create({}),
        stale: async () => { const { id } = await items.create({ name: "stale" + Math.random() }); await items.update(id, { name: "y" + Math.random() }, { ifMatch: '"old"' }); },
        batch: () => db.batch([{ method: "create", collection: "items", body: { name: "ok" } }, { method: "create", collection: "items", body: {} }]),
        user: () => auth.users.create({ email: "no", password: "x" }), file: () => storage.put({ filename: "x", data: "x", owner: "usr_none" }),
        caught: () => items.create({}).catch((error) => new Response(error.code + " " + error.details.length, { status: 207 })),
        sql: () => db.query("SELECT secret4711 FROM items"), queue: () => jobs.enqueue("none4711"),
        own: () => { throw Object.assign(new Error("secret4711"), { code: "bad_request", name: "ServiceError" }); },
        changed: () => items.create({}).catch((error) => { error.message = "secret4711"; throw error; }),
        wrapped: () => items.create({}).catch((cause) => { throw new Error("secret4711", { cause }); }),
      };
      return await kinds[params.kind]();
    };`,
    "endpoints/caller.ts": `${open} export const GET = (_, { caller, user }) => Response.json({ caller, same: caller.user === user || caller.user.id === user.id });`,
    "endpoints/typed/[id].ts": typed(
      `
      export const POST = endpoint({ params: of({ id: number }), query: of({ page: (value) => number(value ?? 1) }), body: of({ name: text, n: number }, true) },
        ({ params, query, body, request, user, db, caller }) => ({ params, query, body, method: request.method, user, there: [typeof db.query, typeof caller.address] }));
      export const GET = endpoint({}, ({ params, query, body }) => ({ params, query, body: body === undefined }));
      export const PUT = endpoint({ body: raw((value) => ({ value: value === undefined ? "empty" : value })) }, ({ body }) => body);
    `,
      "../",
    ),
    "endpoints/typed/answers/[kind].ts": typed(`
      export const GET = endpoint({}, ({ params }) => ({
        object: () => ({ a: 1 }), text: () => "x", nothing: () => undefined, null: () => null, date: () => new Date(0),
        response: () => new Response("own", { status: 202 }), fn: () => () => 1, bigint: () => 1n, list: () => Promise.resolve([1]),
        cyclic: () => { const value = {}; value.value = value; return value; }, refusal: () => { throw new Refusal("no"); },
      })[params.kind]());
      export const POST = endpoint({ answer: of({ n: number }), body: raw((value) => ({ value })) }, ({ body }) => body === "response" ? new Response("unchecked") : body);
    `),
    "endpoints/typed/faults/[kind].ts": typed(`
      const of4711 = (part, validate) => endpoint({ [part]: raw(validate) }, () => "answered");
      export const GET = of4711("query", () => { throw new Error("secret4711"); });
      export const POST = of4711("body", () => Promise.reject(new Error("secret4711")));
      export const PUT = of4711("body", () => "rubbish");
      export const PATCH = of4711("answer", () => ({ issues: [{ message: "secret4711", path: ["a", { key: 0 }] }] }));
      export const DELETE = of4711("params", () => ({ issues: Array.from({ length: 5000 }, () => ({ message: "m".repeat(1000), path: ["p".repeat(1000)] })) }));
    `),
    "endpoints/typed/access.ts": `
      export const GET = endpoint({ access: "public" }, () => "everybody");
      export const POST = endpoint({ access: "admin" }, () => "admins");
      export const PUT = () => new Response("members");`,
  },
});
const { request, log } = opened;
const admin = await opened.admin();
const member = await opened.register("member@example.com");
const api = "/api/function";

function textOf({ bytes }: { bytes: Uint8Array }): string {
  return new TextDecoder().decode(bytes);
}

describe("a thrown error", () => {
  const detail = (field: string, rule: string): object => ({ field, rule, message: expect.any(String) });
  test.each<[kind: string, status: number, error: object]>([
    ["refusal", 400, { code: "bad_request", message: "not today" }],
    ["field", 400, { code: "validation_error", message: "too long", details: [detail("name", "refused")] }],
    ["forbidden", 403, { code: "forbidden", message: "not you" }],
    ["missing", 404, { code: "not_found", message: expect.any(String) }],
    ["invalid", 400, { code: "validation_error", message: expect.any(String), details: [detail("name", "required")] }],
    ["changed", 400, { code: "validation_error", message: expect.any(String), details: [detail("name", "required")] }],
    ["collection", 404, { code: "not_found", message: expect.any(String) }],
    ["stale", 412, { code: "conflict", message: expect.any(String) }],
    [
      "batch",
      400,
      {
        code: "validation_error",
        message: expect.any(String),
        details: [{ ...detail("name", "required"), operation: 1 }],
      },
    ],
    ["user", 400, { code: "validation_error", message: expect.any(String), details: expect.any(Array) }],
    ["file", 400, { code: "bad_request", message: expect.any(String) }],
  ])("%s is the response: %i", async (kind, status, error) => {
    const before = log.length;
    const answer = await request("GET", `${api}/throws/${kind}`);
    expect<unknown>([answer.status, answer.body]).toEqual([status, { error }]);
    expect(textOf(answer)).not.toContain("4711");
    expect(answer.headers.get("x-request-id")).not.toBeNull();
    expect(log.slice(before).filter((line) => line.startsWith("ERROR"))).toEqual([]);
  });

  test("a Response is the response, with every Set-Cookie", async () => {
    const answer = await request("GET", `${api}/throws/response`);
    expect([answer.status, textOf(answer), answer.headers.getSetCookie()]).toEqual([418, "teapot", ["a=1", "b=2"]]);
  });

  test("may be caught by the handler", async () => {
    const answer = await request("GET", `${api}/throws/caught`);
    expect([answer.status, textOf(answer)]).toEqual([207, "validation_error 1"]);
  });

  test.each(["sql", "queue", "own", "wrapped", "usedResponse"])(
    "%s is 500, and only the log has the reason",
    async (kind) => {
      const before = log.length;
      const answer = await request("GET", `${api}/throws/${kind}`);
      expect([answer.status, answer.body["error"]?.["code"] as unknown]).toEqual([500, "internal_error"]);
      expect(textOf(answer)).not.toContain("4711");
      expect(log.slice(before).some((line) => line.startsWith("ERROR GET of endpoints/throws/[kind].ts failed"))).toBe(
        true,
      );
    },
  );

  test("a defect of the service is 500, and only the log has the reason", async () => {
    const { records } = opened.service;
    const create = records.create.bind(records);
    records.create = () => Promise.reject(new Error("defect4711"));
    try {
      const answer = await request("GET", `${api}/throws/invalid`);
      expect([answer.status, answer.body["error"]?.["code"] as unknown]).toEqual([500, "internal_error"]);
      expect(textOf(answer)).not.toContain("4711");
    } finally {
      records.create = create;
    }
  });
});

test("the context has the caller: the address, and the user", async () => {
  const anonymous = await request("GET", `${api}/caller`);
  expect(JSON.parse(textOf(anonymous))).toEqual({ caller: { address: "test", user: null }, same: true });
  const { caller } = JSON.parse(textOf(await request("GET", `${api}/caller`, { token: member.accessToken })));
  expect(caller).toMatchObject({ address: "test", user: { id: member.user.id, role: "authenticated" } });
});

describe("endpoint()", () => {
  test("gives the handler the values of the schemas", async () => {
    const answer = await request("POST", `${api}/typed/7?page=2`, { body: { name: "x", n: "5", more: 1 } });
    expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "application/json;charset=utf-8"]);
    expect(JSON.parse(textOf(answer))).toEqual({
      params: { id: 7 },
      query: { page: 2 },
      body: { name: "x", n: 5 },
      method: "POST",
      user: null,
      there: ["function", "string"],
    });
    const plain = await request("GET", `${api}/typed/a?x=1&x=2&y=&__proto__=3`);
    expect(textOf(plain)).toBe('{"params":{"id":"a"},"query":{"x":["1","2"],"y":"","__proto__":"3"},"body":true}');
  });

  test("reports all problems of a request at once, with the part of the request", async () => {
    const before = log.length;
    const answer = await request("POST", `${api}/typed/x?page=y`, { body: { n: "z" } });
    expect<unknown>([answer.status, answer.body]).toEqual([
      400,
      {
        error: {
          code: "validation_error",
          message: "4 fields are not valid.",
          details: [
            { field: "params.id", rule: "schema", message: "must be a number" },
            { field: "query.page", rule: "schema", message: "must be a number" },
            { field: "body.name.0", rule: "schema", message: "must be a text" },
            { field: "body.n.0", rule: "schema", message: "must be a number" },
          ],
        },
      },
    ]);
    const empty = await request("POST", `${api}/typed/1`);
    expect(empty.body["error"]?.["details"] as unknown).toEqual([
      { field: "body", rule: "schema", message: "must be an object" },
    ]);
    expect(log.slice(before).filter((line) => line.startsWith("ERROR"))).toEqual([]);
  });

  test.each<[body: string, type: string, message: string]>([
    ["{", "application/json", "The body is not valid JSON"],
    ["{}", "text/plain", "Content-Type: application/json"],
    ["{}", "application/jsonp", "Content-Type: application/json"],
  ])("takes only JSON: %s as %s", async (body, type, message) => {
    const answer = await request("POST", `${api}/typed/1`, { body, headers: { "Content-Type": type } });
    expect(answer.status).toBe(400);
    expect(answer.body["error"]).toMatchObject({ code: "bad_request", message: expect.stringContaining(message) });
  });

  test("gives a schema undefined for an empty body, and takes types of JSON with parameters", async () => {
    expect(textOf(await request("PUT", `${api}/typed/1`))).toBe('"empty"');
    const headers = { "Content-Type": "application/merge-patch+json; charset=utf-8" };
    expect(textOf(await request("PUT", `${api}/typed/1`, { body: "[1]", headers }))).toBe("[1]");
  });

  test.each<[kind: string, status: number, text: string, type: string | null]>([
    ["object", 200, '{"a":1}', "application/json;charset=utf-8"],
    ["text", 200, '"x"', "application/json;charset=utf-8"],
    ["null", 200, "null", "application/json;charset=utf-8"],
    ["list", 200, "[1]", "application/json;charset=utf-8"],
    ["date", 200, '"1970-01-01T00:00:00.000Z"', "application/json;charset=utf-8"],
    ["nothing", 204, "", null],
    ["response", 202, "own", "text/plain;charset=utf-8"],
    ["refusal", 400, '{"error":{"code":"bad_request","message":"no"}}', "application/json"],
  ])("makes responses of plain values: %s", async (kind, status, text, type) => {
    const answer = await request("GET", `${api}/typed/answers/${kind}`);
    expect([answer.status, textOf(answer), answer.headers.get("content-type")]).toEqual([status, text, type]);
  });

  test.each(["fn", "bigint", "cyclic"])("a value without JSON is 500: %s", async (kind) => {
    expect((await request("GET", `${api}/typed/answers/${kind}`)).status).toBe(500);
  });

  test("sends the value that the schema of the response gives; a wrong response is 500, and the log has the reason", async () => {
    const post = (body: unknown) =>
      request("POST", `${api}/typed/answers/x`, {
        body: JSON.stringify(body),
        headers: { "Content-Type": "application/json" },
      });
    expect(textOf(await post({ n: "5", secret: 4711 }))).toBe('{"n":5}');
    expect(textOf(await post("response"))).toBe("unchecked");
    const wrong = await post({ n: "secret4711" });
    expect([wrong.status, textOf(wrong).includes("4711")]).toEqual([500, false]);
    const line = "The handler returned a value that the schema of answer refuses: answer.n: must be a number";
    await until(() => log.some((each) => each.includes(line)));
  });

  test.each([
    ["GET", "The schema of query threw an error: secret4711"],
    ["POST", "The schema of body threw an error: secret4711"],
    ["PUT", "The schema of body gave a string, which is no result of Standard Schema"],
    ["PATCH", "the schema of answer refuses: answer.a.0: secret4711"],
  ])("a schema that fails is 500, and only the log has the reason: %s", async (method, message) => {
    const answer = await request(method, `${api}/typed/faults/x`, method === "GET" ? {} : { body: {} });
    expect([answer.status, answer.body["error"]?.["code"] as unknown]).toEqual([500, "internal_error"]);
    expect(textOf(answer)).not.toContain("4711");
    expect(
      log.some((line) => line.startsWith(`ERROR ${method} of endpoints/typed/faults`) && line.includes(message)),
    ).toBe(true);
  });

  test.each<[result: string, status: number]>([
    ["{}", 500],
    ["[]", 500],
    ["null", 500],
    ["{ issues: 'no' }", 500],
    ["{ issues: [] }", 400],
    ["{ issues: [null, 5, { message: 5, path: 5 }] }", 400],
    ["Object.assign([], { issues: [{ message: 'no', path: [Symbol('s')] }] })", 400],
    ["{ value: undefined }", 204],
  ])("a result %s of a schema is %i", async (result, status) => {
    await opened.save({
      "endpoints/result.ts": typed(`export const GET = endpoint({ query: raw(() => (${result})) }, () => {});`, "./"),
    });
    expect((await request("GET", `${api}/result`)).status).toBe(status);
  });

  test("reports a bounded number of problems", async () => {
    const answer = await request("DELETE", `${api}/typed/faults/x`);
    expect(answer.status).toBe(400);
    expect(answer.body["error"]?.["details"] as unknown).toBeArrayOfSize(100);
    expect(answer.bytes.length).toBeLessThan(100_000);
  });

  test("has a rule of access of its own, which counts for the method", async () => {
    const statuses = async (method: string): Promise<number[]> => {
      const tokens = [{}, { token: member.accessToken }, { token: admin }];
      return (await Promise.all(tokens.map((token) => request(method, `${api}/typed/access`, token)))).map(
        ({ status }) => status,
      );
    };
    expect(await statuses("GET")).toEqual([200, 200, 200]);
    expect(await statuses("HEAD")).toEqual([200, 200, 200]);
    expect(await statuses("POST")).toEqual([401, 403, 200]);
    expect(await statuses("PUT")).toEqual([401, 200, 200]);
    const list = await request("GET", "/api/admin/endpoints", { token: admin });
    expect(list.body["items"] as unknown).toContainEqual({
      path: "/api/function/typed/access",
      filePath: "endpoints/typed/access.ts",
      methods: ["GET", "POST", "PUT"],
      access: "authenticated",
      methodAccess: { GET: "public", POST: "admin" },
      timeout: 30_000,
    });
  });

  test.each([
    ["endpoint({ body: {} }, () => 1)", "endpoint(): body is no Standard Schema (https://standardschema.dev)"],
    ['endpoint({ query: { "~standard": {} } }, () => 1)', "endpoint(): query is no Standard Schema"],
    ["endpoint({ bodi: 1 }, () => 1)", "endpoint(): bodi is unknown; allowed: params, query, body, answer or access"],
    ["endpoint(() => 1)", "endpoint() needs an object as definition, not a function"],
    ["endpoint({}, 5)", "endpoint() needs a handler, not a number"],
    [
      'endpoint({ access: "all" }, () => 1)',
      'access of GET: "all" is not valid; allowed: public, authenticated or admin',
    ],
    ["endpoint({ access: null }, () => 1)", "access of GET: null is not valid"],
  ])("%s does not load", async (code, message) => {
    const second = await openScripts({ files: { "endpoints/x.ts": `export const GET = ${code};` } });
    expect(
      second.log.some((line) => line.startsWith("ERROR endpoints/x.ts does not load") && line.includes(message)),
    ).toBe(true);
    expect((await second.request("GET", `${api}/x`)).status).toBe(500);
    await second.stop();
  });
});
