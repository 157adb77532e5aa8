/** Reversals: after random changes, each change is taken back, newest first, and all records are as before; or the change is left, with the reason. */
import { describe, expect, test } from "bun:test";
import type { StoredRecord } from "@socle/protocol";
import { fileForm, formType } from "../../../test/forms.ts";
import { openApi } from "../../../test/kit.ts";
import { isLong } from "../../../test/long.ts";
import { randomNumbers, randomSeed } from "../../../test/random.ts";
import { system } from "../../base/kernel/index.ts";
import type { LoggedEvent } from "../../store/events/index.ts";
import type { Reversed } from "./reversals.ts";

const relation = (onDelete?: string): object => ({
  type: "relation",
  collection: "teams",
  ...(onDelete !== undefined && { onDelete }),
});
const api = await openApi({
  collections: [
    { name: "teams", fields: [{ name: "name", type: "string" }] },
    {
      name: "tasks",
      fields: [
        { name: "title", type: "string", unique: true },
        { name: "tags", type: "string", multiple: true },
        { name: "team", ...relation("clear") },
        { name: "boss", ...relation("cascade") },
        { name: "former", ...relation() },
        { name: "number", type: "integer", sequence: ["team"] },
        { name: "data", type: "json" },
        { name: "files", type: "file", multiple: true },
        { name: "cover", type: "file" },
      ],
      permissions: { create: "authenticated", update: 'title != "closed"', read: "team.name != null || title != null" },
    },
  ],
});
const { records, events, database } = api.service;
const owner = (await api.register("ann@example.com")).user.id;
const as = { ...system, userId: owner };
const token = await api.admin();

/** All records with their owners, without the time of the last change and the place in the table. */
function state(): unknown {
  return ["teams", "tasks"].map((name) =>
    database.reader
      .all<StoredRecord>(`SELECT * FROM "${name}" ORDER BY id`)
      .map(({ updatedAt: _, _seq: __, ...record }) => record),
  );
}

function take(...changes: readonly (LoggedEvent | null)[]): Promise<Reversed[]> {
  return database.transact((tx) =>
    changes.map((event) => {
      if (event === null) throw new Error("The log has no such event");
      return records.reversals.take(tx, system, { event, later: { holds: () => false, bringBack: () => false } });
    }),
  );
}

/** The changes after a position, newest first. */
function changesAfter(seq: number): (LoggedEvent | null)[] {
  const length = events.committedSeq - seq;
  return Array.from({ length }, (_, i) => events.at(events.committedSeq - i));
}

async function made(collection: string, body: object): Promise<string> {
  return (await records.create(collection, as, { ...body })).record.id;
}

const change = (id: string, body: object) => records.update("tasks", system, { record: id, body: { ...body } });
const done = { isDone: true, reason: null };

test("random changes that are taken back leave each record as before, with owner, numbers and relations", async () => {
  const random = randomNumbers(randomSeed("reversals"));
  const pick = <T>(of: readonly T[]): T | undefined => of[Math.floor(random() * of.length)];
  const idsOf = (name: string): string[] =>
    database.reader.all<{ id: string }>(`SELECT id FROM "${name}"`).map(({ id }) => id);
  for (let n = 0; n < 3; n++) await made("teams", { name: `team ${n}` });
  let titles = 0;
  for (let round = 0; round < (isLong ? 40 : 15); round++) {
    const start = events.committedSeq;
    const before = state();
    for (let i = 0; i < 12; i++) {
      const [team, task] = [pick(idsOf("teams")), pick(idsOf("tasks"))];
      const body = {
        title: `task ${titles++}`,
        tags: pick([["a"], ["a", "b"], [], null]),
        team: pick([team, null]) ?? null,
        boss: pick([team, null, null]) ?? null,
        former: pick([team, null]) ?? null,
        data: pick([{ a: [1] }, null, "text", 5]),
      };
      const kind = random();
      if (kind < 0.35 || task === undefined) await made("tasks", body);
      else if (kind < 0.7) await change(task, Object.fromEntries(Object.entries(body).filter(() => random() < 0.4)));
      else if (kind < 0.8) await records.delete("tasks", system, task);
      else if (kind < 0.9 || team === undefined) await made("teams", { name: `team ${titles}` });
      else await records.delete("teams", system, team);
    }
    const [changes, after, reversed] = [changesAfter(start), state(), events.committedSeq];
    expect(await take(...changes)).toEqual(changes.map(() => done));
    expect(state()).toEqual(before);
    // The reversals are changes, too, and are taken back like others.
    const [back, again] = [changesAfter(reversed), events.committedSeq];
    expect((await take(...back)).filter(({ isDone }) => !isDone)).toEqual([]);
    expect(state()).toEqual(after);
    expect((await take(...changesAfter(again))).filter(({ isDone }) => !isDone)).toEqual([]);
    expect(state()).toEqual(before);
  }
});

test("a change whose record was changed since is left, field by field", async () => {
  const id = await made("tasks", { title: "one", data: 1 });
  const creation = events.at(events.committedSeq);
  await change(id, { title: "two" });
  const update = events.at(events.committedSeq);
  await change(id, { data: 2 });
  // Another field was changed since: the title comes back alone.
  expect(await take(update)).toEqual([done]);
  expect(records.get(records.collection("tasks"), system, id)).toMatchObject({ title: "one", data: 2 });
  expect(await take(update)).toEqual([{ isDone: false, reason: "title was changed since" }]);
  expect(await take(creation)).toEqual([{ isDone: false, reason: "data was changed since" }]);
  await records.delete("tasks", system, id);
  expect(await take(creation, update)).toEqual([
    { isDone: false, reason: "the record was deleted since" },
    { isDone: false, reason: "the record was deleted since" },
  ]);
});

test("a unique value that is taken, a target that is gone, and records that point to the record: each is left with the reason", async () => {
  const team = await made("teams", { name: "gone" });
  const creation = events.at(events.committedSeq);
  const id = await made("tasks", { title: "taken", boss: team });
  expect(await take(creation)).toEqual([{ isDone: false, reason: "other records point to the record" }]);
  await records.delete("tasks", system, id);
  const deletion = events.at(events.committedSeq);
  const other = await made("tasks", { title: "taken" });
  expect(await take(deletion)).toEqual([{ isDone: false, reason: expect.stringContaining("title") }]);
  await records.delete("tasks", system, other);
  await records.delete("teams", system, team);
  const before = state();
  expect(await take(deletion)).toEqual([{ isDone: false, reason: `boss names a record that is gone: ${team}` }]);
  expect(state()).toEqual(before);
  expect(await take(events.at(events.committedSeq), deletion)).toEqual([done, done]);
  expect(await take(deletion)).toEqual([{ isDone: false, reason: "a record with the id exists" }]);
});

test("a record that goes back to another counter takes its number back, also if both numbers are equal", async () => {
  const [one, other] = [await made("teams", { name: "one" }), await made("teams", { name: "other" })];
  const id = await made("tasks", { title: "numbered", team: one });
  await change(id, { team: other });
  const move = events.at(events.committedSeq);
  await made("tasks", { title: "the second of the first team", team: one });
  expect(await take(move)).toEqual([done]);
  expect(records.get(records.collection("tasks"), system, id)).toMatchObject({ team: one, number: 1 });
});

test("a record that comes back has a version after that of the deleted record", async () => {
  const id = await made("tasks", { title: "first version" });
  await change(id, { title: "last version" });
  const before = records.get(records.collection("tasks"), system, id).updatedAt;
  await records.delete("tasks", system, id);
  expect(await take(events.at(events.committedSeq))).toEqual([done]);
  const { createdAt, updatedAt } = records.get(records.collection("tasks"), system, id);
  expect(updatedAt > before).toBe(true);
  expect(createdAt < before).toBe(true);
  expect(events.at(events.committedSeq)?.payload).toMatchObject({ createdAt, updatedAt });
});

test("a record comes back without a file that is gone, and the reason names the file", async () => {
  const upload = async (text: string): Promise<string> => {
    const headers = { "Content-Type": formType };
    const answer = await api.request("POST", "/api/storage/upload", { body: fileForm(text), headers, token });
    expect(answer.status).toBe(201);
    return String(answer.body["id"]);
  };
  const [kept, gone] = [await upload("kept"), await upload("gone")];
  const id = await made("tasks", { title: "with files", files: [gone, kept], cover: gone });
  await records.delete("tasks", system, id);
  const deletion = events.at(events.committedSeq);
  expect((await api.request("DELETE", `/api/storage/${gone}`, { token })).status).toBe(204);
  expect(await take(deletion)).toEqual([{ isDone: true, reason: `without files that are gone: ${gone}` }]);
  expect(records.get(records.collection("tasks"), system, id)).toMatchObject({ files: [kept], cover: null });
});

describe("after a rename", () => {
  /** Puts the definition of a collection; a definition with another name renames the collection. */
  async function define(name: string, fields: readonly object[], now = name): Promise<void> {
    const body = { name: now, fields, ...(now !== name && { renamedFrom: name }) };
    const { status, body: answer } = await api.request("PUT", `/api/admin/collections/${name}?confirm=true`, {
      body,
      token,
    });
    expect([status, answer["error"]]).toEqual([200, undefined as never]);
  }
  async function madeNote(collection: string, body: object): Promise<[id: string, creation: LoggedEvent | null]> {
    const id = await made(collection, body);
    return [id, events.at(events.committedSeq)];
  }
  const exists = (name: string, id: string): boolean =>
    database.reader.get(`SELECT 1 FROM "${name}" WHERE id = ?`, id) !== null;

  test("a creation is taken back if the record is as made, and left if a renamed or new field may have changed", async () => {
    const title = { name: "title", type: "string" };
    const created = await api.request("POST", "/api/admin/collections", {
      body: { name: "notes", fields: [title] },
      token,
    });
    expect(created.status).toBe(201);
    const [untouched, first] = await madeNote("notes", { title: "as made" });
    const [changed, second] = await madeNote("notes", { title: "before" });
    await Bun.sleep(2);
    await records.update("notes", system, { record: changed, body: { title: "after" } });
    const [withNew, third] = await madeNote("notes", {});
    await define("notes", [
      { name: "heading", type: "string", renamedFrom: "title" },
      { name: "rank", type: "integer", default: 3 },
    ]);
    await Bun.sleep(2);
    await records.update("notes", system, { record: withNew, body: { rank: 5 } });
    expect(await take(first, second, third)).toEqual([
      done,
      { isDone: false, reason: "heading is newer than the record, or had another name" },
      { isDone: false, reason: "rank is newer than the record, or had another name" },
    ]);
    expect([untouched, changed, withNew].map((id) => exists("notes", id))).toEqual([false, true, true]);
  });

  test("the events of a collection that goes back to its former name, and of each collection that had a name, are found", async () => {
    const fields = [{ name: "heading", type: "string" }];
    const [one, ofNotes] = await madeNote("notes", { heading: "under the first name" });
    await define("notes", fields, "papers");
    const [two, ofPapers] = await madeNote("papers", { heading: "under the second name" });
    await api.request("POST", "/api/admin/collections", { body: { name: "notes", fields }, token });
    const [three, ofNew] = await madeNote("notes", { heading: "of a new collection with the first name" });
    await define("notes", fields, "others");
    await define("papers", fields, "notes");
    expect([exists("notes", one), exists("notes", two), exists("others", three)]).toEqual([true, true, true]);
    expect(await take(ofNew, ofPapers, ofNotes)).toEqual([done, done, done]);
    expect([exists("notes", one), exists("notes", two), exists("others", three)]).toEqual([false, false, false]);
  });

  test("a change whose values were erased from the log is left", async () => {
    const [id, creation] = await madeNote("notes", { heading: "erased" });
    expect((await api.request("DELETE", `/api/notes/${id}/history`, { token })).status).toBe(204);
    expect(await take(events.at(creation?.seq ?? 0))).toEqual([
      { isDone: false, reason: "the values were erased from the log" },
    ]);
    expect(exists("notes", id)).toBe(true);
  });
});
