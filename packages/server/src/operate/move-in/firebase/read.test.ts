/** Tests of the reader of Firebase: types of fields, ids, both forms of documents, and values that Socle does not take. */
import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "../../../../test/kit.ts";
import type { Choices, MoveSource, MoveTable, Oddity } from "../source.ts";
import { readFirebase } from "./read.ts";

const [ada, bo] = ["a".repeat(28), "b".repeat(28)];
const choices: Choices = {
  ...{ dangling: null, clearsFiles: false, firstKeepsEmail: false, emails: new Map(), issuers: new Map() },
};

const secrets = { passwordHash: Buffer.alloc(16, 7).toString("base64"), salt: "AAEC" };

async function sourceOf(
  documents: unknown,
  { users = [ada, bo], more = {} as Partial<Choices>, rules = "", config = "", files = null as string | null } = {},
): Promise<MoveSource & Disposable> {
  const folder = temporaryFolder();
  await Bun.write(join(folder, "firestore.json"), JSON.stringify(documents));
  await Bun.write(
    join(folder, "users.json"),
    JSON.stringify({ users: users.map((localId) => ({ localId, email: `${localId}@example.com`, ...secrets })) }),
  );
  if (config !== "") await Bun.write(join(folder, "hash-config.json"), config);
  if (rules !== "") await Bun.write(join(folder, "firestore.rules"), rules);
  const work = join(folder, "work");
  try {
    return await readFirebase(folder, { choices: { ...choices, ...more }, work, files });
  } catch (thrown) {
    expect(existsSync(work)).toBe(false);
    throw thrown;
  }
}
const nested = (collections: object) => ({ __collections__: collections });
const tableOf = ({ tables }: MoveSource, name: string): MoveTable => {
  const found = tables.find(({ definition }) => definition.name === name);
  if (found === undefined) throw new Error(`no ${name}: ${tables.map(({ definition }) => definition.name).join(", ")}`);
  return found;
};

/** The values of all rows, and the oddities. */
function read({ definition, rows }: MoveTable): { values: object[]; odd: string[] } {
  const odd: string[] = [];
  const note = (oddity: Oddity, field: string): void => void odd.push(`${field}: ${oddity}`);
  return { values: [...rows()].map((row) => ({ ...row.values(definition, note) })), odd };
}

/** The type of the field `v` of two documents, and the values. */
async function fieldOf(first: unknown, second: unknown) {
  using source = await sourceOf(nested({ t: { x: { v: first }, y: { v: second } } }));
  const table = tableOf(source, "t");
  const field = table.definition.fields.find(({ name }) => name === "v");
  const type = `${field?.type ?? "none"}${field?.multiple === true ? "[]" : ""}${field?.collection ? ` ${field.collection}` : ""}`;
  const { values, odd } = read(table);
  return { type, values: values.map((each) => Reflect.get(each, "v")), odd };
}
const tagged = (__datatype__: string, value: unknown) => ({ __datatype__, value });
const time = (seconds: number) => tagged("timestamp", { _seconds: seconds, _nanoseconds: 7_000_000 });

test.each([
  [1, 2, "integer", [1, 2]],
  [1, 2.5, "float", [1, 2.5]],
  [1, 2 ** 53, "float", [1, 2 ** 53]],
  [1, null, "integer", [1, null]],
  [true, false, "boolean", [true, false]],
  ["a", "", "string", ["a", ""]],
  ["a", "two\nlines", "text", ["a", "two\nlines"]],
  ["a", "x".repeat(256), "text", ["a", "x".repeat(256)]],
  [1, "1", "json", [1, "1"]],
  [null, undefined, "json", [null, null]],
  [time(0), { _seconds: 1, _nanoseconds: 0 }, "datetime", ["1970-01-01T00:00:00.007Z", "1970-01-01T00:00:01.000Z"]],
  [tagged("timestamp", "2026-01-02T03:04:05Z"), null, "datetime", ["2026-01-02T03:04:05.000Z", null]],
  [tagged("geopoint", { _latitude: -90, _longitude: 180 }), null, "geo", [{ lat: -90, lon: 180 }, null]],
  [["a", "b"], [], "string[]", [["a", "b"], []]],
  [["a", "a"], ["b"], "json", [["a", "a"], ["b"]]],
  [["a", ""], ["b"], "json", [["a", ""], ["b"]]],
  [["a", 1], ["b"], "json", [["a", 1], ["b"]]],
  [[1], [2], "json", [[1], [2]]],
  [{ a: { b: 1 } }, null, "json", [{ a: { b: 1 } }, null]],
  [tagged("bytes", "AA=="), { type: "Buffer", data: [0] }, "none", [undefined, undefined]],
])("%j and %j make a field %s", async (first, second, type, values) => {
  expect(await fieldOf(first, second)).toEqual({ type, values, odd: [] });
});

test("ids of users make a relation; other texts beside, and short ids, do not", async () => {
  const all = await fieldOf(ada, bo);
  expect([all.type, all.values]).toEqual([
    "relation users",
    [expect.stringMatching(/^usr_/), expect.stringMatching(/^usr_/)],
  ]);
  expect((await fieldOf([ada], [bo, ada])).type).toBe("relation[] users");
  const some = await fieldOf(ada, "nobody");
  expect([some.type, some.values]).toEqual(["string", [all.values[0], "nobody"]]);
  using source = await sourceOf(nested({ t: { x: { v: "red" } } }), { users: ["red"] });
  expect(read(tableOf(source, "t")).values).toEqual([{ v: "red", sourceId: "x" }]);
});

test("a reference to a document that is not there is kept or cleared", async () => {
  const documents = nested({
    t: { x: { v: tagged("documentReference", "t/gone") }, y: { v: tagged("documentReference", "t/x") } },
  });
  for (const [dangling, gone] of [
    ["keep", expect.stringMatching(/^rec_/)],
    ["clear", null],
  ] as const) {
    using source = await sourceOf(documents, { more: { dangling } });
    const { values, odd } = read(tableOf(source, "t"));
    expect([values, odd]).toEqual([
      [
        { v: gone, sourceId: "x" },
        { v: expect.stringMatching(/^rec_/), sourceId: "y" },
      ],
      ["v: an id of no record"],
    ]);
  }
  const list = nested({ t: { x: { v: ["gone", "x"].map((id) => tagged("documentReference", `t/${id}`)) } } });
  using cleared = await sourceOf(list, { more: { dangling: "clear" } });
  expect(read(tableOf(cleared, "t")).values).toEqual([{ v: [expect.stringMatching(/^rec_/)], sourceId: "x" }]);
  const other = await fieldOf(tagged("documentReference", "else/gone"), null);
  expect(other).toMatchObject({ type: "string", values: ["else/gone", null] });
});

test("documents of the REST API: typed values, times of documents, and parents that are not there", async () => {
  const name = (path: string): string => `projects/p/databases/(default)/documents/${path}`;
  const fields = {
    ...{ n: { integerValue: "7" }, big: { integerValue: "9007199254740993" }, d: { doubleValue: 1.5 } },
    ...{ nan: { doubleValue: "NaN" }, s: { stringValue: "a" }, b: { booleanValue: true }, none: { nullValue: null } },
    ...{ at: { timestampValue: "2026-01-02T03:04:05.678901Z" }, geo: { geoPointValue: { latitude: 1 } } },
    ...{ ref: { referenceValue: name("t/x") }, raw: { bytesValue: "AA==" }, empty: { arrayValue: {} } },
    map: {
      mapValue: {
        fields: { inf: { doubleValue: "-Infinity" }, list: { arrayValue: { values: [{ integerValue: "1" }] } } },
      },
    },
  };
  const documents = [
    { document: { name: name("t/x"), fields, createTime: "2025-01-01T00:00:00Z", updateTime: "2025-02-01T00:00:00Z" } },
    { name: name("t/gone/u/y") },
  ];
  for (const form of [documents, { documents }]) {
    using source = await sourceOf(form);
    const { values, odd } = read(tableOf(source, "t"));
    expect(values[0]).toEqual({
      ...{ n: 7, big: "9007199254740993", d: 1.5, nan: null, s: "a", b: true, none: null },
      ...{ at: "2026-01-02T03:04:05.678Z", geo: { lat: 1, lon: 0 }, ref: expect.stringMatching(/^rec_/), empty: [] },
      ...{ map: { inf: null, list: [1] }, sourceId: "x" },
    });
    expect(odd).toEqual([
      "nan: a number or a time that Socle does not know, which becomes null",
      "map: a number or a time that Socle does not know, which becomes null",
    ]);
    const [row] = tableOf(source, "t").rows();
    expect(row).toMatchObject({ createdAt: "2025-01-01T00:00:00.000Z", updatedAt: "2025-02-01T00:00:00.000Z" });
    expect(read(tableOf(source, "t_u")).values).toEqual([
      { parent: expect.stringMatching(/^rec_/), sourceId: "gone/y" },
    ]);
    expect(values).toHaveLength(2);
  }
});

test.each([
  [{ documents: [{ name: "t/x" }] }, 'entry 0 has no "name" as'],
  [{ documents: [{ name: "projects/p/databases/d/documents/t" }] }, 'entry 0 has no "name" as'],
  [{ documents: [{ name: "projects/p/databases/d/documents/t/x", fields: { a: 1 } }] }, "t/x: 1 is no typed value"],
  [
    { documents: [1, 2].map(() => ({ name: "projects/p/databases/d/documents/t/x" })) },
    "the document t/x stands twice",
  ],
  [{ documents: [], nextPageToken: "x" }, "is one page of several (nextPageToken)"],
])("%j is refused", async (documents, message) => {
  await expect(sourceOf(documents)).rejects.toThrow(message);
});

test("a field that has the name of a member of every object is null where a document lacks the field", async () => {
  using source = await sourceOf(nested({ t: { x: { constructor: "a" }, y: {} } }));
  const { values } = read(tableOf(source, "t"));
  expect(values.map((each) => Reflect.get(each, "constructor"))).toEqual(["a", null]);
});

test("JSON of more than 100 levels becomes a text", async () => {
  const deep = JSON.parse(`${"[".repeat(120)}${"]".repeat(120)}`);
  const { type, values, odd } = await fieldOf({ deep }, null);
  expect([type, values, odd]).toEqual([
    "json",
    [JSON.stringify({ deep }), null],
    ["v: JSON of more than 100 levels, which becomes a text"],
  ]);
});

test("a document with hundreds of keys is JSON in one field", async () => {
  const keys = Object.fromEntries(Array.from({ length: 451 }, (_, i) => [`k${i}`, i]));
  using source = await sourceOf(nested({ t: { x: keys, y: { v: ada } } }));
  const table = tableOf(source, "t");
  expect(table.definition.fields.map(({ name }) => name)).toEqual(["data", "sourceId"]);
  expect(read(table).values).toEqual([
    { data: keys, sourceId: "x" },
    { data: { v: expect.stringMatching(/^usr_/) }, sourceId: "y" },
  ]);
});

test("several collections of users: one named users becomes fields of users, the others lead to the user", async () => {
  const both = { people: { [ada]: { a: 1 } }, settings: { [ada]: { b: 1 }, [bo]: { b: 2 } } };
  using without = await sourceOf(nested(both));
  expect(without.tables.map(({ definition }) => definition.name)).toEqual(["users", "people", "settings"]);
  const { definition, rows } = tableOf(without, "settings");
  expect(definition.fields[0]).toEqual({
    ...{ name: "user", type: "relation", collection: "users", required: true, unique: true, owner: true },
  });
  const [row] = rows();
  expect([row?.owner, read(tableOf(without, "settings")).values[0]]).toEqual([
    row?.owner ?? "no owner",
    { user: row?.owner, b: 1, sourceId: ada },
  ]);
  expect(row?.owner).toMatch(/^usr_/);
  using withUsers = await sourceOf(nested({ ...both, Users: { [ada]: { role: "x" }, gone: { role: "y" }, [bo]: {} } }));
  const users = tableOf(withUsers, "users");
  expect(read(users).values.map((each) => [Reflect.get(each, "sourceId"), Reflect.get(each, "role_")])).toEqual([
    [ada, "x"],
    [bo, null],
    ["gone", "y"],
  ]);
  expect([users.count, users.has("gone"), users.has("x")]).toEqual([3, true, false]);
});

test("the parameters of hashes as JSON, and as the console shows the parameters", async () => {
  const key = Buffer.alloc(16, 9).toString("base64");
  const members = {
    algorithm: "SCRYPT",
    base64_signer_key: key,
    base64_salt_separator: "Bw==",
    rounds: 8,
    mem_cost: 14,
  };
  const lines = Object.entries(members).map(([name, value]) => `  ${name}: ${value},\n`);
  for (const config of [JSON.stringify(members), `hash_config {\n${lines.join("")}}\n`]) {
    using source = await sourceOf(nested({}), { config });
    const [row] = tableOf(source, "users").rows();
    expect(row?.account?.passwordHash).toBe(`$firebase-scrypt$14$8$${key}$Bw==$AAEC$${secrets.passwordHash}`);
  }
  using without = await sourceOf(nested({}));
  const [row] = tableOf(without, "users").rows();
  expect(row?.account).toMatchObject({ passwordHash: "", email: `${ada}@example.com` });
  await expect(sourceOf(nested({}), { config: "{}" })).rejects.toThrow("hash-config.json: needs the algorithm SCRYPT");
});

test("the address of a file is the new address; an address that no file can have stays as it is", async () => {
  const files = temporaryFolder();
  await Bun.write(join(files, "b", "dir", "a.txt"), "a");
  await Bun.write(join(files, "outside.txt"), "o");
  const addresses = [
    "gs://b/dir/a.txt",
    "https://firebasestorage.googleapis.com/v0/b/b/o/dir%2Fa.txt?alt=media",
    "gs://b/dir",
    "gs://b/../outside.txt",
    "gs://../b/dir/a.txt",
    "gs://./b/dir/a.txt",
    "gs://b/x/../dir/a.txt",
    "gs://b//dir/a.txt",
    `gs://b/${"x".repeat(5_000)}`,
    "https://firebasestorage.googleapis.com/v0/b/b/o/%00",
  ];
  const documents = nested({ t: Object.fromEntries(addresses.map((v, i) => [`x${i}`, { v }])) });
  using source = await sourceOf(documents, { files });
  const { values, odd } = read(tableOf(source, "t"));
  const address = expect.stringMatching(/^\/api\/storage\/fil_/);
  expect(values.map((each) => Reflect.get(each, "v"))).toEqual([address, address, ...addresses.slice(2)]);
  expect(odd).toEqual(addresses.slice(2).map(() => "v: an address of a file that no record has, which stays"));
});

test("every collection is for admins alone, whatever the rules say", async () => {
  const rules =
    "service x {\n  match /t/{id} { allow read: if true; }\n  match /{all=**} {\n    allow write;\n  }\n}\n";
  using source = await sourceOf(nested({ t: { x: {} } }), { rules });
  for (const { definition } of source.tables)
    expect(new Set(Object.values(definition.permissions ?? {}))).toEqual(new Set(["admin"]));
  const comments = tableOf(source, "t").comments.join("\n");
  expect([comments.includes("allow read: if true;"), comments.includes("allow write;")]).toEqual([true, true]);
  expect(tableOf(source, "users").comments.join("\n")).not.toContain("allow read: if true;");
});
