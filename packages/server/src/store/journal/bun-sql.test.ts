/** Canaries of Bun's client for PostgreSQL: faults of earlier versions, each of which would break a journal. */
import { expect, test } from "bun:test";
import { startPostgres } from "../../../test/test-postgres.ts";

const engine = await startPostgres();

/** Rows of `answers` that belong to another question. */
function mixedUp(answers: readonly { value: number }[][]): number[] {
  return answers.flatMap(([row], i) => (row?.value === i ? [] : [i]));
}

test("a simple query never gets the rows of another (oven-sh/bun 32772)", async () => {
  const client = engine.client();
  const answers = await Promise.all(
    Array.from({ length: 300 }, (_, i) => client.unsafe<{ value: number }[]>(`SELECT ${i}::int AS value`).simple()),
  );
  expect(mixedUp(answers)).toEqual([]);
});

test("a prepared query never gets the rows of another (oven-sh/bun 33665)", async () => {
  const client = engine.client();
  const texts = ["SELECT $1::int AS value", "SELECT $1::int AS value, 1 AS more", "SELECT $1::int + 0 AS value"];
  const answers = await Promise.all(
    Array.from({ length: 1_000 }, (_, i) => client.unsafe<{ value: number }[]>(texts[i % 3] ?? "", [i])),
  );
  expect(mixedUp(answers)).toEqual([]);
});

test("a pool serves transactions beside queries to the end (oven-sh/bun 32004)", async () => {
  const client = engine.client({ max: 2 });
  await client`CREATE TABLE stall (n int)`;
  await Promise.all(
    Array.from({ length: 200 }, async (_, i) => {
      if (i % 2 === 0) await client`INSERT INTO stall VALUES (1)`;
      else await client.begin((tx) => tx`INSERT INTO stall VALUES (10)`);
    }),
  );
  const [row] = await client`SELECT sum(n)::int AS sum FROM stall`;
  expect(row.sum).toBe(1_100);
});

test("a prepared query goes on after a change of the table, and after DISCARD ALL (oven-sh/bun 29484)", async () => {
  const client = engine.client();
  await client`CREATE TABLE plans (n int)`;
  await client`INSERT INTO plans VALUES (1)`;
  const look = (): Promise<object[]> => client`SELECT * FROM plans WHERE n = ${1}`;
  expect(await look()).toHaveLength(1);
  await client`ALTER TABLE plans ADD COLUMN more int`;
  expect(Object.keys((await look())[0] ?? {})).toEqual(["n", "more"]);
  await client`DISCARD ALL`;
  expect(await look()).toHaveLength(1);
});

test("a pool heals after the engine has ended all connections while the event loop was busy (oven-sh/bun 30947)", async () => {
  const client = engine.client({ max: 3 });
  const look = (): Promise<{ pid: number }[]> => client`SELECT pg_backend_pid() AS pid FROM pg_sleep(0.01)`;
  const before = new Set((await Promise.all(Array.from({ length: 9 }, look))).map(([row]) => row?.pid));
  // Another process ends the connections, and this one sees nothing of it before its next turn.
  const script = `const sql = new Bun.SQL(process.argv.at(-1), { max: 1 });
    await sql\`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'\`;
    await sql.close();`;
  const { exitCode } = Bun.spawnSync([process.execPath, "-e", script, engine.url()]);
  expect(exitCode).toBe(0);
  const settled = await Promise.allSettled(Array.from({ length: 9 }, look));
  // Queries may be lost with the connections, and no answer comes from a connection that has ended.
  const pids = settled.flatMap((each) => (each.status === "fulfilled" ? each.value.map(({ pid }) => pid) : []));
  expect(pids.filter((pid) => before.has(pid))).toEqual([]);
  const after = (await Promise.all(Array.from({ length: 9 }, look))).map(([row]) => row?.pid);
  expect(after).toHaveLength(9);
  expect(after.filter((pid) => before.has(pid))).toEqual([]);
});
