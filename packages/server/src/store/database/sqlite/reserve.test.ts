/** The reserve of a full disk: the callers that may use the reserve, the callers that wait, and the return of the reserve. */
import { expect, test } from "bun:test";
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { quietLogger, temporaryFolder } from "../../../../test/kit.ts";
import { until } from "../../../../test/sockets.ts";
import { Database, isOutOfRoom } from "../index.ts";

test("a change that frees space runs again with the reserve; other changes are refused until space is free", async () => {
  const path = join(temporaryFolder(), "socle.db");
  const lines: string[] = [];
  const database = new Database({ path, logger: quietLogger(lines), onFatal: () => undefined, hasReserve: true });
  const pages = (most: number): Promise<unknown> =>
    database.transact((tx) => tx.get(`PRAGMA max_page_count = ${most}`));
  const grow = (): Promise<unknown> =>
    database.transact((tx) => tx.run("INSERT INTO rows (text) VALUES (hex(zeroblob(20000)))"));
  const reserve = `${path}-reserve`;
  await database.transact((tx) => tx.run("CREATE TABLE rows (text TEXT)"));
  const isWhole = (): boolean => statSync(reserve, { throwIfNoEntry: false })?.size === 16 * 1024 ** 2;
  const reserved = (): number => lines.filter((line) => line === "DEBUG Room on the disk is reserved").length;
  await until(() => reserved() === 1);
  expect(isWhole()).toBe(true);
  await pages(1);

  expect(isOutOfRoom(await grow().catch((error: unknown) => error))).toBe(true);
  expect(existsSync(reserve)).toBe(true);

  let tries = 0;
  const makeRoom = async (): Promise<number> =>
    database.transact(
      (tx) => {
        tries += 1;
        if (tries === 1) tx.run("INSERT INTO rows (text) VALUES (hex(zeroblob(20000)))");
        return tx.run("DELETE FROM rows");
      },
      { makesRoom: true },
    );
  const [made, waiting] = await Promise.allSettled([makeRoom(), grow()]);
  expect(made.status).toBe("fulfilled");
  expect(tries).toBe(2);
  expect(waiting.status).toBe("rejected");
  expect(existsSync(reserve)).toBe(false);
  const refused = await database.probe().catch((error: unknown) => error);
  expect(isOutOfRoom(refused)).toBe(true);

  await until(() => lines.includes("INFO Space is free again: all changes are accepted"));
  expect([isWhole(), reserved()]).toEqual([true, 2]);
  await pages(1_000_000);
  await grow();
  await database.close();
});
