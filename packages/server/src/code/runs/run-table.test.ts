/** The shape of a table of runs: what holds for every table of that shape. */
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { quietLogger, temporaryFolder } from "../../../test/kit.ts";
import { Database } from "../../store/database/index.ts";
import { functionSchema } from "../functions/index.ts";
import { jobSchema } from "../jobs/index.ts";
import { type RunHead, RunTable } from "./run-table.ts";

const folder = temporaryFolder();

/** Values of the columns that a kind of run adds. */
const kinds = {
  _deliveries: { columns: "subject, depth", values: "'rec_x', 1" },
  _job_queue: { columns: "runId, firstAt, isByHand", values: "'run_' || ?1, 0, 0" },
} as const;

describe.each(Object.keys(kinds) as (keyof typeof kinds)[])("%s", (name) => {
  test("a run is postponed, fails, is reopened and removed; each state is counted", async () => {
    const database = new Database({
      path: join(folder, `${name}.db`),
      logger: quietLogger(),
      onFatal: () => undefined,
    });
    await database.prepare([functionSchema, jobSchema]);
    const table = new RunTable(database, { name, bytes: "octet_length(error)" });
    await table.register([{ path: "jobs/a.ts", handler: "default" }]);
    const { columns, values } = kinds[name];
    await database.transactLong("test", async (tx) => {
      const handler = table.numberOf("jobs/a.ts:default");
      for (const id of [1, 2])
        await tx.run(`INSERT INTO ${name} (id, handler, ${columns}) VALUES (?1, ?2, ${values})`, id, handler);
    });
    const { reader } = database;
    const head = () => reader.get<RunHead>(`SELECT ${table.headColumns} FROM ${table.source} WHERE r.id = 1`);
    const run = { id: 1 };
    const first = { id: 1, path: "jobs/a.ts", handler: "default", failures: 0, notBefore: 0 };
    expect(await head()).toEqual(first);
    expect(await table.counts()).toEqual({ open: 2, failed: 0 });
    await database.transact((tx) => table.postpone(tx, run, { failures: 2, notBefore: 99 }));
    expect(await head()).toEqual({ ...first, failures: 2, notBefore: 99 });
    await database.transact((tx) => table.fail(tx, run, { at: 5, error: "no" }));
    expect(await table.counts()).toEqual({ open: 1, failed: 1 });
    expect(await table.waiting()).toEqual([{ path: "jobs/a.ts", waiting: 1 }]);
    await database.transact((tx) => table.reopen(tx, { id: 1, failedAt: 5 }, 0));
    expect(await head()).toEqual(first);
    expect(await table.counts()).toEqual({ open: 2, failed: 0 });
    await database.transact((tx) => table.remove(tx, run));
    expect(await head()).toBeNull();
    expect(await table.counts()).toEqual({ open: 1, failed: 0 });
    await database.close();
  });
});

test("a handler keeps its number, and handlers of earlier files stay known", async () => {
  const database = new Database({
    path: join(folder, "names.db"),
    logger: quietLogger(),
    onFatal: () => undefined,
  });
  await database.prepare([functionSchema]);
  const open = () => new RunTable(database, { name: "_deliveries", bytes: "0" });
  const numbers = open();
  const [a, b] = ["a", "b"].map((path) => ({ path, handler: "onCreate" }));
  if (a === undefined || b === undefined) throw new Error("There are two");
  await numbers.register([a]);
  const first = numbers.numberOf("a:onCreate");
  expect(first).toBeGreaterThan(0);
  await numbers.register([b]);
  expect(numbers.numberOf("a:onCreate")).toBe(first);
  const again = open();
  await again.register([b, a]);
  expect([again.numberOf("a:onCreate"), again.numberOf("b:onCreate")]).toEqual([first, numbers.numberOf("b:onCreate")]);
  expect(again.numberOf("c:onCreate")).toBe(0);
  await database.close();
});
