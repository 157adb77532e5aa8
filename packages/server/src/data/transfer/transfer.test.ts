/** Imports and exports over HTTP: formats, refused rows, rights, and the way there and back. */
import { describe, expect, test } from "bun:test";
import type { ImportReport, JsonValue } from "@socle/protocol";
import fc from "fast-check";
import { eventsSince, lastSeq, openApi } from "../../../test/kit.ts";
import { randomSeed } from "../../../test/random.ts";

const fields = [
  { name: "s", type: "string", max: 20, unique: true },
  { name: "t", type: "text" },
  { name: "i", type: "integer" },
  { name: "f", type: "float" },
  { name: "b", type: "boolean" },
  { name: "d", type: "datetime" },
  { name: "j", type: "json" },
  { name: "r", type: "relation", collection: "rows" },
  { name: "m", type: "string", multiple: true },
  { name: "g", type: "geo" },
];
const api = await openApi({
  collections: [
    { name: "rows", fields },
    {
      name: "copies",
      fields: fields.map((field) => ({ ...field, ...(field.name === "r" && { collection: "copies" }) })),
    },
    {
      name: "owned",
      fields: [
        { name: "title", type: "string", required: true },
        { name: "by", type: "relation", collection: "users", owner: true },
      ],
      permissions: { read: "owner", create: "authenticated" },
    },
  ],
});
const { service } = api;
const admin = await api.admin();
const ann = await api.register("ann@example.com");

type Row = { [name: string]: JsonValue };

async function send(
  content: string | Uint8Array | ReadableStream<Uint8Array>,
  { type = "application/x-ndjson", collection = "rows", token = admin } = {},
): Promise<{ status: number; body: ImportReport & { error?: { message: string; code: string } } }> {
  const headers = { "Content-Type": type };
  return api.request("POST", `/api/${collection}/import`, { body: content, headers, token });
}

async function take(format: string, collection = "rows"): Promise<string> {
  const answer = await api.request("GET", `/api/${collection}/export?format=${format}`, { token: admin });
  expect(answer.status).toBe(200);
  return new TextDecoder().decode(answer.bytes);
}

async function all(collection = "rows"): Promise<Row[]> {
  return (await api.request<{ items: Row[] }>("GET", `/api/${collection}`, { token: admin })).body.items;
}

async function clear(...names: string[]): Promise<void> {
  for (const name of names) {
    const operations = (await all(name)).map(({ id }) => ({ method: "delete", collection: name, id }));
    for (let at = 0; at < operations.length; at += 1_000) {
      const body = { operations: operations.slice(at, at + 1_000) };
      expect((await api.request("POST", "/api/batch", { body, token: admin })).status).toBe(200);
    }
  }
}

const lines = (...rows: unknown[]): string =>
  rows.map((row) => (typeof row === "string" ? row : JSON.stringify(row))).join("\n");
/** The report of an import that refuses no row. */
const reportOf = (imported: number, more: Partial<ImportReport> = {}): ImportReport => ({
  ...{ imported, updated: 0, rejected: 0, skipped: 0, unresolved: 0, problems: [] },
  import: expect.any(String),
  ...more,
});
/** "line:field:rule" of each problem. */
const problemsOf = ({ problems }: ImportReport): string[] =>
  problems.flatMap(({ line, details }) => details.map(({ field, rule }) => `${line}:${field}:${rule}`));
const id = (n: number): string => `rec_00000000-0000-7000-8000-${String(n).padStart(12, "0")}`;

describe("newline-delimited JSON", () => {
  test("rows become records, in their order, each with its event", async () => {
    await clear("rows");
    const seq = await lastSeq(service);
    const { status, body } = await send(`\ufeff${lines({ s: "a" }, "", { s: "b", i: 1 }, "  \r")}\n`);
    expect([status, body.imported, body.rejected]).toEqual([200, 2, 0]);
    expect((await all()).map(({ s }) => s)).toEqual(["b", "a"]);
    expect((await eventsSince(service, seq)).map(({ type }) => type)).toEqual(["rows.created", "rows.created"]);
  });

  test("id, createdAt and updatedAt are kept", async () => {
    await clear("rows");
    const given = { id: id(1), createdAt: "2020-01-01T00:00:00.000Z", updatedAt: "2020-01-02T00:00:00.000Z" };
    const later = { s: "b", r: id(1), createdAt: "2021-05-05" };
    expect((await send(lines({ ...given, s: "a" }, later))).body.imported).toBe(2);
    const [second, first] = await all();
    expect(first).toMatchObject(given);
    const at = "2021-05-05T00:00:00.000Z";
    expect(second).toMatchObject({ r: id(1), createdAt: at, updatedAt: at });
    const changed = await api.request("PUT", `/api/rows/${id(1)}`, { body: { i: 1 } });
    expect(changed.status).toBe(200);
    expect(String(changed.body["createdAt"])).toBe(given.createdAt);
  });

  test("refused rows are left out and reported with their line and every problem", async () => {
    await clear("rows");
    await send(lines({ s: "taken", id: id(1) }));
    const future = new Date(Date.now() + 3_600_000).toISOString();
    const { status, body } = await send(
      lines(
        { s: "one" },
        "{",
        "[]",
        { s: 7, x: 1 },
        { s: "taken" },
        { id: id(1) },
        { id: "x", createdAt: "yesterday", updatedAt: 7 },
        { createdAt: future },
        { createdAt: "2020-01-02", updatedAt: "2020-01-01" },
        { r: id(9) },
        { s: "one" },
        { s: "two", r: id(1) },
      ),
    );
    expect([status, body.imported, body.rejected]).toEqual([200, 2, 10]);
    expect(problemsOf(body)).toEqual([
      "2::type",
      "3::type",
      "4:x:unknown",
      "4:s:type",
      "5:s:unique",
      "6:id:unique",
      "7:createdAt:type",
      "7:updatedAt:type",
      "7:id:type",
      "8:createdAt:max",
      "9:updatedAt:min",
      "10:r:relation",
      "11:s:unique",
    ]);
    expect((await all()).map(({ s }) => s)).toEqual(["two", "one", "taken"]);
  });

  test("a row that is too long is dropped on arrival; the next row is read", async () => {
    await clear("rows");
    const long = `{"t":"${"x".repeat(3 * 1024 ** 2)}"}`;
    const { body } = await send(lines({ s: "a" }, long, { s: "b" }));
    expect([body.imported, body.rejected, body.problems[0]?.line]).toEqual([2, 1, 2]);
  });

  test("more rows than a transaction has, cut anywhere into pieces", async () => {
    await clear("rows");
    const bytes = new TextEncoder().encode(
      lines(...Array.from({ length: 2_500 }, (_, i) => ({ i, t: "é漢\u{1f600}" }))),
    );
    let at = 0;
    const stream = new ReadableStream<Uint8Array>({
      pull(controller) {
        if (at >= bytes.length) return controller.close();
        controller.enqueue(bytes.slice(at, at + 777));
        at += 777;
      },
    });
    expect((await send(stream)).body).toEqual(reportOf(2_500));
    expect((await all()).map(({ i }) => i)).toEqual(Array.from({ length: 2_500 }, (_, i) => 2_499 - i));
    expect((await all()).every(({ t }) => t === "é漢\u{1f600}")).toBe(true);
  });

  test("a file that is not UTF-8 is refused as a whole, with the line and the option", async () => {
    await clear("rows");
    const good = new TextEncoder().encode(`${lines(...Array.from({ length: 1_000 }, (_, i) => ({ i })))}\n`);
    const { status, body } = await send(new Uint8Array([...good, 0xff, 0x0a]));
    expect([status, body.error?.code]).toEqual([400, "bad_request"]);
    expect(body.error?.message).toContain("not UTF-8 in line 1001. The option encoding names another encoding");
    expect(await all()).toEqual([]);
  });
});

describe("CSV", () => {
  const csv = { type: "text/csv; charset=utf-8" };

  test("cells become values of their fields; an empty cell is null, a quoted empty cell is the empty text", async () => {
    await clear("rows");
    const rows = [
      "s,t,i,f,b,d,j",
      'a,"two\r\nlines, and ""quotes""",1,-0.5,true,2020-01-01,"{""k"":[1,null]}"',
      ',"",0,,,,',
      "b,x,1e3,.5,0,,null",
    ];
    const { status, body } = await send(rows.join("\r\n"), csv);
    expect([status, body]).toEqual([200, reportOf(3)]);
    const [b, empty, a] = await all();
    expect(a).toMatchObject({ s: "a", t: 'two\r\nlines, and "quotes"', i: 1, f: -0.5, b: true, j: { k: [1, null] } });
    expect(empty).toMatchObject({ s: null, t: "", i: 0, b: null, j: null });
    expect(b).toMatchObject({ i: 1_000, f: 0.5, b: false, j: null });
  });

  test("line feeds, with or without carriage returns, also mixed in a file, and a byte order mark", async () => {
    await clear("rows");
    const rows = [
      "\ufeffs,t\n",
      "a,b\r\n",
      'c,"d"\r\n',
      "e,\r\n",
      'f,"g\r"\r\n',
      'h,"i\r"\n',
      'j,""\r\n',
      "\r\n",
      "k,l\r\n",
    ];
    const found = async (): Promise<unknown[]> => (await all()).toReversed().map(({ s, t }) => [s, t]);
    const cells = [
      ["a", "b"],
      ["c", "d"],
      ["e", null],
      ["f", "g\r"],
      ["h", "i\r"],
      ["j", ""],
      ["k", "l"],
    ];
    expect((await send(rows.join(""), csv)).body).toEqual(reportOf(7));
    expect(await found()).toEqual(cells);
    await clear("rows");
    expect((await send(rows.join("").replace("\n", "\r\n"), csv)).body.imported).toBe(7);
    expect(await found()).toEqual(cells);
    // Without quotes and blank lines, the parser takes another way.
    await clear("rows");
    expect((await send("s,t\r\na,b\nc,d\r\n,e\r\n", csv)).body.imported).toBe(3);
    expect(await found()).toEqual([...cells.slice(0, 2), [null, "e"]]);
  });

  test("a row without quotes that is too long is dropped on arrival; the next row is read", async () => {
    await clear("rows");
    const long = "x".repeat(3 * 1024 ** 2);
    const { body } = await send(`s,t\na,1\nb,${long}\r\nc,x,y\nd,2\ne,${long}`, csv);
    expect([body.imported, problemsOf(body)]).toEqual([2, ["3::type", "4::type", "6::type"]]);
    expect((await all()).map(({ s }) => s)).toEqual(["d", "a"]);
  });

  test("the first row decides between commas, semicolons and tabs", async () => {
    await clear("rows");
    expect((await send("s;t\na;x,y\n", csv)).body.imported).toBe(1);
    expect((await send("s\tt\nb\tx,y;z\n", csv)).body.imported).toBe(1);
    expect((await all()).map(({ t }) => t)).toEqual(["x,y;z", "x,y"]);
  });

  test("refused rows are reported with the line of their beginning", async () => {
    await clear("rows");
    const { body } = await send('s,i,b,j\n"a\nb",1,true,1\nc,x,maybe,{\nd,1\n\ne,1,true,1,5\nf,2,,\n', csv);
    expect(problemsOf(body)).toEqual(
      ["4:i:type", "4:b:type", "4:j:type", "5::type", "7::type"].toSorted((x, y) => Number(x[0]) - Number(y[0])),
    );
    expect((await all()).map(({ s }) => s)).toEqual(["f", "a\nb"]);
  });

  test("a row with text behind a closing quote is refused, and no other row is lost in silence", async () => {
    await clear("rows");
    const { body } = await send('s,t\na,"x" y"\nb,"12" wide\nc,"z"\nd,"e"\n', csv);
    const refused = body.problems.map(({ line, details }) => `${line}: ${details[0]?.message}`);
    const message =
      "the row is refused: text follows a closing quote; a quote inside of a quoted cell is written twice";
    expect(refused).toEqual([`2: ${message}`, `3: ${message}`]);
    expect((await all()).map(({ s }) => s)).toEqual(["d", "c"]);
  });

  test("a multiple field is a JSON array, or its only item", async () => {
    await clear("rows");
    const { body } = await send('s,m\na,"[""x"",""y""]"\nb,x\nc,\nd,[x\ne,"[5]"\nf,"[""x"",""x""]"\n', csv);
    expect(problemsOf(body)).toEqual(["5:m:type", "6:m:type", "7:m:unique"]);
    expect((await all()).map(({ s, m }) => [s, m])).toEqual([
      ["c", []],
      ["b", ["x"]],
      ["a", ["x", "y"]],
    ]);
  });

  test.each([
    ["a name that is no field", "s,titel\na,b\n", '"titel"'],
    ["a name twice", "s,s\na,b\n", '"s" twice'],
    ["a first row that does not end", "s".repeat(2 * 1024 ** 2), "longer than"],
    ["a quote that nobody closes", `s,t\na,"${"x\n".repeat(1024 ** 2)}`, "quote"],
    ["an end inside of quotes", 's,t\na,b\nc,"d\ne,f\n', "line 3 does not end: a quote is not closed"],
    ["a first row that does not end", '"s', "line 1 does not end"],
  ])("%s refuses the file", async (_name, content, message) => {
    await clear("rows");
    const { status, body } = await send(content, csv);
    expect([status, body.error?.code]).toEqual([400, "bad_request"]);
    expect(body.error?.message).toContain(message);
    expect(await all()).toEqual([]);
  });
});

describe("access", () => {
  test.each(["import", "export"])("%s: admins only", async (action) => {
    const method = action === "import" ? "POST" : "GET";
    const path = (name: string): string => `/api/${name}/${action}`;
    const tokens = [undefined, ann.accessToken, admin];
    const ask = async (name: string): Promise<number[]> => {
      const statuses: number[] = [];
      for (const token of tokens) {
        const headers = { "Content-Type": "application/x-ndjson" };
        const body = method === "POST" ? "" : undefined;
        statuses.push(
          (
            await api.request(method, path(name), {
              headers,
              ...(body !== undefined && { body }),
              ...(token && { token }),
            })
          ).status,
        );
      }
      return statuses;
    };
    expect(await ask("rows")).toEqual([401, 403, 200]);
    expect(await ask("nothing")).toEqual([404, 404, 404]);
    expect(await ask("users")).toEqual([404, 404, 404]);
    expect(await ask("auth")).toEqual([404, 404, 404]);
    expect(await ask("admin")).toEqual([401, 403, 404]);
    const other = await api.request(method === "POST" ? "GET" : "POST", path("rows"), { token: admin });
    expect([other.status, other.headers.get("allow")?.split(", ")[0]]).toEqual([405, method]);
  });

  test("another type, another format", async () => {
    expect((await send("{}", { type: "application/json" })).status).toBe(400);
    expect((await api.request("GET", "/api/rows/export?format=xml", { token: admin })).status).toBe(400);
  });

  test("an admin names the owner; without a name the admin is the owner", async () => {
    const { body } = await send(lines({ title: "a", by: ann.user.id }, { title: "b" }, { title: "c", by: "usr_x" }), {
      collection: "owned",
    });
    expect([body.imported, problemsOf(body)]).toEqual([2, ["3:by:relation"]]);
    const seen = await api.request<{ items: Row[] }>("GET", "/api/owned", { token: ann.accessToken });
    expect(seen.body.items.map(({ title }) => title)).toEqual(["a"]);
  });
});

test("a place in CSV is JSON, or a latitude and a longitude; another cell is refused with its row", async () => {
  await clear("rows");
  const cells = [
    '"{""lat"":1.5,""lon"":-2}"',
    '"52.52, 13.405"',
    '"-1e1,0"',
    "",
    '"91,0"',
    '"1,2,3"',
    "x",
    '"{""lat"":1}"',
  ];
  const { body } = await send(`s,g\n${cells.map((cell, i) => `r${i},${cell}`).join("\n")}\n`, { type: "text/csv" });
  expect([body.imported, problemsOf(body)]).toEqual([4, ["6:g:type", "7:g:type", "8:g:type", "9:g:type"]]);
  expect(body.problems[0]?.details[0]?.message).toBe('g must have a latitude "lat", a number from -90 to 90, not 91');
  expect((await all()).toReversed().map(({ g }) => g as unknown)).toEqual([
    { lat: 1.5, lon: -2 },
    { lat: 52.52, lon: 13.405 },
    { lat: -10, lon: 0 },
    null,
  ]);
});

test("export: the oldest first, as a file", async () => {
  await clear("rows");
  await send(
    lines(
      { s: "a", id: id(1), createdAt: "2020-01-01" },
      { s: "", t: "x,y", j: { k: '"' }, m: ["p", "q,r"], g: { lat: 1.5, lon: -2 }, id: id(2), createdAt: "2020-01-01" },
    ),
  );
  const answer = await api.request("GET", "/api/rows/export?format=csv", { token: admin });
  expect(answer.headers.get("content-type")).toBe("text/csv; charset=utf-8");
  expect(answer.headers.get("content-disposition")).toContain('attachment; filename="rows.csv"');
  const at = "2020-01-01T00:00:00.000Z";
  expect(await take("csv")).toBe(
    [
      "id,createdAt,updatedAt,s,t,i,f,b,d,j,r,m,g",
      `${id(1)},${at},${at},a,,,,,,,,[],`,
      `${id(2)},${at},${at},"","x,y",,,,,"{""k"":""\\""""}",,"[""p"",""q,r""]","{""lat"":1.5,""lon"":-2}"`,
      "",
    ].join("\r\n"),
  );
  const [first = "", second = "", end] = (await take("ndjson")).split("\n");
  expect([JSON.parse(first), JSON.parse(second), end]).toEqual([...(await all()).toReversed(), ""]);
  const accepted = await api.request("GET", "/api/rows/export", { token: admin, headers: { Accept: "text/csv" } });
  expect(accepted.headers.get("content-type")).toBe("text/csv; charset=utf-8");
  await clear("rows");
  expect([await take("ndjson"), await take("csv")]).toEqual(["", "id,createdAt,updatedAt,s,t,i,f,b,d,j,r,m,g\r\n"]);
});

/** Whether JSON keeps the numbers of a value: see "json" in docs/collections.md. */
const isKept = (value: unknown): boolean =>
  typeof value === "number"
    ? !Number.isInteger(value) || Number.isSafeInteger(value)
    : typeof value !== "object" || value === null || Object.values(value).every(isKept);

test("random records, exported and imported again in both formats, are the same", async () => {
  const text = fc.oneof(
    fc.string({ unit: "binary" }).filter((each) => each.isWellFormed() && !each.includes("\0")),
    fc.constantFrom("", '"', '""', "a\r\nb", "\n", " ", "=1+1", ",", "null", "\ufeff"),
  );
  const row = fc.record({
    t: fc.option(text),
    i: fc.option(fc.maxSafeInteger()),
    f: fc.option(fc.double({ noNaN: true, noDefaultInfinity: true })),
    b: fc.option(fc.boolean()),
    d: fc.option(fc.constantFrom("1999-12-31T23:59:59.999Z", "2020-02-29T00:00:00.000Z")),
    g: fc.option(
      fc.record({
        lat: fc.double({ min: -90, max: 90, noNaN: true }),
        lon: fc.double({ min: -180, max: 180, noNaN: true }),
      }),
    ),
    j: fc.option(fc.jsonValue({ maxDepth: 3 }).filter(isKept)),
    // Relations to earlier and later rows, to the row itself, and to records that no longer exist.
    r: fc.option(fc.nat({ max: 15 })),
    m: fc.uniqueArray(
      text.filter((each) => each !== ""),
      { maxLength: 3 },
    ),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(row, { maxLength: 12 }), fc.constantFrom("csv", "ndjson"), async (rows, format) => {
      await clear("rows", "copies");
      const given = rows.map((each, i) => ({ ...each, id: id(i), r: each.r === null ? null : id(each.r) }));
      const unresolved = given.filter(({ r }) => r !== null && r >= id(rows.length)).length;
      const made = await send(lines(...given));
      expect(made.body).toEqual(reportOf(rows.length, { unresolved }));
      expect((await all()).toReversed()).toMatchObject(given.map(({ id, r }) => ({ id, r })));
      const file = await take(format);
      const type = format === "csv" ? "text/csv" : "application/x-ndjson";
      const { body } = await send(file, { type, collection: "copies" });
      expect(body).toEqual(reportOf(rows.length, { unresolved }));
      expect(await all("copies")).toEqual(await all("rows"));
    }),
    { seed: randomSeed("transfer"), numRuns: 60 },
  );
});
