/** Batches against the executable: killed under way, beside other requests, from the client and from a function. */
// Promises: W2.
import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { join } from "node:path";
import { SocleClient } from "../packages/client/src/index.ts";
import { randomNumbers, randomSeed } from "../packages/server/test/random.ts";
import { isLong, post, project, serve, socle, until } from "./kit.ts";
import { RunEvents, scriptProject } from "./scripts-kit.ts";

const notes = {
  name: "notes",
  fields: [
    { name: "batch", type: "integer" },
    { name: "n", type: "integer" },
    { name: "first", type: "relation", collection: "notes" },
  ],
};
const size = 200;

function operationsOf(batch: number): object[] {
  return Array.from({ length: size }, (_, n) => {
    const body = { batch, n, ...(n > 0 && { first: { $ref: 0 } }) };
    // With updates and deletes: a batch is whole or absent with every kind of write.
    return n % 10 === 9
      ? { method: "delete", collection: "notes", id: { $ref: n - 1 } }
      : { method: "create", collection: "notes", body };
  });
}
/** The records that one batch leaves. */
const left = size - (size / 10) * 2;
const events = { created: size - size / 10, deleted: size / 10 };

test("kill -9 during batches: each batch is stored whole, with its events, or not at all", async () => {
  const random = randomNumbers(randomSeed("batches"));
  const cwd = await project({ collections: [notes] });
  const acknowledged = new Set<number>();
  let next = 0;
  for (let round = 0; round < (isLong ? 5 : 3); round++) {
    const server = await serve(cwd);
    const write = async (): Promise<void> => {
      for (;;) {
        const batch = next;
        next += 1;
        const answer = await post(`${server.url}/api/batch`, { operations: operationsOf(batch) });
        if (answer.status === 200) acknowledged.add(batch);
      }
    };
    const writers = Array.from({ length: 4 }, () => write().catch(() => undefined));
    // On a busy machine a batch takes longer than the time of a round.
    if (round === 0) await until(() => acknowledged.size > 0);
    await Bun.sleep(150 + random() * 350);
    server.signal("SIGKILL");
    await Promise.all(writers);
    await server.exited;
  }
  const server = await serve(cwd);
  await server.stop();
  using database = new Database(join(cwd, "socle.db"), { readonly: true });
  const found = new Map(
    database
      .query<{ batch: number; n: number }, []>("SELECT batch, count(*) AS n FROM notes GROUP BY batch")
      .all()
      .map(({ batch, n }) => [batch, n]),
  );
  expect([...new Set(found.values())]).toEqual([left]);
  expect([...acknowledged].filter((batch) => !found.has(batch))).toEqual([]);
  expect(acknowledged.size).toBeGreaterThan(0);
  const counted = database
    .query<{ type: string; n: number }, []>(
      "SELECT type, count(*) AS n FROM _events WHERE source = 'collections' AND type LIKE 'notes.%' GROUP BY type ORDER BY type",
    )
    .all();
  expect(counted).toEqual([
    { type: "notes.created", n: found.size * events.created },
    { type: "notes.deleted", n: found.size * events.deleted },
  ]);
});

test("reads and small writes get their responses while large batches run", async () => {
  const server = await serve(await project({ collections: [notes] }));
  const operations = Array.from({ length: 1_000 }, (_, n) => ({ method: "create", collection: "notes", body: { n } }));
  const batches = Promise.all(Array.from({ length: 6 }, () => post(`${server.url}/api/batch`, { operations })));
  let isDone = false;
  void batches.finally(() => {
    isDone = true;
  });
  let [reads, writes] = [0, 0];
  while (!isDone) {
    expect((await fetch(`${server.url}/api/notes?limit=1`)).status).toBe(200);
    reads += 1;
    expect((await post(`${server.url}/api/notes`, { n: -1 })).status).toBe(201);
    writes += 1;
  }
  expect((await batches).map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 200]);
  expect(Math.min(reads, writes)).toBeGreaterThan(1);
});

test("few large batches of a caller wait; further batches are refused for a later try", async () => {
  const server = await serve(await project({ collections: [notes], config: { limits: { batches: 2 } } }));
  const operations = Array.from({ length: 1_000 }, (_, n) => ({ method: "create", collection: "notes", body: { n } }));
  const answers = await Promise.all(Array.from({ length: 8 }, () => post(`${server.url}/api/batch`, { operations })));
  const refused = answers.filter(({ status }) => status === 503);
  expect(answers.filter(({ status }) => status === 200).length + refused.length).toBe(8);
  expect(refused.length).toBeGreaterThan(0);
  expect(refused.every(({ headers }) => headers.get("retry-after") === "1")).toBe(true);
  // A small batch waits for no large batch.
  expect((await post(`${server.url}/api/batch`, { operations: operations.slice(0, 10) })).status).toBe(200);
  const metrics = await (await fetch(`${server.url}/api/notes?limit=1&count=exact`)).json();
  expect(metrics).toMatchObject({ total: (8 - refused.length) * 1_000 + 10 });
});

test("the client and a function send batches", async () => {
  const cwd = await scriptProject({
    collections: [
      {
        ...notes,
        fields: [...notes.fields, { name: "others", type: "relation", collection: "notes", multiple: true }],
      },
      { name: "asks", fields: [{ name: "answer", type: "json" }] },
    ],
    files: {
      "functions/asks/ask.ts": `export const onCreate: OnCreate<"asks"> = async ({ record, db }) => {
        if (record.answer !== null) return;
        const [first, second, gone] = await db.batch([
          { method: "create", collection: "notes", body: { n: 1 } },
          { method: "update", collection: "notes", id: { $ref: 0 }, body: { first: { $ref: 0 }, n: 2 } },
          { method: "delete", collection: "asks", id: record.id },
        ]);
        const [, added] = await db.batch([
          { method: "create", collection: "notes", body: { n: 1 } },
          { method: "update", collection: "notes", id: first.id, body: { n: { $increment: 5 }, others: { $add: [{ $ref: 0 }] } } },
          { method: "delete", collection: "notes", id: { $ref: 0 } },
        ]);
        await db.collection("notes").update(first.id, { others: { $remove: added.others } });
        const failed = await db.batch([
          { method: "create", collection: "notes", body: { n: 3 } },
          { method: "update", collection: "notes", id: first.id, ifMatch: "x", body: {} },
        ]).catch(({ code, details }) => ({ code, details }));
        const large = await db.batch(Array.from({ length: 1000 }, (_, n) => ({ method: "create" as const, collection: "notes" as const, body: { n, batch: -1 } })));
        await db.collection("asks").create({ answer: [first.n, second.n, second.first === first.id, gone, added.n, added.others.length, failed, large.length] });
      };\n`,
    },
  });
  const { code, stdout } = await socle(["check"], { cwd });
  expect([code, stdout]).toEqual([0, ""]);
  const server = await serve(cwd);
  const runs = await RunEvents.of(server.url);
  const client = new SocleClient<Types>({ baseUrl: server.url });
  const [made, changed] = await client.batch([
    { method: "create", collection: "asks", body: {} },
    { method: "update", collection: "asks", id: { $ref: 0 }, body: {} },
  ]);
  // Typed: a record of "asks", never null.
  expect(changed.id).toBe(made.id);
  await runs.first("function.completed", "functions/asks/ask.ts");
  const [{ answer } = { answer: null }] = await client.collection("asks").list();
  const details = [{ operation: 1, field: "id", rule: "refused", message: expect.any(String) }];
  expect(answer).toEqual([1, 2, true, null, 7, 1, { code: "conflict", details }, 1_000]);
  expect((await client.collection("notes").page({ count: "exact", limit: 1 })).total).toBe(1_001);
  const stale = client.batch([
    { method: "create", collection: "notes", body: { n: 5 } },
    { method: "delete", collection: "notes", id: made.id, ifMatch: made },
  ]);
  await expect(stale).rejects.toMatchObject({ status: 404, details: [{ operation: 1 }] });
  expect((await client.collection("notes").page({ count: "exact", limit: 1 })).total).toBe(1_001);
});

interface System {
  id: string;
  createdAt: string;
  updatedAt: string;
}

interface Types {
  notes: {
    record: System & { batch: number | null; n: number | null; first: string | null };
    create: { batch?: number | null; n?: number | null; first?: string | null };
    update: { batch?: number | null; n?: number | null; first?: string | null };
    owner: never;
  };
  asks: {
    record: System & { answer: unknown };
    create: { answer?: unknown };
    update: { answer?: unknown };
    owner: never;
  };
}
