/** The table of retries: a row that a disk has damaged. */
import { expect, test } from "bun:test";
import { openApi } from "../../../test/kit.ts";
import { openRetries, putRetry } from "./failure-table.ts";

test("a damaged row of retries is left out, and the other retries go on", async () => {
  const { database } = (await openApi({})).service;
  const retry = { startedAt: 0, runs: ["run_1", "run_2"], next: 1, error: null };
  await database.transact((tx) => {
    for (const id of ["flr_whole", "flr_damaged"]) putRetry(tx, { ...retry, id });
    putRetry(tx, { ...retry, id: "flr_over", next: 2 });
    tx.run("UPDATE _failure_retries SET runs = ? WHERE id = 'flr_damaged'", '["run_1');
  });
  expect(openRetries(database.reader)).toEqual(["flr_whole"]);
});
