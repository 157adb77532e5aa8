/** Attributes of fields in definitions: what each accepts, and what is refused, for every type. A new attribute adds cases. */
import { describe, expect, test } from "bun:test";
import { FIELD_TYPES, type FieldType } from "@socle/protocol";
import { parseDefinition } from "./index.ts";

const base = (type: FieldType): object => {
  if (type === "vector") return { dimensions: 2 };
  return type === "relation" ? { collection: "users" } : {};
};

async function problemOf(field: object): Promise<string | null> {
  const definition = { name: "things", fields: [{ name: "f", ...field }] };
  return Promise.try(parseDefinition, definition).then(
    () => null,
    (thrown: Error) => thrown.message,
  );
}

interface Cases {
  /** The types for which the attribute means something, with a good value. */
  readonly good: { readonly [type in FieldType]?: readonly unknown[] };
  /** Malformed on every type for which the attribute means something. */
  readonly malformed: readonly (readonly [unknown, RegExp])[];
  /** Malformed with the other attributes of the field. */
  readonly fields?: readonly (readonly [object, RegExp])[];
}

const deep = JSON.parse(`${"[".repeat(101)}${"]".repeat(101)}`);

const notBoolean: Cases["malformed"] = ["yes", 1, 0, [], {}].map((value) => [value, /must be true or false/]);
const notNumber: Cases["malformed"] = ["1", true, [1], {}, Number.POSITIVE_INFINITY].map((value) => [
  value,
  /must be a number/,
]);
/** The same values for several types. */
function each(types: readonly FieldType[], values: readonly unknown[]): Cases["good"] {
  return Object.fromEntries(types.map((type) => [type, values]));
}

const attributes: { readonly [attribute: string]: Cases } = {
  required: { good: each(FIELD_TYPES, [true, false]), malformed: notBoolean },
  unique: {
    good: each(
      FIELD_TYPES.filter((type) => type !== "json" && type !== "geo" && type !== "vector"),
      [true],
    ),
    malformed: ["yes", "NOCASE", 1, [], {}].map((value) => [value, /must be true, false or "nocase"/]),
    fields: [
      [{ type: "integer", unique: "nocase" }, /"unique" is "nocase", which is for string and text, not for integer/],
      [{ type: "string", unique: "nocase", multiple: true }, /"unique" means nothing beside "multiple"/],
      [{ type: "string", unique: "nocase", default: "a" }, /would be the same in every record/],
    ],
  },
  format: {
    good: each(["string", "text"], ["email", "url", "markdown"]),
    malformed: ["mail", "EMAIL", true, 1, []].map((value) => [value, /must be email, url or markdown/]),
    fields: [
      [{ type: "string", format: "email", values: ["a@b.cd"] }, /"format" means nothing beside "values"/],
      [
        { type: "string", format: "email", default: "ann" },
        /breaks a rule of its own field: it must be an e-mail address/,
      ],
    ],
  },
  dimensions: {
    good: each(["vector"], [1, 384, 4_096]),
    malformed: notNumber,
    fields: [
      [{ type: "vector" }, /a vector needs "dimensions", the count of its numbers, from 1 to 4096/],
      [{ type: "vector", dimensions: 0 }, /"dimensions" is a whole number from 1 to 4096, not 0/],
      [{ type: "vector", dimensions: 4_097 }, /from 1 to 4096, not 4097/],
      [{ type: "vector", dimensions: 1.5 }, /from 1 to 4096, not 1.5/],
      [{ type: "vector", dimensions: 2, default: [1] }, /it must be an array of 2 numbers, not of 1/],
      [{ type: "vector", dimensions: 2, multiple: true }, /"multiple" means nothing on type vector/],
    ],
  },
  metric: {
    good: each(["vector"], ["cosine", "l2"]),
    malformed: ["dot", "L2", 1, true, []].map((value) => [value, /must be cosine or l2/]),
    fields: [[{ type: "vector", dimensions: 1, default: [0] }, /must not be zeros alone/]],
  },
  min: {
    good: { ...each(["string", "text"], [0, 5]), ...each(["integer", "float"], [-5, 0, 1.5]) },
    malformed: notNumber,
    fields: [
      [{ type: "string", min: -1 }, /is a length here and must be a whole number from 0, not -1/],
      [{ type: "text", min: 1.5 }, /is a length here and must be a whole number from 0, not 1.5/],
      [{ type: "string", min: 2 ** 53 }, /is a length here/],
      [{ type: "float", min: 2, max: 1 }, /"min" \(2\) is greater than "max" \(1\)/],
    ],
  },
  max: {
    good: { ...each(["string", "text"], [0, 5]), ...each(["integer", "float"], [-5, 0, 1.5]) },
    malformed: notNumber,
    fields: [
      [{ type: "string", max: -1 }, /is a length here and must be a whole number from 0, not -1/],
      [{ type: "text", max: 0.5 }, /is a length here/],
    ],
  },
  regex: {
    good: each(["string", "text"], ["", "^a$", "\\p{L}"]),
    malformed: [
      ...[5, true, [], {}].map((value): [unknown, RegExp] => [value, /must be a string/]),
      ...["(", "(?=a)", "(?<!a)", "(a)\\1", "[z-a]", "(a{1000}){1000}"].map((value): [unknown, RegExp] => [
        value,
        /"regex" .* cannot be used/,
      ]),
    ],
  },
  collection: {
    good: { relation: ["users", "things"] },
    malformed: [5, true, [], {}].map((value) => [value, /must be the name of a collection/]),
    fields: [[{ type: "relation" }, /a relation needs "collection"/]],
  },
  owner: {
    good: { relation: [true] },
    malformed: notBoolean,
    fields: [[{ type: "relation", collection: "posts", owner: true }, /it is for a relation to "users"/]],
  },
  permissions: {
    good: each(FIELD_TYPES, [null, {}, { read: "admin" }, { read: "public", update: "f = @user.id" }]),
    malformed: [
      ["admin", /must be an object/],
      [5, /must be an object/],
      [[], /must be an object/],
      [{ create: "admin" }, /unknown operation "create"; allowed: read, update/],
      [{ read: 5 }, /"read" must be public, authenticated, owner, admin or an expression, not 5/],
      [{ read: "" }, /"read" must be public/],
      [{ update: "Admin" }, /did you mean "admin"/],
      [{ update: "f = " }, /"update" must be public/],
      [{ update: "f = 1; DROP TABLE _users" }, /"update" must be public/],
    ],
  },
  values: {
    good: { string: [["a"], ["todo", "doing", "done"], ["É", "it's", 'say "x"', "?", "\u{1f600}"]] },
    malformed: [
      [[], /"values" lists 1 to 200 texts, not 0/],
      [Array.from({ length: 201 }, (_, i) => `v${i}`), /1 to 200 texts, not 201/],
      ["todo", /must be an array of texts, not "todo"/],
      [{ a: 1 }, /must be an array of texts/],
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
  multiple: {
    good: { string: [true], relation: [true], file: [true] },
    malformed: [
      ["true", /must be true or false, not "true"/],
      [1, /must be true or false/],
      [[], /must be true or false/],
      [{ max: 2 }, /must be true or false/],
    ],
    fields: [
      [{ type: "string", multiple: true, unique: true }, /"unique" means nothing beside "multiple"/],
      [
        { type: "relation", collection: "users", multiple: true, owner: true },
        /"owner" means nothing beside "multiple"/,
      ],
      [
        { type: "string", multiple: true, min: -1 },
        /"min" is a number of items here and must be a whole number from 0/,
      ],
      [{ type: "file", multiple: true, max: 1.5 }, /"max" is a number of items here and must be a whole number from 0/],
      [{ type: "string", multiple: true, max: 0 }, /allows 1 to 1000 items: "max" cannot be 0/],
      [{ type: "string", multiple: true, max: 1001 }, /allows 1 to 1000 items: "max" cannot be 1001/],
      [{ type: "string", multiple: true, min: 101 }, /allows 100 items without "max", and "min" is 101/],
      [{ type: "string", multiple: true, min: 3, max: 2 }, /"min" \(3\) is greater than "max" \(2\)/],
      [{ type: "string", multiple: true, values: ["a"], regex: "a" }, /"regex" means nothing beside "values"/],
      [{ type: "string", multiple: true, default: "a" }, /it must be an array, each item of it a string/],
      [{ type: "string", multiple: true, default: ["a", "a"] }, /is "a", as item 0 is, and items are distinct/],
      [{ type: "string", multiple: true, default: [], required: true }, /it is required/],
      [{ type: "string", multiple: true, default: ["b"], values: ["a"] }, /it must be "a"/],
      [{ type: "file", multiple: true, default: [] }, /"default" means nothing on type file/],
      [
        { type: "relation", collection: "users", multiple: true, default: "@user.id" },
        /must be \["@user.id"\] on a multiple relation/,
      ],
      [
        { type: "relation", collection: "users", multiple: true, min: 2, default: ["@user.id"] },
        /has one item, and "min" is 2/,
      ],
      [
        { type: "relation", collection: "users", multiple: true, min: 2, onDelete: "clear" },
        /"onDelete" is "clear", which could leave fewer than 2 items/,
      ],
      [
        { type: "relation", collection: "users", multiple: true, required: true, onDelete: "clear" },
        /which a required field cannot be/,
      ],
    ],
  },
  sequence: {
    good: { integer: [true] },
    malformed: [
      [false, /must be true, or an array of names of fields/],
      ["f", /must be true, or an array of names of fields/],
      [1, /must be true, or an array of names of fields/],
      [{}, /must be true, or an array of names of fields/],
      [[5], /must be true, or an array of names of fields/],
      [[], /names 1 to 4 fields, not 0/],
      [["a", "b", "c", "d", "e"], /names 1 to 4 fields, not 5/],
      [["f"], /names its own field/],
      [["g", "g"], /names "g" twice/],
      [["g"], /names "g", and there is no such field/],
    ],
    fields: ["required", "unique", "min", "max", "default"].map((other): [object, RegExp] => [
      {
        type: "integer",
        sequence: true,
        [other]: other === "min" || other === "max" || other === "default" ? 1 : true,
      },
      new RegExp(`"${other}" means nothing beside "sequence"`),
    ]),
  },
  onDelete: {
    good: { relation: ["restrict", "cascade", "clear"] },
    malformed: [
      ["delete", /must be restrict, cascade or clear, not "delete"/],
      ["Cascade", /must be restrict, cascade or clear/],
      ["", /must be restrict, cascade or clear/],
      [true, /must be restrict, cascade or clear/],
      [["clear"], /must be restrict, cascade or clear/],
    ],
    fields: [
      [
        { type: "relation", collection: "users", onDelete: "clear", required: true },
        /which a required field cannot be/,
      ],
    ],
  },
  anyTarget: {
    good: {},
    malformed: [],
    fields: [
      [{ type: "relation", collection: "posts", anyTarget: "yes" }, /"anyTarget" must be true or false/],
      [
        { type: "relation", collection: "users", anyTarget: true },
        /"anyTarget" means nothing on type relation; .* a collection/,
      ],
      [{ type: "file", anyTarget: true }, /"anyTarget" means nothing on type file/],
      [
        { type: "relation", collection: "posts", anyTarget: true, onDelete: "restrict" },
        /"onDelete" means nothing beside "anyTarget"/,
      ],
    ],
  },
  default: {
    good: {
      string: ["", "x", "@nowhere"],
      text: ["two\nlines"],
      integer: [0, -5, 1.0],
      float: [1.5],
      boolean: [true, false],
      datetime: ["@now", "2026-03-01", "2026-03-01T09:30:00+01:00"],
      json: [{}, [1], "x", 0, false],
      vector: [[0.5, -1]],
      geo: [{ lat: 1, lon: -2.5 }],
      relation: ["@user.id"],
    },
    malformed: [
      ["\ud800", /"default" (breaks a rule of its own field: it must be|must be "@user.id")/],
      [deep, /"default" (breaks a rule of its own field: it must be|must be "@user.id")/],
      ["@user.id", /"@user.id", which is for a relation to "users"/],
      ["@now", /"@now", which is for datetime|must be "@user.id" on a relation/],
    ],
    fields: [
      [{ type: "string", default: 5 }, /it must be a string/],
      [{ type: "integer", default: "5" }, /it must be a whole number/],
      [{ type: "integer", default: 1.5 }, /it must be a whole number/],
      [{ type: "float", default: true }, /it must be a finite number/],
      [{ type: "boolean", default: 1 }, /it must be true or false/],
      [{ type: "boolean", default: "true" }, /it must be true or false/],
      [{ type: "datetime", default: "soon" }, /it must be a date/],
      [{ type: "datetime", default: "@today" }, /it must be a date/],
      [{ type: "integer", default: 11, max: 10 }, /it must be at most 10/],
      [{ type: "string", default: "x", min: 2 }, /it must be at least 2 characters long/],
      [{ type: "string", default: "x", regex: "^y" }, /it must match \^y/],
      [{ type: "string", default: "", required: true }, /it is required/],
      [{ type: "string", default: "open", values: ["todo"] }, /it must be "todo"/],
      [{ type: "string", default: "x", unique: true }, /same in every record/],
      [{ type: "datetime", default: "@now", unique: true }, /same in every record/],
      [
        { type: "relation", collection: "posts", default: "@user.id" },
        /means nothing on type relation; .* those to "users"/,
      ],
      [{ type: "relation", collection: "users", default: "usr_1" }, /must be "@user.id" on a relation/],
      [{ type: "relation", collection: "users", default: 5 }, /must be "@user.id" on a relation/],
      [
        { type: "relation", collection: "users", owner: true, default: "@user.id" },
        /"owner" means nothing beside "default"/,
      ],
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
        test(`${type}: the attribute means nothing`, async () => {
          const message = new RegExp(`field "f": "${attribute}" means nothing on type ${type}; it is for `);
          for (const value of Object.values(good).flat()) {
            const field = { type, ...base(type), [attribute]: value };
            if (!["min", "max", "regex"].includes(attribute)) {
              expect(await problemOf(field)).toMatch(message);
              continue;
            }
            // The spec gives the rule to every type.
            const { definition, warnings = [] } = parseDefinition({
              name: "things",
              fields: [{ name: "f", ...field }],
            });
            expect(warnings.join()).toMatch(message);
            expect(definition.fields[0]).not.toHaveProperty(attribute);
          }
        });
      else
        for (const [value, message] of malformed.filter(([each]) => good[type]?.includes(each) !== true))
          test(`${type}: ${JSON.stringify(value).slice(0, 40)} is refused`, async () => {
            expect(await problemOf({ type, ...base(type), [attribute]: value })).toMatch(message);
          });
    test("null counts as an absent attribute", async () => {
      for (const type of FIELD_TYPES.filter((each) => !Object.hasOwn(base(each), attribute)))
        expect(
          parseDefinition({ name: "things", fields: [{ name: "f", type, ...base(type), [attribute]: null }] }),
        ).toEqual(parseDefinition({ name: "things", fields: [{ name: "f", type, ...base(type) }] }));
    });
    for (const [field, message] of fields)
      test(`${JSON.stringify(field).slice(0, 80)} is refused`, async () => {
        expect(await problemOf(field)).toMatch(message);
      });
  });

test("a multiple field has its other attributes, and false counts as absent", async () => {
  for (const field of [
    { type: "string", multiple: true, required: true, min: 1, max: 1000, regex: "^a" },
    { type: "string", multiple: true, values: ["a", "b"], min: 1, max: 2, default: ["b", "a"] },
    { type: "string", multiple: true, default: [] },
    { type: "relation", collection: "users", multiple: true, default: ["@user.id"], onDelete: "clear", min: 1 },
    { type: "file", multiple: true, max: 5 },
    { type: "string", multiple: false, unique: true },
    { type: "relation", collection: "posts", anyTarget: true, unique: true },
    { type: "relation", collection: "posts", anyTarget: false, onDelete: "restrict" },
    { type: "relation", collection: "posts", anyTarget: true, multiple: true },
    { type: "integer", multiple: false, min: -1 },
  ])
    expect(await problemOf(field)).toBeNull();
});

test("no sequence counts by a multiple field", async () => {
  const fields = [
    { name: "tags", type: "string", multiple: true },
    { name: "n", type: "integer", sequence: ["tags"] },
  ];
  const problem = await Promise.try(parseDefinition, { name: "things", fields }).catch(
    (thrown: Error) => thrown.message,
  );
  expect(problem).toBe('field "n": "sequence" names "tags", which is multiple');
});
