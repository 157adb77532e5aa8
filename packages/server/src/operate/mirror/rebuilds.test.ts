/** Rebuilds of the mirror: a mirror that is switched on later, changes of the leader, a build that another leader ends, and failures of the mirror alone. */
import { describe, expect, test } from "bun:test";
import { longTest } from "../../../test/long.ts";
import { type MirrorWorld, mirrorWorlds } from "../../../test/mirror-world.ts";
import { mirrorStateOf } from "./index.ts";
import { buildingName } from "./sql/schema.ts";

const { engine, raw, open: openMirrorWorld } = await mirrorWorlds();
const open = { read: "public", create: "public", update: "public", delete: "public" } as const;
const fields = [
  { name: "n", type: "integer" },
  { name: "text", type: "text" },
  { name: "parent", type: "relation", collection: "things", onDelete: "clear" },
];

async function withThings(options: Parameters<typeof openMirrorWorld>[0] = {}): Promise<MirrorWorld> {
  const world = await openMirrorWorld(options);
  await world.send("POST", "/api/admin/collections", { name: "things", fields, permissions: open });
  return world;
}

async function fill(world: MirrorWorld, count: number, more: object = {}): Promise<void> {
  for (let from = 0; from < count; from += 100) {
    const operations = Array.from({ length: Math.min(100, count - from) }, (_, i) => ({
      method: "create",
      collection: "things",
      body: { n: from + i, text: "x", ...more },
    }));
    await world.send("POST", "/api/batch", { operations });
  }
}

test("a mirror that is switched on later gets all records while writes go on, and no incomplete table is visible", async () => {
  const before = await withThings({ mirror: false });
  await fill(before, 3_000);
  await before.end();
  // A table of the mirror is whole at each moment: a reader never finds a part of the records.
  let looks = 0;
  const looking = (async () => {
    for (;;) {
      const counted = await raw.unsafe(`SELECT count(*) AS n FROM "${before.schema}".things`).catch(() => null);
      looks += 1;
      if (counted !== null) return Number(counted[0].n);
      await Bun.sleep(5);
    }
  })();
  const world = await openMirrorWorld({ world: before });
  const ids = world.api.service.database.reader.all<{ id: string }>("SELECT id FROM things ORDER BY id");
  let isWhole = false;
  let made = 0;
  const writing = (async () => {
    for (let i = 0; !isWhole || i < 20; i++) {
      const [early, late] = [ids[i], ids[ids.length - 1 - i]];
      if (early === undefined || late === undefined || i > 1_000) break;
      await world.send("DELETE", `/api/things/${early.id}`);
      await world.send("PUT", `/api/things/${late.id}`, { n: -i });
      await world.send("POST", "/api/things", { n: 10_000 + i });
      made += 1;
    }
  })();
  expect(await looking).toBeWithin(2_999, 3_002);
  isWhole = true;
  await writing;
  await world.expectWhole();
  expect(looks).toBeGreaterThan(1);
  const numbers = (await world.rows("things")).map(({ n }) => Number(n));
  expect(numbers.filter((n) => n >= 10_000)).toHaveLength(made);
  expect(numbers.filter((n) => n < 0)).toHaveLength(made - 1);
});

test("the next leader goes on with the tables; after commits of a leader without a mirror, the tables are made anew", async () => {
  const first = await withThings();
  await fill(first, 10);
  await first.expectWhole();
  const table = await first.tableId("things");
  await first.end();
  const second = await openMirrorWorld({ world: first });
  await second.send("POST", "/api/things", { n: 77 });
  await second.expectWhole();
  expect(await second.tableId("things")).toBe(table);
  expect(await second.rows("things")).toHaveLength(11);
  await second.end();
  const without = await openMirrorWorld({ world: second, mirror: false });
  await without.send("POST", "/api/things", { n: 78 });
  expect((await without.state()).position).toBeLessThan(without.api.service.database.position);
  expect(await without.rows("things")).toHaveLength(11);
  await without.end();
  const third = await openMirrorWorld({ world: without });
  await third.expectWhole();
  expect(await third.tableId("things")).not.toBe(table);
  expect(await third.rows("things")).toHaveLength(12);
});

test("the next leader ends the build of a table at the position of the former leader", async () => {
  const first = await withThings();
  await fill(first, 1_200);
  await first.expectWhole();
  await first.end();
  const name = `"${first.schema}"`;
  // The state after 600 records.
  await raw.unsafe(`ALTER TABLE ${name}.things RENAME TO "${buildingName("things")}"`);
  await raw.unsafe(`DELETE FROM ${name}."${buildingName("things")}" WHERE n >= 600`);
  await raw.unsafe(`UPDATE ${name}."${buildingName("things")}" SET text = 'seen' WHERE n = 5`);
  await raw.unsafe(`UPDATE ${name}._mirror_tables SET built_to = 600 WHERE collection = 'things'`);
  const second = await openMirrorWorld({ world: first });
  await second.expectWhole();
  expect((await second.rows("things")).filter(({ text }) => text === "seen")).toHaveLength(1);
});

test("an append that the fence refuses changes nothing", async () => {
  const world = await withThings();
  await fill(world, 3);
  await world.expectWhole();
  const before = [await world.rows("things"), await world.state()];
  await raw`UPDATE socle_leader SET term = term + 1 WHERE cluster = ${world.cluster}`;
  await expect(world.send("POST", "/api/things", { n: 99 })).rejects.toThrow("503");
  expect([await world.rows("things"), await world.state()]).toEqual(before);
});

longTest("while PostgreSQL is away, nothing changes; afterwards the same tables go on", async () => {
  const world = await withThings();
  await fill(world, 3);
  await world.expectWhole();
  const table = await world.tableId("things");
  await engine.stop("immediate");
  const refused = await world.api.request("POST", "/api/things", { body: { n: 99 }, token: world.token });
  expect(refused.status).toBe(503);
  // A connection that breaks during the append leaves the outcome unknown: the leader decides when PostgreSQL is back.
  const isUnknown = !JSON.stringify(refused.body).includes("nothing was changed");
  await engine.start();
  for (;;) {
    const answer = await world.api.request("POST", "/api/things", { body: { n: 100 }, token: world.token });
    if (answer.status === 201) break;
    await Bun.sleep(50);
  }
  await world.expectWhole();
  expect(await world.tableId("things")).toBe(table);
  const made = (await world.rows("things")).filter(({ n }) => Number(n) === 99);
  expect(made.length).toBeLessThanOrEqual(isUnknown ? 1 : 0);
});

test("a commit whose response is lost is in the mirror if the commit has happened", async () => {
  const world = await withThings();
  await world.expectWhole();
  const table = await world.tableId("things");
  const outcomes: number[] = [];
  for (let n = 0; n < 10; n++) {
    world.proxy.hold("answers");
    const posting = world.api.request("POST", "/api/things", { body: { n }, token: world.token });
    await Promise.race([world.proxy.arrival("answers"), posting]);
    world.proxy.cut();
    if ((await posting).status === 201) outcomes.push(n);
    while (world.member.isAway) await Bun.sleep(20);
  }
  await world.expectWhole();
  expect(await world.tableId("things")).toBe(table);
  const numbers = (await world.rows("things")).map(({ n }) => Number(n));
  expect(outcomes.filter((n) => !numbers.includes(n))).toEqual([]);
  expect(new Set(numbers).size).toBe(numbers.length);
});

describe("harm by hand", async () => {
  const world = await withThings();
  await fill(world, 5);

  test.each([
    ["a column that was dropped by hand", (table: string) => `ALTER TABLE ${table} DROP COLUMN n`],
    ["a table that was dropped by hand", (table: string) => `DROP TABLE ${table}`],
    [
      "a rule of the table that the records break",
      (table: string) => `ALTER TABLE ${table} ADD CHECK (n < 50) NOT VALID`,
    ],
    ["a schema that was dropped", (_: string, schema: string) => `DROP SCHEMA ${schema} CASCADE`],
    ["a state that was removed", (_: string, schema: string) => `DELETE FROM ${schema}._mirror`],
    [
      "a state at another position",
      (_: string, schema: string) => `UPDATE ${schema}._mirror SET position = position - 1`,
    ],
  ])("%s stops the mirror, not the writes, and the mirror comes back", async (_, harm) => {
    world.log.length = 0;
    await world.expectWhole();
    const [table, before] = [await world.tableId("things"), await world.rows("things")];
    await raw.unsafe(harm(`"${world.schema}".things`, `"${world.schema}"`));
    await world.send("POST", "/api/things", { n: 60 });
    await world.send("POST", "/api/things", { n: 61 });
    expect(world.log.filter((line) => line.startsWith("ERROR") && line.includes("has stopped"))).toHaveLength(1);
    await world.expectWhole(true);
    expect((await world.state()).reason).toBeNull();
    expect(await world.tableId("things")).not.toBe(table);
    expect(await world.rows("things")).toHaveLength(before.length + 2);
  });
});

test("a table that another transaction locks does not hold up writes, and the state says why the mirror has stopped", async () => {
  const world = await withThings();
  await fill(world, 5);
  await world.expectWhole();
  const client = engine.client();
  await client.unsafe("BEGIN");
  await client.unsafe(`LOCK TABLE "${world.schema}".things IN ACCESS SHARE MODE`);
  await client.unsafe(`LOCK TABLE "${world.schema}".things IN SHARE MODE`);
  await world.send("POST", "/api/things", { n: 60 });
  while ((await world.state()).state !== "stopped") await Bun.sleep(20);
  const state = await mirrorStateOf(world.member.journal, world.cluster);
  expect(state).toMatchObject({ state: "stopped", position: world.api.service.database.position - 1 });
  expect(state?.reason).toContain("lock");
  expect(world.leading.commits.mirror?.phase).toBe("stopped");
  await world.send("POST", "/api/things", { n: 61 });
  await client.unsafe("COMMIT");
  await world.expectWhole(true);
  expect(await world.rows("things")).toHaveLength(7);
});

longTest("a trigger that takes too long does not stop writes for ever", async () => {
  const world = await withThings();
  await world.expectWhole();
  const name = `"${world.schema}"`;
  await raw.unsafe(`CREATE FUNCTION ${name}.slow() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN PERFORM pg_sleep(600); RETURN NEW; END';
    CREATE TRIGGER slow BEFORE INSERT ON ${name}.things FOR EACH ROW EXECUTE FUNCTION ${name}.slow();`);
  await world.send("POST", "/api/things", { n: 60 });
  await world.expectWhole(true);
  expect(await world.rows("things")).toHaveLength(1);
});

test("a commit with more records than a statement takes has the table made anew", async () => {
  const world = await withThings();
  const { id } = await world.send("POST", "/api/things", { n: -1 });
  // In two batches: together, the records are more than a statement takes.
  for (let part = 0; part < 2; part++) await fill(world, 44, { parent: id, text: "y".repeat(100_000) });
  await world.expectWhole();
  const table = await world.tableId("things");
  await world.send("DELETE", `/api/things/${id}`);
  await world.expectWhole();
  expect(await world.tableId("things")).not.toBe(table);
  const rows = await world.rows("things");
  expect(rows).toHaveLength(88);
  expect(rows.filter(({ parent }) => parent !== null)).toEqual([]);
  // A migration of a large database runs on a thread.
  await world.send("PUT", "/api/admin/collections/things", { fields: [...fields, { name: "added", type: "boolean" }] });
  await world.expectWhole();
  expect(Object.keys((await world.rows("things"))[0] ?? {})).toContain("added");
});

test("a commit with thousands of records changes the table in place", async () => {
  const world = await withThings();
  const { id } = await world.send("POST", "/api/things", { n: -1 });
  await fill(world, 1_300, { parent: id });
  await world.expectWhole();
  const table = await world.tableId("things");
  expect((await world.rows("things")).filter(({ parent }) => parent === id)).toHaveLength(1_300);
  await world.send("DELETE", `/api/things/${id}`);
  await world.expectWhole();
  expect(await world.tableId("things")).toBe(table);
  expect((await world.rows("things")).filter(({ parent }) => parent === null)).toHaveLength(1_300);
});

test("values that a migration moves or restores are in the mirror: fields that swap names, a restored field and collection", async () => {
  const world = await openMirrorWorld({});
  const text = (name: string, more: object = {}) => ({ name, type: "string", ...more });
  await world.send("POST", "/api/admin/collections", {
    name: "things",
    fields: [text("a"), text("b")],
    permissions: open,
  });
  await world.send("POST", "/api/things", { a: "1", b: "2" });
  const put = (next: object[]) => world.send("PUT", "/api/admin/collections/things", { fields: next });
  await put([text("a", { renamedFrom: "b" }), text("b", { renamedFrom: "a" })]);
  await world.expectWhole();
  expect(await world.rows("things")).toMatchObject([{ a: "2", b: "1" }]);
  const restore = async () => {
    const { items } = await world.send("GET", "/api/admin/dropped");
    const [entry] = items as unknown as { id: string }[];
    await world.send("POST", `/api/admin/dropped/${entry?.id}/restore`);
    await world.expectWhole();
  };
  await put([text("a")]);
  await put([text("a"), text("b")]);
  await world.expectWhole();
  expect(await world.rows("things")).toMatchObject([{ a: "2", b: null }]);
  await restore();
  expect(await world.rows("things")).toMatchObject([{ a: "2", b: "1" }]);
  await world.send("DELETE", "/api/admin/collections/things");
  await world.expectWhole();
  await restore();
  expect(await world.rows("things")).toMatchObject([{ a: "2", b: "1" }]);
});
