/** Fields with `sequence`: numbers that are given once, by scope, at create and when a record comes to another scope. */
import { describe, expect, test } from "bun:test";
import { type Answer, openApi, temporaryFolder } from "../../../test/kit.ts";
import { messageOf, openSchemaWorld } from "../../../test/schema-world.ts";

const collections = [
  { name: "projects", fields: [{ name: "key", type: "string" }] },
  {
    name: "issues",
    fields: [
      { name: "title", type: "string", max: 20 },
      { name: "project", type: "relation", collection: "projects", onDelete: "clear" },
      { name: "kind", type: "string", values: ["bug", "idea"] },
      { name: "number", type: "integer", sequence: ["project"] },
      { name: "both", type: "integer", sequence: ["kind", "project"] },
      { name: "all", type: "integer", sequence: true },
    ],
  },
  {
    name: "once",
    fields: [
      { name: "u", type: "string", unique: true },
      { name: "n", type: "integer", sequence: true },
    ],
  },
  {
    name: "mine",
    fields: [
      { name: "by", type: "relation", collection: "users", owner: true },
      { name: "n", type: "integer", sequence: ["by"] },
    ],
    permissions: { create: "n <= 2 && by = @user.id" },
  },
];
const api = await openApi({ collections });
const post = (collection: string, body: object, token?: string): Promise<Answer> =>
  api.request("POST", `/api/${collection}`, { body, ...(token !== undefined && { token }) });
const put = (collection: string, id: unknown, body: object): Promise<Answer> =>
  api.request("PUT", `/api/${collection}/${id}`, { body });
const numbers = ({ body }: Answer): unknown[] => [body["number"], body["both"], body["all"]];
const idOf = async (answer: Promise<Answer>): Promise<string> => String((await answer).body["id"]);
const details = ({ body }: Answer): unknown => body["error"]?.["details"];

const [a, b] = [await idOf(post("projects", { key: "A" })), await idOf(post("projects", { key: "B" }))];
let all = 0;

describe("create", () => {
  test("each scope counts from 1; null is a scope, too", async () => {
    const given = [
      [{ project: a, kind: "bug" }, 1, 1],
      [{ project: a }, 2, 1],
      [{ project: b, kind: "bug" }, 1, 1],
      [{}, 1, 1],
      [{ kind: "bug" }, 2, 1],
      [{ project: a, kind: "bug" }, 3, 2],
    ] as const;
    for (const [body, number, both] of given) {
      all += 1;
      expect(numbers(await post("issues", body))).toEqual([number, both, all]);
    }
  });

  test("any number in the body is refused", async () => {
    for (const number of [1, 99, null, "1", 1.5, [], true]) {
      const refused = await post("issues", { number });
      expect([refused.status, details(refused)]).toEqual([
        400,
        [{ field: "number", rule: "readonly", message: "number is numbered by the service" }],
      ] as never);
    }
  });

  test("a number is not used again: after a deletion", async () => {
    const last = await post("issues", { project: a });
    all += 1;
    expect(numbers(last)).toEqual([4, 2, all]);
    await api.request("DELETE", `/api/issues/${last.body["id"]}`);
    all += 1;
    expect(numbers(await post("issues", { project: a }))).toEqual([5, 3, all]);
  });

  test("a number is not used again: after a restart", async () => {
    const folder = temporaryFolder();
    const first = await openApi({ folder, collections });
    const made = (await first.request("POST", "/api/once", { body: {} })).body;
    expect(made["n"]).toBe(1 as never);
    await first.request("DELETE", `/api/once/${made["id"]}`);
    await first.close();
    const second = await openApi({ folder, collections });
    expect((await second.request("POST", "/api/once", { body: {} })).body["n"]).toBe(2 as never);
  });

  test("a refused create takes no number", async () => {
    await post("once", { u: "x" });
    for (const body of [{ u: "x" }, { u: 5 }, { unknown: 1 }]) expect((await post("once", body)).status).toBe(400);
    expect((await post("once", { u: "y" })).body["n"]).toBe(2 as never);
  });

  test("32 writers get every number once", async () => {
    const made: number[] = [];
    const writer = async (): Promise<void> => {
      for (let i = 0; i < 20; i++) made.push(Number((await post("issues", { project: b })).body["number"]));
    };
    await Promise.all(Array.from({ length: 32 }, writer));
    all += 640;
    expect(made.sort((x, y) => x - y)).toEqual(Array.from({ length: 640 }, (_, i) => i + 2));
  });

  test("a batch counts on, and takes no number when it is taken back", async () => {
    const create = (body: object): object => ({ method: "create", collection: "issues", body });
    const send = (...operations: object[]): Promise<Answer> =>
      api.request("POST", "/api/batch", { body: { operations } });
    expect((await send(create({ project: a }), create({ project: a }), create({ title: "x".repeat(21) }))).status).toBe(
      400,
    );
    const { body } = await send(create({ project: a }), create({ project: a }), create({ project: a }));
    all += 3;
    expect([0, 1, 2].map((i) => body["results"]?.[i]?.["body"]?.["number"])).toEqual([6, 7, 8] as never);
  });

  test("an import may bring numbers: the count goes on after the greatest, and a taken number is reported", async () => {
    const token = await api.admin();
    const lines = [{ u: "i1", n: 50 }, { u: "i2" }, { u: "i3", n: 50 }, { u: "i4", n: "x" }, { u: "i5", n: 20 }];
    const answer = await api.request("POST", "/api/once/import", {
      token,
      body: lines.map((line) => JSON.stringify(line)).join("\n"),
      headers: { "Content-Type": "application/x-ndjson" },
    });
    expect(answer.status).toBe(200);
    const { items } = (
      await api.request<{ items: Record<string, unknown>[] }>("GET", '/api/once?filter=u ~ "i"&sort=u')
    ).body;
    expect(items.map(({ u, n }) => [u, n])).toEqual([
      ["i1", 50],
      ["i2", 51],
      ["i5", 20],
    ]);
    expect((await post("once", {})).body["n"]).toBe(52 as never);
  });

  test("a rule sees the number", async () => {
    const ann = await api.register("ann@example.com");
    const bob = await api.register("bob@example.com");
    const made = async (token: string): Promise<unknown[]> => {
      const { status, body } = await post("mine", {}, token);
      return [status, body["n"]];
    };
    expect(await made(ann.accessToken)).toEqual([201, 1]);
    expect(await made(ann.accessToken)).toEqual([201, 2]);
    expect(await made(bob.accessToken)).toEqual([201, 1]);
    expect((await post("mine", {}, ann.accessToken)).status).toBe(403);
  });
});

describe("update", () => {
  test("a PUT of the response of GET is taken; another number is refused", async () => {
    const made = await post("issues", { project: a, kind: "idea" });
    all += 1;
    expect(numbers(made)).toEqual([9, 1, all]);
    expect((await put("issues", made.body["id"], made.body)).status).toBe(200);
    for (const number of [1, null, "9"]) {
      const refused = await put("issues", made.body["id"], { number });
      expect([refused.status, details(refused)]).toMatchObject([400, [{ field: "number" }]]);
    }
    expect(numbers(await put("issues", made.body["id"], { title: "x" }))).toEqual([9, 1, all]);
  });

  test("in another scope the record gets the next number there, and the old number is not used again", async () => {
    const made = await post("issues", { project: a, kind: "idea" });
    all += 1;
    expect(numbers(made)).toEqual([10, 2, all]);
    expect(numbers(await put("issues", made.body["id"], { project: b }))).toEqual([642, 1, all]);
    expect(numbers(await put("issues", made.body["id"], { project: b, kind: "bug" }))).toEqual([642, 2, all]);
    expect(numbers(await put("issues", made.body["id"], { project: a, kind: "idea" }))).toEqual([11, 3, all]);
    all += 1;
    expect(numbers(await post("issues", { project: b }))).toEqual([643, 641, all]);
  });

  test("a relation that is cleared is a change of scope", async () => {
    const project = await idOf(post("projects", {}));
    const made = await post("issues", { project });
    all += 1;
    expect(numbers(made)).toEqual([1, 1, all]);
    await api.request("DELETE", `/api/projects/${project}`);
    const cleared = await api.request("GET", `/api/issues/${made.body["id"]}`);
    expect([cleared.body["project"], ...numbers(cleared)]).toEqual([null, 3, 2, all] as never);
  });
});

describe("migrations", async () => {
  const world = await openSchemaWorld();
  const text = { name: "s", type: "string" };
  const sequence = (by: unknown, more: object = {}): object => ({ name: "n", type: "integer", sequence: by, ...more });
  const add = (name: string, body: object): Promise<Answer> => world.api.request("POST", `/api/${name}`, { body });
  const change = (name: string, ...fields: object[]): Promise<Answer> =>
    world.send("PUT", `/collections/${name}`, { fields });
  const list = async (name: string): Promise<unknown[]> => {
    const { items } = (await world.api.request<{ items: Record<string, unknown>[] }>("GET", `/api/${name}`)).body;
    return items.reverse().map((item) => [item["s"], item["n"]]);
  };

  test("existing records get numbers in the order of their creation", async () => {
    const name = await world.create({ fields: [text] });
    for (const s of ["x", "y", "x", null]) await add(name, { s });
    const fields = [text, sequence(["s"])];
    const plan = await world.send("PUT", `/collections/${name}?dryRun=true`, { fields });
    expect(plan.body).toMatchObject({
      steps: [
        { step: "add", field: "n", records: 4 },
        { step: "sequence", field: "n", on: true, records: 4 },
      ],
    });
    expect((await change(name, ...fields)).status).toBe(200);
    expect(await list(name)).toEqual([
      ["x", 1],
      ["y", 1],
      ["x", 2],
      [null, 1],
    ]);
    expect((await add(name, { s: "x" })).body["n"]).toBe(3 as never);
    expect((await add(name, {})).body["n"]).toBe(2 as never);
    // Across all records, the existing numbers meet.
    expect(messageOf(await change(name, text, sequence(true)))).toMatch(
      /"n" cannot be unique: \d records have a value/,
    );
    // No sequence any more: the numbers stay, and can be changed.
    expect((await change(name, text, { name: "n", type: "integer" })).status).toBe(200);
    for (const { id } of (await world.api.request<{ items: { id: string }[] }>("GET", `/api/${name}`)).body.items)
      await world.api.request("PUT", `/api/${name}/${id}`, { body: { n: null } });
    const [last] = (await world.api.request<{ items: { id: string }[] }>("GET", `/api/${name}`)).body.items;
    await world.api.request("PUT", `/api/${name}/${last?.id}`, { body: { n: 40 } });
    expect((await change(name, text, sequence(true))).status).toBe(200);
    expect(await list(name)).toEqual([
      ["x", 41],
      ["y", 42],
      ["x", 43],
      [null, 44],
      ["x", 45],
      [null, 40],
    ]);
    expect((await add(name, {})).body["n"]).toBe(46 as never);
  });

  test("renames keep the count: of the field, of the scope, of two fields that swap names", async () => {
    const m = { ...sequence(["s"]), name: "m" };
    const name = await world.create({ fields: [text, sequence(true), m] });
    await add(name, { s: "x" });
    await world.api.request("DELETE", `/api/${name}/${(await add(name, { s: "x" })).body["id"]}`);
    const renamed = [
      { ...text, name: "t", renamedFrom: "s" },
      { ...sequence(true), name: "m", renamedFrom: "n" },
      { ...sequence(["t"]), name: "n", renamedFrom: "m" },
    ];
    const plan = await world.send("PUT", `/collections/${name}?dryRun=true`, { fields: renamed });
    expect(plan.body["steps"]).toHaveLength(3);
    expect((await change(name, ...renamed)).status).toBe(200);
    expect((await add(name, { t: "x" })).body).toMatchObject({ m: 3, n: 3 });
    expect((await add(name, { t: "y" })).body).toMatchObject({ m: 4, n: 1 });
  });

  test("a rename keeps the count of a field whose column has another name", async () => {
    const name = await world.create({ fields: [text, sequence(true)] });
    const lose = async (): Promise<void> => {
      await world.api.request("DELETE", `/api/${name}/${(await add(name, {})).body["id"]}`);
    };
    await lose();
    expect((await change(name, text, sequence(true, { name: "rowid", renamedFrom: "n" }))).status).toBe(200);
    expect((await add(name, {})).body).toMatchObject({ rowid: 2 });
    await lose();
    expect((await change(name, text, sequence(true, { name: "OID", renamedFrom: "rowid" }))).status).toBe(200);
    expect((await add(name, {})).body).toMatchObject({ OID: 4 });
    await lose();
    expect((await change(name, text, sequence(true, { renamedFrom: "OID" }))).status).toBe(200);
    expect((await add(name, {})).body).toMatchObject({ n: 6 });
  });

  test("a collection of the same name counts anew, and so does a field", async () => {
    const name = await world.create({ fields: [text, sequence(true)] });
    await add(name, {});
    expect((await change(name, text)).status).toBe(200);
    expect((await change(name, text, sequence(["s"]))).status).toBe(200);
    expect((await add(name, { s: "z" })).body["n"]).toBe(1 as never);
    await world.send("DELETE", `/collections/${name}`);
    await world.send("POST", "/collections", { name, fields: [text, sequence(true)] });
    expect((await add(name, {})).body["n"]).toBe(1 as never);
  });
});
