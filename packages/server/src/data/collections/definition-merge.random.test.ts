/**
 * Random changes by file and by API between starts: after each start, the definition is the merge of a model, and each value
 * that a record ever had is in the record or among the dropped values.
 */
import { expect, test } from "bun:test";
import { isLong } from "../../../test/long.ts";
import { project } from "../../../test/project.ts";
import { randomNumbers, randomSeed } from "../../../test/random.ts";

/** A collection as the model knows the collection: field → attribute → value, operation → rule, and indexes. */
interface Shape {
  fields: { [field: string]: { max?: number; read?: string } };
  rules: { [operation: string]: string };
  indexes: { [fields: string]: boolean };
}

const names = ["a", "b", "c", "d"] as const;
const operations = ["read", "create", "update", "delete"] as const;
const words = ["public", "admin"] as const;
const rounds = isLong ? 12 : 6;

function clone(shape: Shape): Shape {
  return structuredClone(shape);
}

function toDefinition({ fields, rules, indexes }: Shape): object {
  return {
    name: "posts",
    fields: Object.entries(fields).map(([name, { max, read }]) => ({
      name,
      type: "string",
      ...(max !== undefined && { max }),
      ...(read !== undefined && { permissions: { read } }),
    })),
    permissions: rules,
    indexes: Object.entries(indexes).map(([field, unique]) => ({ fields: [field, "createdAt"], unique })),
  };
}

/** One unit by three definitions. */
function pick<T>(base: T, file: T, now: T): T {
  return file === base ? now : file;
}

function merge(base: Shape, file: Shape, now: Shape): Shape {
  const merged: Shape = { fields: {}, rules: {}, indexes: {} };
  for (const name of names) {
    const [b, f, n] = [base.fields[name], file.fields[name], now.fields[name]];
    if (f === undefined && (b !== undefined || n === undefined)) continue;
    if (f === undefined) merged.fields[name] = { ...n };
    else if (n === undefined) {
      const isChanged = b === undefined || b.max !== f.max || (b.read ?? "public") !== (f.read ?? "public");
      if (isChanged)
        merged.fields[name] = {
          ...(f.max !== undefined && { max: f.max }),
          ...(f.read === "admin" && { read: f.read }),
        };
    } else {
      const max = pick(b?.max, f.max, n.max);
      const read = pick(b?.read ?? "public", f.read ?? "public", n.read ?? "public");
      merged.fields[name] = { ...(max !== undefined && { max }), ...(read !== "public" && { read }) };
    }
  }
  for (const operation of operations)
    merged.rules[operation] = pick(
      base.rules[operation] ?? "public",
      file.rules[operation] ?? "public",
      now.rules[operation] ?? "public",
    );
  for (const name of names) {
    const unique = pick(base.indexes[name], file.indexes[name], now.indexes[name]);
    if (unique !== undefined && merged.fields[name] !== undefined) merged.indexes[name] = unique;
  }
  return merged;
}

/** The shape of a stored definition, with the defaults filled in. */
function shapeOf(definition: {
  fields: readonly { name: string; max?: number; permissions?: { read?: string } }[];
  permissions?: { [operation: string]: string };
  indexes?: readonly (string[] | { fields: string[]; unique?: boolean })[];
}): Shape {
  const fields = definition.fields.map(({ name, max, permissions }) => {
    const read = permissions?.read ?? "public";
    return [name, { ...(max !== undefined && { max }), ...(read !== "public" && { read }) }] as const;
  });
  const indexes = (definition.indexes ?? []).map((index) =>
    Array.isArray(index)
      ? ([index[0] ?? "", false] as const)
      : ([index.fields[0] ?? "", index.unique === true] as const),
  );
  const rules = Object.fromEntries(operations.map((each) => [each, definition.permissions?.[each] ?? "public"]));
  return { fields: Object.fromEntries(fields), rules, indexes: Object.fromEntries(indexes) };
}

test("the definition equals the merge, and no value is lost", async () => {
  const seed = randomSeed("definition files");
  const random = randomNumbers(seed);
  const chance = (part: number): boolean => random() < part;
  const oneOf = <T>(list: readonly [T, ...T[]]): T => list[Math.floor(random() * list.length)] ?? list[0];
  const change = (shape: Shape): Shape => {
    const next = clone(shape);
    for (let n = 0; n < 2; n++) {
      const name = oneOf(names);
      const field = next.fields[name];
      const way = random();
      if (field === undefined) next.fields[name] = chance(0.5) ? {} : { read: "admin" };
      else if (way < 0.2) {
        delete next.fields[name];
        delete next.indexes[name];
      } else if (way < 0.4) field.max = oneOf([50, 60, 70]);
      else if (way < 0.6) next.fields[name] = { ...field, read: oneOf(words) };
      else if (way < 0.8) next.rules[oneOf(operations)] = oneOf(words);
      else if (next.indexes[name] === undefined) next.indexes[name] = chance(0.5);
      else delete next.indexes[name];
    }
    return next;
  };
  const all = Object.fromEntries(operations.map((each) => [each, "public"]));
  let file: Shape = { fields: { a: {} }, rules: all, indexes: {} };
  const p = await project(toDefinition(file));
  let now = clone(file);
  const values = new Map<string, Set<string>>();
  let n = 0;
  for (let round = 0; round < rounds; round++) {
    const token = await p.api.admin();
    const put = async (shape: Shape): Promise<void> => {
      const body = { ...toDefinition(shape), name: undefined };
      // Nothing is a rename: of a PUT, too.
      const fields = (Reflect.get(body, "fields") as object[]).map((field, i) =>
        i === 0 ? { ...field, renamedFrom: null } : field,
      );
      const answer = await p.api.request("PUT", "/api/admin/collections/posts", { token, body: { ...body, fields } });
      expect([seed, round, answer.status, answer.body["error"]]).toEqual([seed, round, 200, undefined]);
    };
    for (let i = 0; i < 2; i++) {
      now = change(now);
      await put(now);
      const body = Object.fromEntries(Object.keys(now.fields).map((field) => [field, `${field}${n++}`]));
      const made = await p.api.request("POST", "/api/posts", { token, body });
      expect(made.status).toBe(201);
      for (const [field, value] of Object.entries(body))
        values.getOrInsertComputed(`${made.body["id"]} ${field}`, () => new Set()).add(value);
    }
    const base = clone(file);
    if (chance(0.8)) file = change(change(file));
    now = shapeOf(Object(toDefinition(merge(base, file, now))));
    const api = await p.restart(toDefinition(file));
    expect([seed, round, shapeOf(api.service.collections.named("posts").definition)]).toEqual([seed, round, now]);
    const { reader } = api.service.database;
    const kept = reader.all<{ record: string; field: string; value: string }>(
      "SELECT record, field, value FROM _dropped_values JOIN _dropped ON n = dropped",
    );
    const records = reader.all<{ [field: string]: string | null } & { id: string }>("SELECT * FROM posts");
    for (const [place, had] of values) {
      const [id = "", field = ""] = place.split(" ");
      const found = kept.filter((row) => row.record === id && row.field === field).map(({ value }) => value);
      const present = records.find((record) => record.id === id)?.[field];
      expect([seed, place, [...found, present]]).toEqual([seed, place, expect.arrayContaining([...had])]);
    }
  }
  // Everything that was dropped goes back, as far as the fields are there.
  const token = await p.api.admin();
  const { items } = (await p.api.request("GET", "/api/admin/dropped", { token })).body;
  for (const entry of items as unknown as { id: string; field: string; values: number }[]) {
    const answer = await p.api.request("POST", `/api/admin/dropped/${entry.id}/restore`, { token });
    if (now.fields[entry.field] === undefined) expect(answer.status).toBe(400);
    else
      expect([answer.status, Number(answer.body["restored"]) + Number(answer.body["left"])]).toEqual([
        200,
        entry.values,
      ]);
  }
}, 300_000);
