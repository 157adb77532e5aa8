/** The generated types of fields, by attribute. */
import { expect, test } from "bun:test";
import type { FieldDefinition } from "@socle/protocol";
import { typeDeclarations } from "./type-declarations.ts";

const bare = { "scripts.env": [], "auth.anonymous": false };

/** The lines of a field in the types of a record, of a create and of an update; null in a type without the field. */
function linesOf(field: FieldDefinition): (string | null)[] {
  const text = typeDeclarations([{ name: "things", fields: [field] }], bare);
  const [, record = "", create = "", update = ""] =
    /record: \{([\s\S]*?)\n {4}\};\n {4}create: \{([\s\S]*?)\n? {4}\};\n {4}update: \{([\s\S]*?)\n? {4}\};/.exec(
      text,
    ) ?? [];
  return [record, create, update].map(
    (part) =>
      part
        .split("\n")
        .find((line) => line.includes("f:") || line.includes("f?:"))
        ?.trim() ?? null,
  );
}

test.each<[FieldDefinition, (string | null)[]]>([
  [{ name: "f", type: "string" }, ["f: string | null;", "f?: string | null;", "f?: string | null;"]],
  [
    { name: "f", type: "string", values: ["todo", 'a "b"'], required: true },
    ['f: "todo" | "a \\"b\\"";', 'f: "todo" | "a \\"b\\"";', 'f?: "todo" | "a \\"b\\"";'],
  ],
  [{ name: "f", type: "string", values: ["a"] }, ['f: "a" | null;', 'f?: "a" | null;', 'f?: "a" | null;']],
  [
    { name: "f", type: "integer", default: 5, required: true },
    ["f: number;", "f?: number;", "f?: number | { $increment: number };"],
  ],
  [
    { name: "f", type: "float" },
    ["f: number | null;", "f?: number | null;", "f?: number | null | { $increment: number };"],
  ],
  [
    { name: "f", type: "geo" },
    [
      "f: { lat: number; lon: number } | null;",
      "f?: { lat: number; lon: number } | null;",
      "f?: { lat: number; lon: number } | null;",
    ],
  ],
  [
    { name: "f", type: "vector", dimensions: 3 },
    ["f: number[] | null;", "f?: number[] | null;", "f?: number[] | null;"],
  ],
  [{ name: "f", type: "json" }, ["f: JsonValue | null;", "f?: JsonValue | null;", "f?: JsonValue | null;"]],
  [
    { name: "f", type: "string", multiple: true },
    ["f: string[];", "f?: string[];", "f?: string[] | { $add?: string[]; $remove?: string[] };"],
  ],
  [
    { name: "f", type: "string", multiple: true, values: ["a", "b"], required: true },
    [
      'f: ("a" | "b")[];',
      'f: ("a" | "b")[];',
      'f?: ("a" | "b")[] | { $add?: ("a" | "b")[]; $remove?: ("a" | "b")[] };',
    ],
  ],
  [{ name: "f", type: "integer", sequence: true }, ["f: number;", null, null]],
])("%j", (field, lines) => {
  expect(linesOf(field)).toEqual(lines);
});

test("the declared variables of the environment: an optional variable may be undefined", () => {
  expect(typeDeclarations([], { ...bare, "scripts.env": ["MAIL_KEY", "REGION?"] })).toContain(
    "interface SocleEnv {\n  readonly MAIL_KEY: string;\n  readonly REGION: string | undefined;\n}\n",
  );
});

test("the numbers of a collection are a type, which beforeCreate leaves out of its record", () => {
  const number = (name: string): FieldDefinition => ({ name, type: "integer", sequence: true });
  const numbersOf = (fields: FieldDefinition[]) =>
    /numbers: (.*);/.exec(typeDeclarations([{ name: "things", fields }], bare))?.[1];
  expect(numbersOf([number("a"), { name: "b", type: "integer" }, number("c")])).toBe('"a" | "c"');
  expect(numbersOf([])).toBe("never");
});
