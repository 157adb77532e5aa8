/** Readiness: ready, and each reason not to be. */
import { expect, spyOn, test } from "bun:test";
import { join } from "node:path";
import { openApi, quietLogger, temporaryFolder } from "../../test/kit.ts";
import { EventLoopLag } from "../base/logging/index.ts";
import { Database } from "../store/database/index.ts";
import { eventSchema } from "../store/events/index.ts";
import { Readiness } from "./readiness.ts";

async function open(options: { sync?: () => Promise<void>; minFree?: number } = {}) {
  const path = join(temporaryFolder(), "socle.db");
  const { sync, minFree = 0 } = options;
  const database = new Database({ path, logger: quietLogger(), onFatal: () => undefined, ...(sync && { sync }) });
  const stopping = new AbortController();
  const lag = new EventLoopLag(stopping.signal);
  const readiness = new Readiness({ database, paths: [path], minFree, lag, stopping: stopping.signal });
  return { database, stopping, readiness };
}

test("a service that can write is ready; a stopping service is not", async () => {
  const { database, stopping, readiness } = await open();
  await database.prepare([eventSchema]);
  expect(await readiness.reasons()).toEqual([]);
  stopping.abort();
  expect(await readiness.reasons()).toEqual(["the service is stopping"]);
  await database.close();
});

test("a full disk is a reason, reported once for each disk", async () => {
  const { database, stopping, readiness } = await open({ minFree: 2 ** 60 });
  const reasons = await readiness.reasons();
  expect(reasons).toHaveLength(1);
  expect(reasons[0]).toMatch(/^the disk has \d+ MiB free, and needs 1099511627776$/);
  stopping.abort();
  await database.close();
});

test("a disk that refuses a write is a reason", async () => {
  const { database, stopping, readiness } = await open({ sync: () => Promise.reject(new Error("EIO")) });
  expect(await readiness.reasons()).toEqual([expect.stringContaining("the database cannot be written: ")]);
  stopping.abort();
  await database.close();
});

test("a disk that blocks for ever is a reason, and concurrent checks share a write", async () => {
  let writes = 0;
  const { promise, resolve } = Promise.withResolvers<void>();
  const sync = (): Promise<void> => {
    writes += 1;
    return promise;
  };
  const { database, stopping, readiness } = await open({ sync });
  const answers = await Promise.all(Array.from({ length: 50 }, () => readiness.reasons()));
  expect(new Set(answers.flat())).toEqual(new Set(["a write takes longer than 2 s"]));
  expect(writes).toBe(1);
  resolve();
  stopping.abort();
  await database.close();
});

test("an endless write is no sign of life; a slow migration is a sign, and so is a full disk", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  let isHeld = false;
  const { database, stopping, readiness } = await open({ sync: () => (isHeld ? promise : Promise.resolve()) });
  await database.prepare([eventSchema]);
  expect(await readiness.works()).toBe(true);

  const migration = Promise.withResolvers<void>();
  const migrated = database.migrate(() => migration.promise, "event-loop");
  expect(await readiness.works()).toBe(true);
  migration.resolve();
  await migrated;

  const pragma = (pages: number) => database.transact((tx) => tx.get(`PRAGMA max_page_count = ${pages}`));
  await pragma(1);
  await database
    .transact((tx) => tx.run("CREATE TABLE large (text TEXT)"))
    .catch((full) => {
      spyOn(database, "probe").mockRejectedValueOnce(full);
    });
  expect(await readiness.works()).toBe(true);
  spyOn(database, "probe").mockRejectedValueOnce(new Error("another"));
  expect(await readiness.works()).toBe(false);
  await pragma(1_000_000);

  isHeld = true;
  const works = readiness.works();
  expect(await Promise.race([works, Bun.sleep(200).then(() => "nothing yet")])).toBe("nothing yet");
  resolve();
  expect(await works).toBe(true);
  stopping.abort();
  expect(await readiness.works()).toBe(true);
  await database.close();
});

test("GET /health/ready responds with 200, or 503 with the reasons; /health stays", async () => {
  let reasons: string[] = [];
  const { request } = await openApi({ readiness: async () => reasons });
  const ready = await request("GET", "/health/ready");
  expect(ready).toMatchObject({ status: 200, body: { status: "ok" } });
  expect(ready.headers.get("cache-control")).toBe("no-store");
  reasons = ["the disk has 3 MiB free, and needs 64", "a write takes longer than 2 s"];
  const not = await request("GET", "/health/ready");
  const message = "Not ready: the disk has 3 MiB free, and needs 64; a write takes longer than 2 s.";
  expect(not).toMatchObject({ status: 503, body: { error: { code: "unavailable", message } } });
  expect(not.headers.get("retry-after")).toBe("1");
  expect((await request("GET", "/health")).status).toBe(200);
  expect((await request("POST", "/health/ready", { body: {} })).status).toBe(405);
});
