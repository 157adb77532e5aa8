import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { JsonValue } from "@socle/protocol";
import { openApi } from "../../../../test/kit.ts";

interface Example {
  /** The address on the page, not encoded. */
  readonly address: string;
  /** The answer that the page shows. */
  readonly expected: string;
}

const page = await Bun.file(join(import.meta.dir, "../../../../../../docs/queries.md")).text();

/** The blocks of code of a kind. */
function blocks(kind: string): string[] {
  const pattern = new RegExp(`^\`\`\`${kind}\\n([\\s\\S]*?)^\`\`\``, "gm");
  return [...page.matchAll(pattern)].map(([, text]) => text ?? "");
}

const examples = blocks("http")
  .flatMap((block) => block.trim().split(/\n\n/))
  .map((text): Example => {
    const [request = "", ...answer] = text.split("\n");
    return { address: request.replace(/^GET /, ""), expected: answer.join("\n") };
  });

/** The files that the page prints, by path: JSON with a first line that names the file. */
const files = new Map(
  blocks("json").flatMap((block): [string, string][] => {
    const [, path, content] = /^\/\/ (\S+)\n([\s\S]*)$/.exec(block) ?? [];
    return path === undefined || content === undefined ? [] : [[path, content]];
  }),
);
const api = await openApi({
  collections: [...files].filter(([path]) => path.startsWith("collections/")).map(([, content]) => JSON.parse(content)),
});
await fill(JSON.parse(files.get("seed.json") ?? ""));

/** Fills in the way of `socle seed`: `$as` names a record, `$ref` points to a record. */
async function fill(records: Record<string, Record<string, JsonValue>[]>): Promise<void> {
  const ids = new Map<JsonValue, string>();
  for (const [collection, items] of Object.entries(records))
    for (const { $as = null, ...item } of items) {
      const resolved = (value: JsonValue): JsonValue => {
        if (Array.isArray(value)) return value.map(resolved);
        const isReference = typeof value === "object" && value !== null && "$ref" in value;
        return isReference ? (ids.get(value["$ref"] ?? null) ?? null) : value;
      };
      const body = Object.entries(item).map(([name, value]): [string, JsonValue] => [name, resolved(value)]);
      const answer = await api.request<{ id: string }>("POST", `/api/${collection}`, {
        body: Object.fromEntries(body),
      });
      expect(answer.status).toBe(201);
      ids.set($as, answer.body.id);
    }
}

interface Answer {
  items: Record<string, JsonValue>[];
  nextCursor: string | null;
  total?: number;
}

function encoded(address: string, cursor: string): string {
  const [path = "", search = ""] = address.split(/\?(.*)/s);
  // Within a value of these examples, "&&" is part of a filter.
  const parameters = search.replaceAll("&&", "\u0000").split("&");
  const query = new URLSearchParams(
    parameters.map((parameter): [string, string] => {
      const [name = "", value = ""] = parameter.replaceAll("\u0000", "&&").split(/=(.*)/s);
      return [name, value.replace("{nextCursor}", cursor)];
    }),
  );
  return `${path}?${query}`;
}

/** A JSON value in each line, or over several lines. */
function records(text: string): JsonValue[] {
  return JSON.parse(`[${text.replaceAll(/\}\n\{/g, "},{")}]`);
}

describe("examples of docs/queries.md", () => {
  test("every part has examples", () => {
    for (const parameter of [
      "filter",
      "sort",
      "limit",
      "cursor",
      "count",
      "offset",
      "fields",
      "expand",
      "group",
      "aggregate",
    ])
      expect(examples.some(({ address }) => address.includes(`${parameter}=`))).toBe(true);
  });

  let cursor = "";
  test.each(examples.map((example) => [example.address, example] as const))("%s", async (_, { address, expected }) => {
    const answer = await api.request<Answer>("GET", encoded(address, cursor));
    expect(answer.status).toBe(200);
    const { items, total } = answer.body;
    cursor = answer.body.nextCursor ?? "";
    const lines = expected.replace(/\ntotal (\d+)$/, "");
    expect(total).toBe(expected === lines ? undefined : Number(/total (\d+)$/.exec(expected)?.[1]));
    const wanted = records(lines);
    expect(wanted.length).toBeGreaterThan(0);
    const shown = typeof wanted[0] === "string" ? items.map(({ title }) => title) : items;
    expect<unknown>(shown).toEqual(wanted);
  });
});
