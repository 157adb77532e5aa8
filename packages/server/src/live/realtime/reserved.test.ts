/** Payloads that are not for everybody: why a run failed, and the names of protected files. Live and in replays. */
import { describe, expect, test } from "bun:test";
import type { Event } from "@socle/protocol";
import { openServer, type TestSocket } from "../../../test/sockets.ts";
import { type Bearer, system } from "../../base/kernel/index.ts";

const server = await openServer({ collections: [{ name: "notes", fields: [{ name: "n", type: "integer" }] }] });
const { auth, database, events, records, storage } = server.service;
const ann = await server.register("ann@example.com");
const bob = await server.register("bob@example.com");
const admin = await server.admin();
const as = async ({ accessToken }: typeof ann): Promise<Bearer> => auth.callers.authenticate(accessToken);

const append = (event: { type: string; source: "functions" | "jobs"; payload: object }) =>
  database.transact((tx) => events.append(tx, { ...event, principal: null }));

async function newest(): Promise<string> {
  return (await events.at(events.flushedSeq))?.id ?? "";
}

const listeners = { anonymous: undefined, ann: ann.accessToken, bob: bob.accessToken, admin };

async function connectAll(): Promise<{ readonly [name in keyof typeof listeners]: TestSocket }> {
  const [anonymous, annSocket, bobSocket, adminSocket] = await Promise.all(
    Object.values(listeners).map((token) => server.connect(token)),
  );
  if (!anonymous || !annSocket || !bobSocket || !adminSocket) throw new Error("unreachable");
  return { anonymous, ann: annSocket, bob: bobSocket, admin: adminSocket };
}

/** The events that each listener gets on some channels, live and in a replay; both must be the same. */
async function heard(channels: readonly string[], happen: () => Promise<unknown>) {
  await records.create("notes", system, { n: 0 });
  const since = await newest();
  const live = await connectAll();
  for (const client of Object.values(live)) for (const channel of channels) await client.subscribe(channel);
  await happen();
  const late = await connectAll();
  const result: { [name: string]: readonly Event[] } = {};
  for (const [name, client] of Object.entries(live)) {
    const again = late[name as keyof typeof listeners];
    for (const channel of channels) await again.subscribe(channel, since);
    await records.create("notes", system, { n: 1 });
    const now = await client.events();
    const end = performance.now() + 120_000;
    while ((await again.events()).length < now.length && performance.now() < end) await Bun.sleep(2);
    expect({ name, events: await again.events() }).toEqual({ name, events: now });
    result[name] = now;
  }
  return result;
}

describe("a run that failed", () => {
  const about = { collection: "notes", trigger: "onCreate", eventType: "notes.created", filePath: "functions/a.ts" };
  const run = { ...about, eventId: "evt_1", runId: "run_1", durationMs: 5 };
  const job = { name: "nightly", filePath: "jobs/nightly.ts", schedule: "0 0 * * *", runId: "run_2", attempt: 3 };

  test("sends its error to admins only", async () => {
    const error = "no user ann@example.com";
    const all = await heard(["function.failed", "function.completed", "job.failed"], async () => {
      await append({ type: "function.failed", source: "functions", payload: { ...run, error } });
      await append({ type: "function.completed", source: "functions", payload: run });
      await append({ type: "job.failed", source: "jobs", payload: { ...job, durationMs: 1, error } });
    });
    const open = [run, run, { ...job, durationMs: 1 }];
    for (const name of ["anonymous", "ann", "bob"]) expect(all[name]?.map(({ payload }) => payload)).toEqual(open);
    expect(all["admin"]?.map(({ payload }) => payload)).toEqual([{ ...run, error }, run, { ...open[2], error }]);
    const { body } = await server.request<{ items: Event[] }>("GET", "/api/admin/events?type=job.failed", {
      token: admin,
    });
    expect(body.items[0]?.payload["error"]).toBe(error);
  });
});

describe("an upload", () => {
  const upload = async (visibility: "public" | "protected", owner: Promise<Bearer> | typeof system) =>
    storage.store(await owner, async () => ({ filename: "diagnosis.txt", visibility }));

  test("a protected file sends its name to the owner and to admins only, once to each socket", async () => {
    const files: object[] = [];
    const all = await heard(["storage.uploaded"], async () => {
      files.push({ ...(await upload("protected", as(ann))) });
      files.push({ ...(await upload("public", as(ann))) });
      files.push({ ...(await upload("protected", system)) });
    });
    const hidden = { filename: null, url: null };
    const payloads = Object.fromEntries(
      Object.entries(all).map(([name, list]) => [name, list.map(({ payload }) => payload)]),
    );
    expect(payloads).toEqual({
      anonymous: [{ ...files[0], ...hidden }, files[1], { ...files[2], ...hidden }],
      ann: [files[0], files[1], { ...files[2], ...hidden }],
      bob: [{ ...files[0], ...hidden }, files[1], { ...files[2], ...hidden }],
      admin: files,
    } as never);
    for (const name of ["anonymous", "bob"])
      expect(JSON.stringify([all[name]?.[0], all[name]?.[2]])).not.toContain("diagnosis");
  });

  test("several sockets of the owner each receive the event once, and go on receiving", async () => {
    const [first, second] = [await server.connect(ann.accessToken), await server.connect(ann.accessToken)];
    for (const client of [first, second]) await client.subscribe("storage.uploaded");
    const own = await upload("protected", as(ann));
    const others = await upload("protected", as(bob));
    for (const client of [first, second])
      expect((await client.events()).map(({ payload }) => [payload["id"], payload["filename"]])).toEqual([
        [own.id, "diagnosis.txt"],
        [others.id, null],
      ]);
  });

  test("is replayed under the visibility of this moment", async () => {
    const since = await newest();
    const hidden = await upload("public", as(ann));
    const shown = await upload("protected", as(ann));
    await server.service.database.transactLong("test", async (tx) => {
      await storage.setVisibility(tx, hidden.id, "protected");
      await storage.setVisibility(tx, shown.id, "public");
    });
    for (const [token, names] of [
      [undefined, [null, "diagnosis.txt"]],
      [bob.accessToken, [null, "diagnosis.txt"]],
      [ann.accessToken, ["diagnosis.txt", "diagnosis.txt"]],
      [admin, ["diagnosis.txt", "diagnosis.txt"]],
    ] as const) {
      const client = await server.connect(token);
      await client.subscribe("storage.uploaded", since);
      const end = performance.now() + 120_000;
      while ((await client.events()).length < 2 && performance.now() < end) await Bun.sleep(2);
      expect((await client.events()).map(({ payload }) => payload["filename"])).toEqual([...names]);
    }
  });

  test("is not replayed after the deletion of the file", async () => {
    const since = await newest();
    const file = await upload("public", as(ann));
    await storage.delete(file.id, system);
    const client = await server.connect(bob.accessToken);
    await client.subscribe("storage.uploaded", since);
    await client.subscribe("storage.deleted", since);
    const end = performance.now() + 120_000;
    while ((await client.events()).length === 0 && performance.now() < end) await Bun.sleep(2);
    expect(await client.types()).toEqual(["storage.deleted"]);
  });
});
