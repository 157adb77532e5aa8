import { expect, test } from "bun:test";
import type { FieldDefinition, FieldType, IndexDefinition } from "@socle/protocol";
import fc from "fast-check";
import { lastSeq, openApi } from "../../../test/kit.ts";
import { isLong } from "../../../test/long.ts";
import { randomSeed } from "../../../test/random.ts";
import { identifier } from "../../store/database/index.ts";

/**
 * Property of migrations: each change of any sequence is either refused without effect, or the
 * collection equals a fresh collection with the same definition and the old values.
 */
const {
  request,
  admin: signIn,
  service,
} = await openApi({
  collections: [{ name: "targets", fields: [] }],
});
const token = await signIn();
const target = String((await request("POST", "/api/targets", { body: {} })).body["id"]);

const values: { readonly [type in FieldType]?: readonly unknown[] } = {
  string: [null, "", "a", "ab", "abc", "é漢😀"],
  text: [null, "", "a", "b", "a longer one"],
  integer: [null, 0, 1, -1, 7, 2 ** 53 - 1],
  float: [null, 0, 0.5, -2.25, 1e300],
  boolean: [null, true, false],
  datetime: [null, "2026-03-01T09:30:00.000Z", "1999-12-31T00:00:00.000Z"],
  json: [null, "", {}, [1, "x"], "text"],
  relation: [null, target],
  vector: [null, [1, 0], [0.5, -0.25]],
};
const arrays: { readonly [type in FieldType]?: readonly unknown[] } = {
  string: [[], ["a"], ["ab", "a"], ["b", "a", "é漢😀"], ["abc"]],
  relation: [[], [target]],
};
const types = Object.keys(values) as FieldType[];

function valuesOf({ type, multiple }: FieldDefinition): readonly unknown[] {
  return (multiple === true ? arrays[type] : values[type]) ?? [null];
}

function emptyOf({ multiple }: FieldDefinition): unknown {
  return multiple === true ? [] : null;
}

/** The value of a field that continues another field. */
function continued(value: unknown, from: FieldDefinition, to: FieldDefinition): unknown {
  if (from.multiple === to.multiple) return value;
  if (Array.isArray(value)) return value[0] ?? null;
  return value === null || value === "" ? [] : [value];
}
const names = ["a", "b", "c", "D", "e"];

const field = (name: string): fc.Arbitrary<FieldDefinition> =>
  fc
    .record({
      type: fc.constantFrom(...types),
      required: fc.boolean(),
      unique: fc.boolean(),
      isMultiple: fc.boolean(),
      min: fc.option(fc.integer({ min: 0, max: 3 }), { nil: undefined }),
      max: fc.option(fc.integer({ min: 3, max: 9 }), { nil: undefined }),
      regex: fc.option(fc.constantFrom("a", "^a", "^.?$"), { nil: undefined }),
    })
    .map(({ type, required, unique, isMultiple, min, max, regex }) => {
      const isText = type === "string" || type === "text";
      const multiple = isMultiple && arrays[type] !== undefined;
      const hasBounds = isText || multiple || type === "integer" || type === "float";
      return {
        name,
        type,
        ...(required && { required }),
        ...(unique && type !== "json" && type !== "geo" && type !== "vector" && !multiple && { unique }),
        ...(multiple && { multiple }),
        ...(hasBounds && min !== undefined && { min }),
        ...(hasBounds && max !== undefined && { max }),
        ...(isText && regex !== undefined && { regex }),
        ...(type === "relation" && { collection: "targets" }),
        ...(type === "vector" && { dimensions: 2 }),
      };
    });

interface IndexChoice {
  readonly fields: readonly string[];
  readonly unique: boolean;
  readonly isShort: boolean;
}

const indexes: fc.Arbitrary<IndexChoice[]> = fc.array(
  fc.record({
    fields: fc.shuffledSubarray([...names, "createdAt"], { minLength: 1, maxLength: 3 }),
    unique: fc.boolean(),
    isShort: fc.boolean(),
  }),
  { maxLength: 3 },
);

/** The part of a choice that names only these fields. */
function indexesOf(choices: readonly IndexChoice[], fields: readonly FieldDefinition[]): IndexDefinition[] {
  const found = new Map<string, IndexDefinition>();
  for (const { fields: chosen, unique, isShort } of choices) {
    const left = chosen.filter(
      (name) =>
        // When a record is made is not the same in another collection.
        (name === "createdAt" && !unique) ||
        fields.some(
          (each) =>
            each.name === name &&
            each.type !== "json" &&
            each.type !== "vector" &&
            !(unique && each.type === "geo") &&
            each.multiple !== true,
        ),
    );
    const long = { fields: left, ...(unique && { unique }) };
    if (left.length > 0) found.set(left.join(), isShort && !unique ? left : long);
  }
  return [...found.values()];
}

/** A change: each field may go, come, change rules, or take over the values of another field. */
interface Change {
  readonly fields: readonly FieldDefinition[];
  readonly origins: readonly (string | null)[];
  /** Whether an existing field only changes rules, so that not every change is refused for the type. */
  readonly keepsTypes: boolean;
  /** Null for a change without indexes in the definition. */
  readonly indexes: readonly IndexChoice[] | null;
}

const change: fc.Arbitrary<Change> = fc.subarray(names).chain((chosen) =>
  fc.record({
    fields: fc.tuple(...chosen.map(field)),
    // A field is never its own origin.
    origins: fc.tuple(
      ...chosen.map((name) =>
        fc.option(fc.constantFrom(...names.filter((other) => other !== name)), { nil: null, freq: 2 }),
      ),
    ),
    keepsTypes: fc.boolean(),
    indexes: fc.option(indexes),
  }),
);

const rows = fc.array(fc.array(fc.nat(100), { minLength: names.length, maxLength: names.length }), { maxLength: 5 });

type Row = { [name: string]: unknown };

async function listed(name: string): Promise<Row[]> {
  const { items } = (await request("GET", `/api/${name}`, { token })).body;
  if (!Array.isArray(items)) throw new Error("no list");
  // In the order of creation.
  return items.map(({ id: _, createdAt: __, updatedAt: ___, ...rest }) => rest).reverse();
}

/** Columns and indexes of a table, and the items, in an order that does not depend on the history of the table. */
async function shapeOf(name: string): Promise<unknown> {
  const { reader } = service.database;
  const columns = await reader.all<{ name: string; type: string; notnull: number }>(
    `PRAGMA table_info(${identifier(name)})`,
  );
  const indexes: string[] = [];
  for (const index of await reader.all<{ name: string; unique: number }>(`PRAGMA index_list(${identifier(name)})`)) {
    const of = await reader.all<{ name: string }>(`PRAGMA index_info(${identifier(index.name)})`);
    indexes.push(`${index.unique} ${of.map((column) => column.name)}`);
  }
  const items: unknown[] = [];
  for (const { name: part, type } of await reader.all<{ name: string; type: string }>(
    "SELECT name, type FROM sqlite_schema WHERE name LIKE ? ORDER BY name",
    `_items_${name}.%`,
  )) {
    const place = `(SELECT count(*) FROM ${identifier(name)} WHERE _seq <= record) AS place`;
    const rows =
      type === "table" ? await reader.all(`SELECT value, ${place} FROM ${identifier(part)} ORDER BY value, place`) : [];
    items.push([part.replace(name, ""), type, rows]);
  }
  return [columns.map((column) => `${column.name} ${column.type} ${column.notnull}`).sort(), indexes.sort(), items];
}

let made = 0;

async function create(definition: object): Promise<string> {
  made += 1;
  const name = `c${made}`;
  const answer = await request("POST", "/api/admin/collections", { token, body: { ...definition, name } });
  expect<unknown>([answer.status, answer.body["error"]]).toEqual([201, undefined]);
  return name;
}

/** Adds the possible values among some choices of values to a collection. */
async function fill(name: string, fields: readonly FieldDefinition[], choices: readonly number[][]): Promise<void> {
  for (const choice of choices) {
    const body = Object.fromEntries(
      fields.map((each, i) => {
        const [of, all] = [each.name, valuesOf(each)];
        return [of, all[(choice[i] ?? 0) % all.length]];
      }),
    );
    await request("POST", `/api/${name}`, { token, body });
  }
}

async function behaviour(name: string, fields: readonly FieldDefinition[], choice: number[]): Promise<unknown> {
  const before = (await listed(name)).length;
  await fill(name, fields, [choice]);
  const after = await listed(name);
  const bad = await request("POST", `/api/${name}`, { token, body: { zzz: 1, a: "\0" } });
  return [after.length - before, after.at(-1), bad.status, bad.body["error"]?.["details"]];
}

test("any sequence of changes", async () => {
  let [applied, refused] = [0, 0];
  await fc.assert(
    fc.asyncProperty(
      change,
      fc.array(fc.tuple(change, rows), { minLength: 1, maxLength: 5 }),
      rows,
      async (first, steps, choices) => {
        let stored = indexesOf(first.indexes ?? [], first.fields);
        const name = await create({ fields: first.fields, indexes: stored });
        let fields: readonly FieldDefinition[] = first.fields;
        await fill(name, fields, choices);
        for (const [next, more] of steps) {
          const old = new Map(fields.map((each) => [each.name, each]));
          const wanted = next.fields.map((each, i) => {
            const origin = next.origins[i] ?? null;
            const from = old.get(each.name) ?? (origin === null ? undefined : old.get(origin));
            return next.keepsTypes && from !== undefined && each.type !== from.type
              ? { ...from, name: each.name }
              : each;
          });
          const claimed = new Set(wanted.map((each, i) => (old.has(each.name) ? null : next.origins[i])));
          // After a field takes over an old field's values, the old field's indexes name the new field.
          const newName = (oldName: string): string | undefined => {
            const heir = wanted.find((each, i) => !old.has(each.name) && next.origins[i] === oldName)?.name;
            return heir ?? (!old.has(oldName) || wanted.some((each) => each.name === oldName) ? oldName : undefined);
          };
          const sent = next.indexes === null ? null : indexesOf(next.indexes, wanted);
          const body = {
            ...(sent !== null && { indexes: sent }),
            fields: wanted.map((each, i) =>
              old.has(each.name) ? each : { ...each, renamedFrom: next.origins[i] ?? null },
            ),
          };
          const [before, shape, seq] = [await listed(name), await shapeOf(name), await lastSeq(service)];
          const planned = await request("PUT", `/api/admin/collections/${name}?dryRun=true`, { token, body });
          expect([await listed(name), await shapeOf(name), await lastSeq(service)]).toEqual([before, shape, seq]);
          const answer = await request("PUT", `/api/admin/collections/${name}`, { token, body });
          expect(answer.status).toBe(planned.status);
          if (answer.status !== 200) {
            refused += 1;
            expect(answer.status).toBe(400);
            expect(answer.body).toEqual(planned.body);
            expect([await listed(name), await shapeOf(name), await lastSeq(service)]).toEqual([before, shape, seq]);
            continue;
          }
          applied += 1;
          const kept = stored.map((index): IndexDefinition => {
            const follow = (list: string[]): string[] => list.map((each) => newName(each) ?? `${each} is gone`);
            return Array.isArray(index) ? follow(index) : { ...index, fields: follow(index.fields) };
          });
          stored = sent ?? kept;
          expect(answer.body["indexes"] as unknown).toEqual(stored);
          const moved = before.map((row) =>
            Object.fromEntries(
              wanted.map((each, i) => {
                const origin = old.has(each.name) ? each.name : (next.origins[i] ?? "");
                const from = old.get(origin);
                // A name that lost the old field by a rename starts afresh.
                const isFresh = from === undefined || (origin === each.name && claimed.has(origin));
                return [each.name, isFresh ? emptyOf(each) : continued(row[origin], from, each)];
              }),
            ),
          );
          expect(await listed(name)).toEqual(moved);
          const fresh = await create({ fields: wanted, indexes: stored });
          for (const row of moved)
            expect((await request("POST", `/api/${fresh}`, { token, body: row })).body["error"]).toBeUndefined();
          expect(await listed(fresh)).toEqual(moved);
          expect(await shapeOf(name)).toEqual(await shapeOf(fresh));
          for (const choice of more)
            expect(await behaviour(name, wanted, choice)).toEqual(await behaviour(fresh, wanted, choice));
          await request("DELETE", `/api/admin/collections/${fresh}`, { token });
          fields = wanted;
        }
        await request("DELETE", `/api/admin/collections/${name}`, { token });
      },
    ),
    { seed: randomSeed("migrations"), numRuns: isLong ? 300 : 50 },
  );
  // The generators make enough of both kinds for the test to mean something.
  expect([applied > 20, refused > 20]).toEqual([true, true]);
});
