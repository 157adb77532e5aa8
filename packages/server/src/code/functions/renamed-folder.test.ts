/** Deliveries of a renamed collection go to the files of the renamed folder. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { quietLogger, temporaryFolder } from "../../../test/kit.ts";
import { Clock, system } from "../../base/kernel/index.ts";
import { Database } from "../../store/database/index.ts";
import { EventLog, eventSchema } from "../../store/events/index.ts";
import { linear } from "../runs/index.ts";
import { Deliveries } from "./delivery-table.ts";
import { followCollection } from "./renamed-folder.ts";
import { functionSchema } from "./schema.ts";

const handler = "onCreate";

test("what waits for a handler waits for the handler of the same file, whether the file was known or not", async () => {
  const logger = quietLogger();
  const database = new Database({ path: join(temporaryFolder(), "db"), logger, onFatal: () => undefined });
  await database.prepare([eventSchema, functionSchema]);
  const events = new EventLog({ database, clock: new Clock(), logger });
  events.start();
  const deliveries = new Deliveries(database, events);
  const paths = ["posts/new", "posts/known", "postscripts/other", "articles/known"].map(
    (name) => `functions/${name}.ts`,
  );
  await deliveries.register(paths.map((path) => ({ path, handler })));
  events.recordWith({
    wanted: { has: () => true },
    beforeTrim: () => undefined,
    record(tx, appended) {
      const common = { collection: "posts", eventType: "posts.created", timeoutMs: 1_000, policy: linear(0) };
      const triggers = paths.slice(0, 3).map((path) => ({ path, handler, ...common }) as const);
      return deliveries.add(tx, appended, triggers);
    },
  });
  await database.transact((tx) =>
    events.append(tx, { type: "posts.created", source: "collections", payload: { id: "rec_1" }, principal: system }),
  );
  await database.transact((tx) => followCollection(tx, { from: "posts", to: "articles" }));
  expect(deliveries.waiting()).toEqual([
    { path: "functions/articles/known.ts", waiting: 1 },
    { path: "functions/articles/new.ts", waiting: 1 },
    { path: "functions/postscripts/other.ts", waiting: 1 },
  ]);
  await database.close();
});
