/** The readers of a record among the listeners: one statement for all listeners gives the same result as a statement for each. */
import { afterAll, expect, test } from "bun:test";
import { openApi } from "../../../test/kit.ts";
import { system } from "../../base/kernel/index.ts";
import { parseSubscriptionFilter } from "../../data/queries/index.ts";
import { recordTableOf } from "../../data/records/index.ts";
import { nameOf } from "./audience.ts";
import { Readers } from "./reader-table.ts";

const relation = (name: string, collection: string): object => ({ name, type: "relation", collection });
const members = [
  relation("team", "teams"),
  relation("user", "users"),
  { ...relation("users", "users"), multiple: true },
  { name: "data", type: "json" },
];
const { service, register } = await openApi({
  collections: [
    { name: "teams", fields: [] },
    { name: "members", fields: members },
  ],
});
const readers = new Readers({ database: service.database, users: "_users", deleted: () => [] });
afterAll(() => readers.close());
const [first, second] = [await register("first@x.org"), await register("second@x.org")].map(
  ({ user }) => ({ userId: user.id, role: "authenticated", sessionId: "ses_1" }) as const,
);
const listeners = [first, second].flatMap((listener) => listener ?? []);
for (const listener of listeners) readers.everybody.add(listener);
const id = first?.userId ?? "";

test.each([
  ["members(team).user = @user.id", { user: id }],
  ["members(team).users = @user.id", { users: [id] }],
  ["members(team).data = @user.id", { data: id }],
  ["members(team)[@user.id = data]", { data: id }],
  ["members(team).data.id = @user.id", { data: { id } }],
  ["members(team).data[*] = @user.id", { data: ["usr_3", id] }],
])("%s", async (condition, membership) => {
  const { record } = await service.records.create("teams", system, {});
  await service.records.create("members", system, { team: record.id, ...membership });
  const { collections } = service;
  const teams = service.records.collection("teams");
  const expression = parseSubscriptionFilter({ collections, collection: teams }, system, condition);
  const asked = { condition: { table: recordTableOf(teams), expression }, state: { record, owner: null } };
  const readersOf = [...listeners, readers.everybody].map((among) => ({ ...asked, among }));
  const minute = 60_000;
  const found = listeners.slice(0, 1).map(nameOf);
  expect(readersOf.map((question) => [...readers.ask(question, minute)])).toEqual([found, [], found]);
  // A thread says the same.
  const use = { caller: "test", limitMs: minute, charge: () => undefined };
  expect((await readers.askOnThread(readersOf, use)).map((names) => [...names])).toEqual([found, [], found]);
});
