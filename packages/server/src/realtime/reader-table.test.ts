/** The readers of a record among the listeners: one statement for all of them says the same as one for each. */
import { afterAll, expect, test } from "bun:test";
import { openApi } from "../../test/kit.ts";
import { system } from "../kernel/index.ts";
import { parseSubscriptionFilter } from "../queries/index.ts";
import { recordTableOf } from "../records/index.ts";
import { nameOf, Readers } from "./reader-table.ts";

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
const readers = new Readers({ open: (onProbe) => service.database.openScratch(onProbe), users: "_users" });
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
  const asked = { table: recordTableOf(teams), expression, isBounded: false };
  const state = { record, owner: null };
  expect(listeners.filter((listener) => readers.holds(asked, state, listener))).toEqual(listeners.slice(0, 1));
  expect([...readers.of(readers.everybody, asked, state)]).toEqual(listeners.slice(0, 1).map(nameOf));
});
