/** Realtime under rules of fields: each listener hears the readable fields of a record, live and in a replay. */
import { expect, test } from "bun:test";
import type { ServerFrame } from "@socle/protocol";
import { openServer, type TestSocket, until } from "../../../test/sockets.ts";
import { system } from "../../base/kernel/index.ts";

const relation = (name: string, collection: string): object => ({ name, type: "relation", collection });
const fields = [
  { name: "text", type: "string" },
  { name: "secret", type: "string", permissions: { read: "admin" } },
  { name: "own", type: "string", permissions: { read: "owner" } },
  { name: "inside", type: "string", permissions: { read: "team.members(team)[user = @user.id]" } },
  { name: "draft", type: "string", permissions: { read: 'text != "draft"' } },
  { name: "long", type: "text" },
  relation("team", "teams"),
];

async function open(read: string) {
  const server = await openServer({
    collections: [
      { name: "teams", fields: [{ name: "name", type: "string" }] },
      { name: "members", fields: [relation("team", "teams"), relation("user", "users")] },
      { name: "notes", fields, permissions: { read, create: "authenticated" } },
      { name: "end", fields: [{ name: "n", type: "integer" }] },
    ],
  });
  const { records, events } = server.service;
  const make = async (name: string, values: object): Promise<string> =>
    (await records.create(name, system, { ...values })).record.id;
  const [ann, bob] = [await server.register("ann@example.com"), await server.register("bob@example.com")];
  const team = await make("teams", { name: "red" });
  const membership = await make("members", { team, user: ann.user.id });
  const admin = await server.admin();
  const since = (await events.at(events.flushedSeq))?.id ?? "";
  const tokens = { nobody: undefined, ann: ann.accessToken, bob: bob.accessToken, admin };
  return { server, records, make, ann, bob, team, membership, tokens, since };
}
type World = Awaited<ReturnType<typeof open>>;

async function listen({ server }: World, token?: string, since?: string): Promise<TestSocket> {
  const socket = await server.connect(token);
  for (const channel of ["notes.*", "end.created"])
    socket.send({ action: "subscribe", channel, ...(since !== undefined && { since }) });
  await until(() => socket.frames.filter(({ type }) => type === "subscribed").length === 2);
  return socket;
}

/**
 * Each event of notes as its type and the names of the fields with a value. On a busy machine a thread decides the rule, and the event of another
 * collection may come first.
 */
async function heard(world: World, socket: TestSocket, count: number): Promise<string[]> {
  const notes = (frame: ServerFrame) => frame.type === "event" && frame.event.type.startsWith("notes.");
  await until(() => socket.frames.filter(notes).length >= count);
  await world.make("end", { n: 1 });
  await until(() => socket.frames.some((frame) => frame.type === "event" && frame.event.type === "end.created"));
  return (await socket.events())
    .filter(({ type }) => type.startsWith("notes."))
    .map(({ type, payload }) => {
      const names = ["secret", "own", "inside", "draft"].filter((name) => Object.hasOwn(payload, name));
      return `${type.slice("notes.".length)} ${(payload as { text?: string }).text ?? "-"} ${names.join()}`.trim();
    });
}

async function story({ server, records, team, ann, bob }: World): Promise<void> {
  const body = { text: "made", secret: "s", own: "o", inside: "i", draft: "d", team };
  const principal = (userId: string) => ({ ...system, userId });
  const { record } = await records.create("notes", principal(bob.user.id), { ...body });
  await records.update("notes", system, { record: record.id, body: { text: "draft", secret: "t" } });
  await records.update("notes", system, { record: record.id, body: { text: "last", secret: "u", own: "p" } });
  const gone = await records.create("notes", principal(ann.user.id), { ...body, text: "gone" });
  await records.delete("notes", system, gone.record.id);
  expect(server.log.filter((line) => line.startsWith("ERROR"))).toEqual([]);
}

const texts = ["created made", "updated draft", "updated last", "created gone", "deleted -"];
/** The fields that each caller hears with each of the texts. */
const live = {
  nobody: ["draft", "", "draft", "draft", ""],
  ann: ["inside,draft", "inside", "inside,draft", "own,inside,draft", ""],
  bob: ["own,draft", "own", "own,draft", "draft", ""],
  admin: [
    "secret,own,inside,draft",
    "secret,own,inside,draft",
    "secret,own,inside,draft",
    "secret,own,inside,draft",
    "",
  ],
} as const;
const callers = ["nobody", "ann", "bob", "admin"] as const;
const expected = (caller: (typeof callers)[number], left: readonly number[]): string[] =>
  left.map((i) => `${texts[i]} ${live[caller][i]}`.trim());

test.each(["public", "text != null"])("read: %s; live, then replayed", async (read) => {
  const world = await open(read);
  const sockets = await Promise.all(callers.map((caller) => listen(world, world.tokens[caller])));
  await story(world);
  for (const [i, caller] of callers.entries())
    expect([caller, ...(await heard(world, sockets[i] as TestSocket, 5))]).toEqual([
      caller,
      ...expected(caller, [0, 1, 2, 3, 4]),
    ]);
  for (const caller of callers) {
    const socket = await listen(world, world.tokens[caller], world.since);
    // A deleted record brings only its deletion.
    expect([caller, ...(await heard(world, socket, 4))]).toEqual([caller, ...expected(caller, [0, 1, 2, 4])]);
  }
});

test("a field that was opened has its present value in a replay, not former values", async () => {
  const world = await open("public");
  await story(world);
  const opened = fields.map((field) => ("permissions" in field ? { ...field, permissions: null } : field));
  const answer = await world.server.request("PUT", "/api/admin/collections/notes", {
    token: world.tokens.admin,
    body: { fields: opened },
  });
  expect(answer.status).toBe(200);
  const socket = await listen(world, undefined, world.since);
  const last = `last secret,own,inside,draft`;
  expect(await heard(world, socket, 4)).toEqual([`created ${last}`, `updated ${last}`, `updated ${last}`, "deleted -"]);
  expect(JSON.stringify(socket.frames)).not.toMatch(/"secret":"[st]"|"own":"o"/);
});

test("an update of a large record, of which the log stores only the changes, is replayed without hidden fields", async () => {
  const world = await open("public");
  const id = await world.make("notes", { text: "large", long: "x".repeat(9_000), secret: "s" });
  await world.records.update("notes", system, { record: id, body: { secret: "t", own: "o" } });
  const socket = await listen(world, world.tokens.bob, world.since);
  expect(await heard(world, socket, 2)).toEqual(["created large draft", "updated large draft"]);
});

test("a membership that is removed hides the field from the next event on", async () => {
  const world = await open("public");
  const socket = await listen(world, world.tokens.ann);
  const id = await world.make("notes", { text: "one", inside: "i", team: world.team });
  await world.records.delete("members", system, world.membership);
  await world.records.update("notes", system, { record: id, body: { text: "two", inside: "j" } });
  expect(await heard(world, socket, 2)).toEqual(["created one inside,draft", "updated two draft"]);
  // In a replay the rights of this moment hold.
  const later = await listen(world, world.tokens.ann, world.since);
  expect(await heard(world, later, 2)).toEqual(["created one draft", "updated two draft"]);
});
