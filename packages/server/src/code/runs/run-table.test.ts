/** The shape of a table of runs: what holds for every table of that shape. */
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { quietLogger, temporaryFolder } from "../../../test/kit.ts";
import { SqliteDatabase } from "../../store/database/index.ts";
import { functionSchema } from "../functions/index.ts";
import { jobSchema } from "../jobs/index.ts";
import { HandlerNumbers, handlerNumber, type RunHead, RunTable } from "./run-table.ts";

const folder = temporaryFolder();

/** Values of the columns that a kind of run adds. */
const kinds = {
  _deliveries: { columns: "subject, depth", values: "'rec_x', 1" },
  _job_queue: { columns: "runId, firstAt, isByHand", values: "'run_' || ?1, 0, 0" },
} as const;

describe.each(Object.keys(kinds) as (keyof typeof kinds)[])("%s", (name) => {
  test("a run is postponed, fails, is reopened and goes; each state is counted", async () => {
    const database = new SqliteDatabase({
      path: join(folder, `${name}.db`),
      logger: quietLogger(),
      onFatal: () => undefined,
    });
    await database.prepare([functionSchema, jobSchema]);
    const table = new RunTable(name);
    const { columns, values } = kinds[name];
    await database.transactLong("test", async (tx) => {
      const handler = await handlerNumber(tx, { path: "jobs/a.ts", handler: "default" });
      for (const id of [1, 2])
        await tx.run(`INSERT INTO ${name} (id, handler, ${columns}) VALUES (?1, ?2, ${values})`, id, handler);
    });
    const { reader } = database;
    const head = () => reader.get<RunHead>(`SELECT ${table.headColumns} FROM ${table.source} WHERE r.id = 1`);
    const first = { id: 1, path: "jobs/a.ts", handler: "default", failures: 0, notBefore: 0 };
    expect(await head()).toEqual(first);
    expect(await table.counts(reader)).toEqual({ open: 2, failed: 0 });
    await database.transact((tx) => table.postpone(tx, 1, { failures: 2, notBefore: 99 }));
    expect(await head()).toEqual({ ...first, failures: 2, notBefore: 99 });
    await database.transact((tx) => table.fail(tx, 1, { at: 5, error: "no" }));
    expect(await table.counts(reader)).toEqual({ open: 1, failed: 1 });
    expect(await table.openByFile(reader)).toEqual([{ path: "jobs/a.ts", waiting: 1 }]);
    await database.transact((tx) => table.reopen(tx, 1));
    expect(await head()).toEqual(first);
    expect(await table.counts(reader)).toEqual({ open: 2, failed: 0 });
    await database.transact((tx) => table.remove(tx, 1));
    expect(await head()).toBeNull();
    expect(await table.counts(reader)).toEqual({ open: 1, failed: 0 });
    await database.close();
  });
});

test("a handler keeps its number, and those of earlier files stay known", async () => {
  const database = new SqliteDatabase({
    path: join(folder, "names.db"),
    logger: quietLogger(),
    onFatal: () => undefined,
  });
  await database.prepare([functionSchema]);
  const numbers = new HandlerNumbers(database);
  const [a, b] = ["a", "b"].map((path) => ({ path, handler: "onCreate" }));
  if (a === undefined || b === undefined) throw new Error("There are two");
  await numbers.register([a]);
  const first = numbers.of("a:onCreate");
  expect(first).toBeGreaterThan(0);
  await numbers.register([b]);
  expect(numbers.of("a:onCreate")).toBe(first);
  const again = new HandlerNumbers(database);
  await again.register([b, a]);
  expect([again.of("a:onCreate"), again.of("b:onCreate")]).toEqual([first, numbers.of("b:onCreate")]);
  expect(again.of("c:onCreate")).toBe(0);
  await database.close();
});
