/** The mirror under random changes of records and definitions, some at the same time: in the end, each row has the values of the record. */
import { expect, test } from "bun:test";
import { type MirrorWorld, mirrorWorlds } from "../../../test/mirror-world.ts";
import { randomNumbers, randomSeed } from "../../../test/random.ts";

const { raw, open } = await mirrorWorlds();
const rounds = 12;
const types = ["string", "text", "integer", "float", "boolean", "datetime", "json", "geo", "vector"] as const;

interface Field {
  name: string;
  type: (typeof types)[number];
  multiple?: boolean;
  dimensions?: number;
  renamedFrom?: string | null;
  convertedFrom?: "integer";
}

interface Item {
  readonly [field: string]: unknown;
  readonly id: string;
}

const random = randomNumbers(randomSeed("mirror"));
const below = (n: number): number => Math.floor(random() * n);
let names = 0;

function newField(): Field {
  const type = types[below(types.length)] ?? "string";
  names += 1;
  return {
    name: `f${names}`,
    type,
    ...(type === "string" && random() < 0.5 && { multiple: true }),
    ...(type === "vector" && { dimensions: 3 }),
  };
}

function randomValue({ type, multiple }: Field): unknown {
  if (random() < 0.2) return multiple === true ? [] : null;
  if (multiple === true) return [`a${below(9)}`, 'b"'];
  const values = {
    string: `s${below(1000)}'"\\`,
    text: "t\n".repeat(below(5)),
    integer: below(2 ** 40) - 2 ** 39,
    float: random() / 1e9,
    boolean: random() < 0.5,
    datetime: new Date(below(4e12)).toISOString(),
    geo: { lat: random() * 180 - 90, lon: below(361) - 180 },
    vector: [0.1, below(9) + 1, -0.25],
    json: { n: random(), list: [null, `x${below(9)}`] },
  };
  return values[type];
}

const collections = new Map<string, Field[]>();

function bodyOf(fields: readonly Field[]): Record<string, unknown> {
  return Object.fromEntries(fields.map((field) => [field.name, randomValue(field)]));
}

async function itemsOf(world: MirrorWorld, name: string): Promise<Item[]> {
  const { items } = (await world.send("GET", `/api/${name}?limit=100`)) as { items?: Item[] };
  return items ?? [];
}

async function changeRecord(world: MirrorWorld, [name, fields]: readonly [string, Field[]]): Promise<void> {
  const items = await itemsOf(world, name);
  const one = items[below(items.length)];
  if (items.length < 5 || (random() < 0.4 && items.length < 80))
    await world.send("POST", `/api/${name}`, bodyOf(fields));
  else if (one !== undefined && random() < 0.6) await world.send("PUT", `/api/${name}/${one.id}`, bodyOf(fields));
  else if (one !== undefined) await world.send("DELETE", `/api/${name}/${one.id}`);
}

/** Adds, drops and renames fields, and makes floats of integers. */
function changed(fields: readonly Field[]): Field[] {
  const kept = fields.flatMap((field): Field[] => {
    const kind = random();
    if (kind < 0.2 && fields.length > 2) return [];
    if (kind < 0.4) return [{ ...field, name: `f${++names}`, renamedFrom: field.name }];
    const isConverted = field.type === "integer" && kind < 0.7;
    return [{ ...field, ...(isConverted && { type: "float", convertedFrom: "integer" }), renamedFrom: null }];
  });
  return [...kept, { ...newField(), renamedFrom: null }];
}

async function changeDefinition(world: MirrorWorld, [name, fields]: readonly [string, Field[]]): Promise<void> {
  const path = `/api/admin/collections/${name}?dropData=true`;
  if (random() < 0.15) {
    await world.send("DELETE", path);
    collections.delete(name);
    return;
  }
  const next = changed(fields);
  const to = random() < 0.2 ? `c${++names}` : name;
  await world.send("PUT", path, { fields: next, ...(to !== name && { name: to, renamedFrom: name }) });
  collections.delete(name);
  collections.set(
    to,
    next.map(({ renamedFrom: _, ...field }) => field),
  );
}

/** The rows of the mirror in the form of records. */
async function mirrored(world: MirrorWorld, name: string, fields: readonly Field[]): Promise<unknown[]> {
  const rows = await raw.unsafe(`SELECT to_jsonb(t) - '_owner' AS row FROM "${world.schema}"."${name}" t`);
  const moments = new Set([
    "createdAt",
    "updatedAt",
    ...fields.filter(({ type }) => type === "datetime").map((f) => f.name),
  ]);
  return rows.map(({ row }: { row: Item }) =>
    Object.fromEntries(
      Object.entries(row).map(([key, value]) => [
        key,
        moments.has(key) && typeof value === "string" ? new Date(value).toISOString() : value,
      ]),
    ),
  );
}

const byId = (one: unknown, other: unknown): number => (Object(one).id < Object(other).id ? -1 : 1);

test("after random changes of records and definitions, the mirror has each record unchanged", async () => {
  const world = await open();
  for (let round = 0; round < rounds; round++) {
    while (collections.size < 3) {
      const name = `c${++names}`;
      const fields = [newField(), newField()];
      await world.send("POST", "/api/admin/collections", { name, fields });
      collections.set(name, fields);
    }
    for (let step = 0; step < 5; step++)
      await Promise.all([...collections, ...collections].map((each) => changeRecord(world, each).catch(missing)));
    const all = [...collections];
    const changing = all[below(all.length)];
    const steady = all.filter((each) => each !== changing);
    if (changing !== undefined)
      await Promise.all([changeDefinition(world, changing), ...steady.map((each) => changeRecord(world, each))]);
    await world.expectWhole();
    for (const [name, fields] of collections) {
      const found = await mirrored(world, name, fields);
      expect(found.toSorted(byId)).toEqual((await itemsOf(world, name)).toSorted(byId));
    }
  }
});

/** Two writers may choose the same record: the second finds no record. */
function missing(thrown: unknown): void {
  if (!String(thrown).includes(": 404 ")) throw thrown;
}
