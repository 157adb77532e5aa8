/** Updates of a large record that wait for a function: the record is kept once, and each run gets the record of the event. */
import { expect, test } from "bun:test";
import { keepsAll } from "../../../test/event-log.ts";
import { openApi, quietLogger } from "../../../test/kit.ts";
import { randomNumbers, randomSeed } from "../../../test/random.ts";
import { Clock, JsonText, system } from "../../base/kernel/index.ts";
import { EventRetention, type EventRow, LoggedEvent } from "../../store/events/index.ts";
import { linear } from "../runs/index.ts";
import { Deliveries, type DeliveryHead } from "./delivery-table.ts";

const fields = [
  { name: "n", type: "integer" },
  { name: "text", type: "text" },
  { name: "data", type: "json" },
];
const trigger = {
  path: "f",
  handler: "onUpdate",
  kind: "onUpdate" as const,
  collection: "notes",
  eventType: "notes.updated",
  timeoutMs: 1,
  policy: linear(0),
};
const other = { ...trigger, path: "g" };
const large = "x".repeat(200_000);

async function open() {
  const api = await openApi({ collections: [{ name: "notes", fields }], settings: { SERVICE_LIMITS_BODY: "2MiB" } });
  const { records, events, database } = api.service;
  const deliveries = new Deliveries(database, events);
  await deliveries.register([trigger, other]);
  /** The record before and after each event, by place. */
  const expected = new Map<number, { previous: object; record: object }>();
  const append = events.append.bind(events);
  events.append = (tx, event, at) => {
    append(tx, event, at);
    const row = tx.get<EventRow>("SELECT * FROM _events ORDER BY seq DESC LIMIT 1");
    const { previous } = event;
    if (row === null || row.type !== "notes.updated" || previous === undefined) return;
    const payload = event.payload instanceof JsonText ? event.payload.text : JSON.stringify(event.payload);
    expected.set(row.seq, { previous, record: JSON.parse(payload) });
    const logged = new LoggedEvent({ ...row, payload, partial: 0 });
    deliveries.add(tx, { event: logged, previous, depth: 0, chain: [] }, [trigger, other]);
  };
  const bytes = async () =>
    (await database.reader.get<{ n: number }>("SELECT coalesce(sum(octet_length(previous)), 0) AS n FROM _deliveries"))
      ?.n ?? 0;
  return {
    database,
    deliveries,
    expected,
    bytes,
    create: async (text: string) => (await records.create("notes", system, { n: 0, text })).record.id,
    update: (id: string, values: object) => records.update("notes", system, { record: id, body: { ...values } }),
    heads: () => deliveries.page({ after: 0, until: 2 ** 50, limit: 10_000, handlers: ["f:onUpdate", "g:onUpdate"] }),
    async trim() {
      await database.transact((tx) => deliveries.keepEvents(tx, 0, 2 ** 30));
      const options = { database, events, logger: quietLogger(), clock: new Clock() };
      const config = { ...keepsAll, "events.retention": 0, "events.maxCount": 0, "events.maxBytes": 1 };
      await new EventRetention({ ...options, config }).trim();
    },
  };
}

type Opened = Awaited<ReturnType<typeof open>>;

/** The run gets the record of before and after the event. */
async function check({ deliveries, expected }: Opened, head: DeliveryHead) {
  const delivery = await deliveries.get(head);
  if (delivery === null) throw new Error("The delivery is gone");
  const { event } = delivery;
  const previous = JSON.parse(delivery.previous ?? "null");
  const record = event.isPartial ? { ...previous, ...event.payload } : event.payload;
  expect({ previous, record }).toEqual(expected.get(event.seq) ?? { previous: {}, record: {} });
  return delivery;
}

test("many small updates of a large record store the record once for each function", async () => {
  const opened = await open();
  const id = await opened.create(large);
  for (let n = 1; n <= 50; n++) await opened.update(id, { n });
  await Promise.all(Array.from({ length: 50 }, (_, n) => opened.update(id, { n })));
  expect(await opened.bytes()).toBeLessThan(3 * large.length);
  const heads = await opened.heads();
  expect(heads).toHaveLength(200);
  for (const head of heads) {
    await check(opened, head);
    await opened.database.transact((tx) => opened.deliveries.remove(tx, head));
    expect(await opened.bytes()).toBeLessThan(3 * large.length);
  }
  expect(await opened.bytes()).toBe(0);
});

test("random changes, ends out of order, failures, retries and a trimmed log: each run gets the record of its event", async () => {
  const random = randomNumbers(randomSeed("shared-records"));
  const pick = <T>(items: readonly T[]): T | undefined => items[Math.floor(random() * items.length)];
  const opened = await open();
  const { database, deliveries } = opened;
  const ids = [await opened.create(large), await opened.create("small"), await opened.create("y".repeat(5_000))];
  const failed: { id: number; at: number }[] = [];
  for (let step = 0; step < 300; step++) {
    const kind = random();
    const head = pick(await opened.heads());
    if (kind < 0.5) {
      const text = pick([large, "small", "y".repeat(5_000 + step)]) ?? "";
      const values =
        random() < 0.7 ? { n: step } : random() < 0.5 ? { text } : { data: random() < 0.5 ? null : { step } };
      await Promise.all([
        opened.update(pick(ids) ?? "", values),
        random() < 0.3 ? opened.update(pick(ids) ?? "", { n: 0 }) : null,
      ]);
    } else if (kind < 0.7 && head !== undefined) {
      await check(opened, head);
      await database.transact((tx) => deliveries.remove(tx, head));
    } else if (kind < 0.8 && head !== undefined) {
      const delivery = await check(opened, head);
      await database.transact((tx) => deliveries.fail(tx, head, { at: step, error: "broken" }));
      failed.push({ id: head.id, at: delivery.event.toRow().at });
    } else if (kind < 0.9 && failed.length > 0) {
      const again = failed.splice(Math.floor(random() * failed.length), 1)[0];
      if (again !== undefined) {
        const run = { deliveryId: again.id, at: again.at };
        const head = await database.transact((tx) => deliveries.retry(tx, run, () => undefined));
        await check(opened, head);
      }
    } else if (kind > 0.97) await opened.trim();
  }
  for (const head of await opened.heads()) await check(opened, head);
});
