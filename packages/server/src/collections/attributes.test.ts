/** Attributes of fields in definitions: what each accepts, and what is refused, for every type. A new attribute adds its cases. */
import { describe, expect, test } from "bun:test";
import { FIELD_TYPES, type FieldType } from "@socle/protocol";
import { parseDefinition } from "./index.ts";

const base = (type: FieldType): object => (type === "relation" ? { collection: "users" } : {});

async function problemOf(field: object): Promise<string | null> {
  const definition = { name: "things", fields: [{ name: "f", ...field }] };
  return parseDefinition(definition).then(
    () => null,
    (thrown: Error) => thrown.message,
  );
}

interface Cases {
  /** The types for which it means something, each with a good value. */
  readonly good: { readonly [type in FieldType]?: readonly unknown[] };
  /** Malformed on every type for which it means something. */
  readonly malformed: readonly (readonly [unknown, RegExp])[];
  /** Malformed with the other attributes of the field. */
  readonly fields?: readonly (readonly [object, RegExp])[];
}

const attributes: { readonly [attribute: string]: Cases } = {
  values: {
    good: { string: [["a"], ["todo", "doing", "done"], ["É", "it's", 'say "x"', "?", "\u{1f600}"]] },
    malformed: [
      [[], /"values" lists 1 to 200 texts, not 0/],
      [Array.from({ length: 201 }, (_, i) => `v${i}`), /1 to 200 texts, not 201/],
      ["todo", /must be an array of texts, not "todo"/],
      [{ a: 1 }, /must be an array of texts/],
      [null, /must be an array of texts/],
      [["a", 1], /must be an array of texts/],
      [["a", null], /must be an array of texts/],
      [["a", "b", "a"], /lists "a" twice/],
      [["a", ""], /texts of one line, 1 to 100 characters/],
      [["x".repeat(101)], /texts of one line, 1 to 100 characters/],
      [["a\0b"], /texts of one line/],
      [["a\nb"], /texts of one line/],
      [["a "], /without space at an end/],
      [["\ud800"], /texts of one line/],
    ],
    fields: [
      [{ type: "string", values: ["a"], min: 1 }, /"min" means nothing beside "values"/],
      [{ type: "string", values: ["a"], max: 1 }, /"max" means nothing beside "values"/],
      [{ type: "string", values: ["a"], regex: "a" }, /"regex" means nothing beside "values"/],
    ],
  },
};

for (const [attribute, { good, malformed, fields = [] }] of Object.entries(attributes))
  describe(attribute, () => {
    for (const type of FIELD_TYPES)
      for (const value of good[type] ?? [])
        test(`${type}: ${JSON.stringify(value)} is accepted`, async () => {
          expect(await problemOf({ type, ...base(type), [attribute]: value })).toBeNull();
        });
    for (const type of FIELD_TYPES)
      if (good[type] === undefined)
        test(`${type}: it means nothing`, async () => {
          for (const value of Object.values(good).flat())
            expect(await problemOf({ type, ...base(type), [attribute]: value })).toMatch(
              new RegExp(`field "f": "${attribute}" means nothing on type ${type}; it is for `),
            );
        });
      else
        for (const [value, message] of malformed)
          test(`${type}: ${JSON.stringify(value).slice(0, 40)} is refused`, async () => {
            expect(await problemOf({ type, ...base(type), [attribute]: value })).toMatch(message);
          });
    for (const [field, message] of fields)
      test(`${JSON.stringify(field).slice(0, 80)} is refused`, async () => {
        expect(await problemOf(field)).toMatch(message);
      });
  });
