import { expect, test } from "bun:test";
import { SocleError } from "@socle/client";
import type { CollectionEntry, FieldDefinition, JsonValue, RecordQuery, StoredRecord } from "@socle/protocol";
import { csvLine } from "@socle/protocol/cells";
import { guessMapping } from "../../import/mapping/mapping.ts";
import { type ImportPlan, prepareRow } from "../../import/run/prepare.ts";
import { detectFormat, readColumns, readRows } from "../../import/source/source.ts";
import { csvValue, protect } from "./csv.ts";
import { columnsOf, type ExportFormat, fileTypes, RecordWriter } from "./format.ts";
import { chosenPages, type PageSource, queriedPages } from "./pages.ts";

const fields: FieldDefinition[] = [
  { name: "title", type: "string" },
  { name: "body", type: "text" },
  { name: "count", type: "integer" },
  { name: "rating", type: "float" },
  { name: "done", type: "boolean" },
  { name: "at", type: "datetime" },
  { name: "meta", type: "json" },
  { name: "author", type: "relation", collection: "users" },
  { name: "cover", type: "file" },
];

const texts = [
  ...[
    "plain",
    "",
    null,
    "null",
    '""',
    '"',
    'say "hi"',
    "a,b;c\td|e",
    "one\ntwo",
    "one\r\ntwo\r",
    "\n",
    " spaces ",
    "😀 é",
  ],
  ...["=1+1", "'=1+1", "''=1", "'", "''", "'tis", "+1", "-1", "@x", "\tx", "\rx", "\ufeffx", "[1]", "{", "true", "1,5"],
];
const jsons: JsonValue[] = [
  ...[{ a: [1, { b: 'q"uo,te\n' }], c: null }, [], "text", "", "=1", "null", 0, -5, false, null, [[""]]],
];

function recordsOf(): { [name: string]: JsonValue }[] {
  return texts.map((title, i) => ({
    id: `rec_01a201c0-27a0-70f3-b874-${String(i).padStart(12, "0")}`,
    title,
    body: texts[texts.length - 1 - i] ?? null,
    count: i % 4 === 3 ? null : i - 10,
    rating: i % 5 === 4 ? null : (i - 10) / 3,
    done: [true, false, null][i % 3] ?? null,
    at: i % 2 === 0 ? "2026-03-01T08:30:00.123Z" : null,
    meta: jsons[i % jsons.length] ?? null,
    author: i % 2 === 0 ? `usr_01a201c0-27a0-70f3-b874-${String(i).padStart(12, "0")}` : null,
    cover: null,
    createdAt: "2026-03-01T08:30:00.123Z",
    updatedAt: "2026-03-01T08:30:00.123Z",
  }));
}

const entry: CollectionEntry = {
  name: "posts",
  fields,
  permissions: null,
  indexes: [],
  definition: { name: "posts", fields },
  createdAt: "",
  updatedAt: "",
  records: 0,
};

async function roundTrip(format: ExportFormat, isProtected: boolean, hasMark: boolean): Promise<unknown[]> {
  const writer = new RecordWriter({ format, columns: columnsOf(entry), isProtected, hasMark });
  const written = [writer.head(), ...recordsOf().map((record) => writer.record(record)), writer.end()];
  const file = new File(written, `posts.${fileTypes[format].extension}`);
  const detected = await detectFormat(file);
  expect(detected.kind).toBe(format);
  const columns = await readColumns(file, detected);
  const plan: ImportPlan = {
    collection: "posts",
    mappings: guessMapping({ fields, columns, sample: [], collections: [] }),
    match: null,
    isProtected: format === "csv" && isProtected,
    hasTypes: format !== "csv",
  };
  const read = [];
  for await (const row of readRows(file, detected, columns)) {
    const { values, problems } = await prepareRow(row, plan, async () => null);
    expect(problems).toEqual([]);
    read.push(values);
  }
  return read;
}

for (const format of ["csv", "json", "lines"] as const) {
  for (const isProtected of format === "csv" ? [true, false] : [true]) {
    test(`the ${format} of an export is imported with the same values${isProtected ? "" : ", unprotected"}`, async () => {
      const expected = recordsOf().map(({ id, createdAt, updatedAt, ...values }) => values);
      expect(await roundTrip(format, isProtected, false)).toEqual(expected);
      expect(await roundTrip(format, isProtected, true)).toEqual(expected);
    });
  }
}

test("an export without records is a file that can be read", () => {
  const write = (format: ExportFormat): string => {
    const writer = new RecordWriter({ format, columns: columnsOf(entry), isProtected: true, hasMark: false });
    return writer.head() + writer.end();
  };
  expect(JSON.parse(write("json"))).toEqual([]);
  expect(write("lines")).toBe("");
  expect(write("csv")).toBe("id,title,body,count,rating,done,at,meta,author,cover,createdAt,updatedAt\r\n");
});

test("cells follow RFC 4180", () => {
  expect(csvLine(["a", null, "", 'q"', "x,y", "l\nm", " s"])).toBe('a,,"","q""","x,y","l\nm"," s"\r\n');
});

test("formulas get an apostrophe, numbers do not", () => {
  for (const formula of ["=1", "+1", "-1", "@a", "\tx", "\rx"]) expect(protect(formula)).toBe(`'${formula}`);
  expect(protect("a=1")).toBe("a=1");
  expect(csvValue(-5, "integer", true)).toBe("-5");
  expect(csvValue("-5", "string", true)).toBe("'-5");
  expect(csvValue("=1", "string", false)).toBe("=1");
});

function sourceOf(fetch: PageSource["fetch"], signal = new AbortController().signal): PageSource {
  return { fetch, isSignedIn: () => true, signal, sleep: async () => undefined };
}

test("pages follow their cursor, and wait when the service asks to", async () => {
  const asked: RecordQuery[] = [];
  const failures = [503, 429, 401];
  const pages = queriedPages(
    sourceOf(async (query) => {
      const status = failures.pop();
      if (status !== undefined)
        throw new SocleError(new Response(null, { status }), { code: "unavailable", message: "later" });
      asked.push(query);
      return { items: [{ id: String(asked.length) }], nextCursor: asked.length < 3 ? `c${asked.length}` : null };
    }),
    { filter: "a = 1", sort: "-a" },
  );
  const found = [];
  for await (const page of pages) found.push(...page);
  expect(found.map(({ id }) => id)).toEqual(["1", "2", "3"]);
  expect(asked.map(({ cursor }) => cursor)).toEqual([null, "c1", "c2"]);
  expect(asked.every(({ filter, sort, limit }) => filter === "a = 1" && sort === "-a" && limit === 1_000)).toBe(true);
});

test("chosen records are exported in the order of their ids, without deleted records", async () => {
  const ids = Array.from({ length: 120 }, (_, i) => `rec_${i}`);
  const fetch = async ({ filter = "" }: RecordQuery) => {
    expect(filter.length).toBeLessThan(4_096);
    const items: Partial<StoredRecord>[] = ids
      .filter((id) => filter.includes(`"${id}"`) && id !== "rec_7")
      .map((id) => ({ id }));
    return { items: items.reverse(), nextCursor: null };
  };
  const found = [];
  for await (const page of chosenPages(sourceOf(fetch), ids, "title")) found.push(...page);
  expect(found.map(({ id }) => id)).toEqual(ids.filter((id) => id !== "rec_7"));
});

test("a refusal and a stop end the export", async () => {
  const refused = new SocleError(new Response(null, { status: 400 }), {
    code: "bad_request",
    message: "no such field",
  });
  const read = async (source: PageSource): Promise<void> => {
    for await (const _ of queriedPages(source, {}));
  };
  expect(read(sourceOf(() => Promise.reject(refused)))).rejects.toBe(refused);
  const stop = new AbortController();
  stop.abort();
  expect(read(sourceOf(() => Promise.reject(refused), stop.signal))).rejects.toThrow(/abort/i);
});
