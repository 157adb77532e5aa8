/** Functions of a renamed collection: deliveries go to the files of the renamed folder, and hooks refuse until the folder is renamed. */
import { expect, test } from "bun:test";
import { rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { quietLogger, temporaryFolder } from "../../../test/kit.ts";
import { openScripts, type TestScripts } from "../../../test/scripts.ts";
import { Clock, system } from "../../base/kernel/index.ts";
import { Database } from "../../store/database/index.ts";
import { EventLog, eventSchema } from "../../store/events/index.ts";
import { linear } from "../runs/index.ts";
import { Deliveries } from "./delivery-table.ts";
import { followCollection } from "./renamed-folder.ts";
import { functionSchema } from "./schema.ts";

const handler = "onCreate";

test("deliveries that wait for a handler wait for the handler of the same file, whether the file was known or not", async () => {
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
      const triggers = paths.slice(0, 3).map((path) => ({ path, handler, kind: handler, ...common }) as const);
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

const hook = {
  "functions/tickets/a.ts": `
    export const beforeCreate = ({ record }) => ({ title: "hooked " + record.title });
    export const onCreate = () => undefined;`,
};
const tickets = { name: "tickets", fields: [{ name: "title", type: "string" }] };

async function create(api: TestScripts, name: string): Promise<unknown[]> {
  const { status, body } = await api.request("POST", `/api/${name}`, { body: { title: "x" } });
  return [status, body["title"]];
}

/** A service after the rename of a collection with a hook. */
async function renamed(): Promise<TestScripts> {
  const api = await openScripts({ collections: [tickets], files: hook });
  expect(await create(api, "tickets")).toEqual([201, "hooked x"]);
  const body = { name: "passes", renamedFrom: "tickets" };
  const token = await api.admin();
  expect((await api.request("PUT", "/api/admin/collections/tickets", { body, token })).status).toBe(200);
  return api;
}

test("a hook is not skipped after a rename: writes are refused until the folder has the new name, also after a start", async () => {
  const first = await renamed();
  const notice = "rename the folder functions/tickets/ to functions/passes/";
  const notices = (api: TestScripts): number =>
    api.log.filter((line) => line.includes(notice) && line.includes("Until functions/tickets/a.ts is gone")).length;
  expect([notices(first), await create(first, "passes")]).toEqual([1, [503, undefined]]);
  const list = await first.request("GET", "/api/passes");
  expect([list.status, list.body["items"]] as unknown[]).toEqual([
    200,
    [expect.objectContaining({ title: "hooked x" })],
  ]);
  const id = String((list.body["items"] as unknown as { id: string }[])[0]?.id);
  // The file has no hook for other operations.
  expect((await first.request("PUT", `/api/passes/${id}`, { body: { title: "y" } })).status).toBe(200);
  await first.stop();
  const { folder } = first;
  const second = await openScripts({ folder });
  expect([notices(second), await create(second, "passes")]).toEqual([1, [503, undefined]]);
  expect(second.log.some((line) => line.includes("beforeCreate of functions/tickets/a.ts failed"))).toBeTrue();
  await rename(join(folder, "functions/tickets"), join(folder, "functions/passes"));
  await second.scripts.reload();
  expect(await create(second, "passes")).toEqual([201, "hooked x"]);
});

test("the folder of a former name refuses no more after its removal, or when another collection has the name", async () => {
  const api = await renamed();
  const token = await api.admin();
  expect((await api.request("POST", "/api/admin/collections", { body: tickets, token })).status).toBe(201);
  expect([await create(api, "passes"), await create(api, "tickets")]).toEqual([
    [201, "x"],
    [201, "hooked x"],
  ]);
  expect((await api.request("DELETE", "/api/admin/collections/tickets", { token })).status).toBe(204);
  expect(await create(api, "passes")).toEqual([503, undefined]);
  await rm(join(api.folder, "functions"), { recursive: true });
  await api.scripts.reload();
  expect(await create(api, "passes")).toEqual([201, "x"]);
});
