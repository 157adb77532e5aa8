/** The index of the event log: the events of each key, compared with a model; after trims, restarts and an upgrade of an older log. */
import { describe, expect, test } from "bun:test";
import { openEventLog } from "../../../test/event-log.ts";
import { temporaryFolder } from "../../../test/kit.ts";
import { randomNumbers, randomSeed } from "../../../test/random.ts";
import { type Cause, newId, type Principal } from "../../base/kernel/index.ts";
import { eventsByKeyIn } from "./events-by-key.ts";
import { blockSize, unindexedFrom } from "./index-table.ts";

const folder = temporaryFolder();
const seed = randomSeed("event index");
const random = randomNumbers(seed);
const waiter = { caller: "test", signal: new AbortController().signal };
type Log = Awaited<ReturnType<typeof openEventLog>>;

/** The events of the model: the keys by seq. */
type Model = Map<number, readonly string[]>;

const kinds = ["request", "function", "job", "import", "migration", "undo"] as const;

function pick<T>(items: readonly T[]): T {
  return items[Math.floor(random() * items.length)] as T;
}

/** Random events: about few records, by few causes, of runs, and without any key. */
async function fill({ database, events }: Log, model: Model, count: number): Promise<void> {
  const records = Array.from({ length: 20 }, () => newId(pick(["rec", "usr"]), 1_700_000_000_000));
  const ids = Array.from({ length: 40 }, () =>
    pick([newId("run", 1_700_000_000_000), crypto.randomUUID().slice(0, 10)]),
  );
  for (let left = count; left > 0; ) {
    const size = Math.min(left, Math.ceil(random() * 30));
    left -= size;
    const cause: Cause = {
      kind: pick(kinds),
      id: pick(ids),
      ...(random() < 0.5 && { trace: pick(ids) }),
      ...(random() < 0.5 && { name: "functions/a b/c.ts:onCreate" }),
    };
    const isCaused = random() < 0.8;
    const principal: Principal = isCaused ? { userId: null, role: "public", cause } : null;
    await database.transact((tx) => {
      for (let n = 0; n < size; n++) {
        const seq = events.lastSeq(tx) + 1;
        if (random() < 0.1) {
          const [runId, eventId] = [pick(ids), `evt_${pick(ids)}`];
          const event = { type: "function.started", source: "functions", payload: { n, runId, eventId } } as const;
          events.append(tx, { ...event, principal: null });
          model.set(seq, [runId, eventId]);
          continue;
        }
        const id = pick(records);
        const payload = { id, text: pick(ids), other: pick(records) };
        events.append(tx, { type: "posts.updated", source: "collections", payload, principal });
        model.set(seq, isCaused ? [id, cause.id, cause.trace ?? cause.id] : [id]);
      }
    });
  }
}

/** Compares the answers for random keys, places and limits. */
async function compare({ events, database }: Log, model: Model): Promise<void> {
  const keys = [...new Set([...model.values()].flat()), newId("rec", 1), "usr", "request"];
  for (let n = 0; n < 10; n++) {
    const [key, limit, before] = [pick(keys), Math.ceil(random() * 300), Math.ceil(random() * model.size * 1.5)];
    const oldest = database.reader.get<{ seq: number }>("SELECT min(seq) AS seq FROM _events")?.seq ?? 0;
    const wanted = [...model]
      .filter(([seq, all]) => seq >= oldest && seq < before && all.includes(key))
      .map(([seq]) => seq)
      .reverse()
      .slice(0, limit);
    const found = await events.about({ key, before, limit }, waiter);
    expect([key, found.map(({ seq }) => seq)]).toEqual([key, wanted]);
    expect(eventsByKeyIn(database.reader, { key, before, limit }).map(({ seq }) => seq)).toEqual(wanted);
  }
}

describe("the events of a key are those of the model", () => {
  test("while the log grows, is trimmed, and is opened again", async () => {
    const model: Model = new Map();
    let log = await openEventLog(folder, "index.db");
    for (let round = 0; round < 4; round++) {
      const stopping = new AbortController();
      const indexer = log.events.startIndex(stopping.signal);
      // In the second round, this process sees each event of a block; other blocks are read from the log.
      await fill(log, model, round === 1 ? 10_000 : 2_500);
      await compare(log, model);
      await indexer.settled();
      const { reader } = log.database;
      // The index has all blocks but the last.
      expect(unindexedFrom(reader)).toBe(Math.floor((log.events.flushedSeq + 1) / blockSize) * blockSize);
      await compare(log, model);
      if (round > 1) await log.retention(1e15, 1_000 + 5_000 * random()).trim();
      await compare(log, model);
      const oldest = reader.get<{ block: number | null }>("SELECT min(block) AS block FROM _event_index")?.block ?? 1e9;
      const first = reader.get<{ seq: number }>("SELECT min(seq) AS seq FROM _events")?.seq ?? 0;
      // No block of removed events stays.
      expect((oldest + 1) * blockSize).toBeGreaterThan(Math.min(first, log.events.flushedSeq));
      stopping.abort();
      await log.database.close();
      log = await openEventLog(folder, "index.db");
    }
    await log.database.close();
  });

  test("in a log without an index, whose events no transaction indexes; the index comes later", async () => {
    const model: Model = new Map();
    const log = await openEventLog(folder, "older.db");
    await fill(log, model, 22_000);
    expect(unindexedFrom(log.database.reader)).toBe(0);
    await compare(log, model);
    const indexer = log.events.startIndex(new AbortController().signal);
    await indexer.settled();
    expect(unindexedFrom(log.database.reader)).toBe(5 * blockSize);
    await compare(log, model);
    await log.database.close();
  });
});

test("an event has the cause of the principal, and an older event has no cause", async () => {
  const log = await openEventLog(folder, "cause.db");
  const { database, events } = log;
  const cause: Cause = { kind: "function", id: "run_1", name: "functions/a b/c.ts:onCreate" };
  const append = (principal: Principal) =>
    database.transact((tx) =>
      events.append(tx, { type: "posts.created", source: "collections", payload: {}, principal }),
    );
  await append({ userId: null, role: "public", cause });
  await append({ userId: null, role: "public", cause: { kind: "request", id: "a-1" } });
  await append(null);
  expect(events.read(0, 10).map((event) => event.cause)).toEqual([cause, { kind: "request", id: "a-1" }, null]);
  await database.close();
});
