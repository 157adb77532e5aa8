/** Changes of large records: the part that the log keeps, and the part that listeners get. */
import { describe, expect, test } from "bun:test";
import { openApi } from "../../../test/kit.ts";
import { system } from "../../base/kernel/index.ts";
import type { LoggedEvent } from "./index.ts";

const fields = [
  { name: "n", type: "integer" },
  { name: "text", type: "text" },
  { name: "data", type: "json" },
];
const api = await openApi({ collections: [{ name: "notes", fields }], settings: { SERVICE_LIMITS_BODY: "2MiB" } });
const { records, events, database } = api.service;
const heard: LoggedEvent[] = [];
events.listen((event) => heard.push(event));
const large = "x".repeat(100_000);

/** The total bytes of the payloads of the events after a seq. */
async function bytesAfter(seq: number): Promise<number> {
  const row = database.reader.get<{ n: number }>(
    "SELECT coalesce(sum(octet_length(payload)), 0) AS n FROM _events WHERE seq > ?",
    seq,
  );
  return row?.n ?? 0;
}

async function make(values: object): Promise<string> {
  return (await records.create("notes", system, { ...values })).record.id;
}

describe("an update", () => {
  test("a changed field takes no more space than the field, whatever the size of the record, and is published whole", async () => {
    const id = await make({ n: 0, text: large, data: { list: [large] } });
    const place = events.flushedSeq;
    for (let n = 1; n <= 50; n++) await records.update("notes", system, { record: id, body: { n } });
    expect(await bytesAfter(place)).toBeLessThan(50 * 300);
    const { record } = await records.update("notes", system, { record: id, body: { n: 51 } });
    expect(heard.at(-1)?.payload).toEqual(record);
    const logged = events.at(events.flushedSeq);
    expect(logged?.isPartial).toBe(true);
    expect(logged?.payload).toEqual({ id, n: 51, updatedAt: record.updatedAt });
    expect(logged?.subject).toBe(id);
  });

  test("all fields named, a single field changed: stored as a change of that field", async () => {
    const id = await make({ n: 0, text: large, data: [large, { a: null }] });
    const place = events.flushedSeq;
    await records.update("notes", system, { record: id, body: { n: 1, text: large, data: [large, { a: null }] } });
    expect(await bytesAfter(place)).toBeLessThan(300);
    await records.update("notes", system, { record: id, body: { data: null } });
    expect(events.at(events.flushedSeq)?.payload).toMatchObject({ id, data: null });
  });

  test.each([
    ["a small record", "short", { n: 1 }],
    ["most of a large one", large, { n: 1, text: `${large}y` }],
  ])("%s is in the log as published", async (_, text, change) => {
    const id = await make({ n: 0, text });
    const { record } = await records.update("notes", system, { record: id, body: change });
    const logged = events.at(events.flushedSeq);
    expect(logged?.isPartial).toBe(false);
    expect(logged?.payload).toEqual(record);
  });

  test("is marked in the log of admins", async () => {
    const token = await api.admin();
    const id = await make({ n: 0, text: large });
    await records.update("notes", system, { record: id, body: { n: 1 } });
    const { body } = await api.request<{ items: object[] }>("GET", "/api/admin/events?type=notes.*&limit=2", { token });
    const [update, create] = body.items;
    expect(update).toMatchObject({ type: "notes.updated", partial: true, payload: { id, n: 1 } });
    expect(Object.keys(Object(update)["payload"]).sort()).toEqual(["id", "n", "updatedAt"]);
    expect(create).toMatchObject({ type: "notes.created", payload: { id, text: large } });
    expect(create).not.toHaveProperty("partial");
  });
});
