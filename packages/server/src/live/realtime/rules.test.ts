/** Realtime under rules that are expressions: an event reaches the users who may read its record, live and in a replay. */
import { describe, expect, test } from "bun:test";
import { setRole } from "../../../test/kit.ts";
import { openServer, type TestSocket, until } from "../../../test/sockets.ts";
import { system } from "../../base/kernel/index.ts";

const relation = (name: string, collection: string): object => ({ name, type: "relation", collection });
const member = 'team.members(team)[user = @user.id && state != "left"]';

async function open() {
  const server = await openServer({
    collections: [
      { name: "teams", fields: [{ name: "name", type: "string" }] },
      {
        name: "members",
        fields: [relation("team", "teams"), relation("user", "users"), { name: "state", type: "string" }],
      },
      {
        name: "notes",
        fields: [
          { name: "text", type: "string" },
          { name: "isOpen", type: "boolean" },
          relation("team", "teams"),
          { ...relation("by", "users"), owner: true },
        ],
        permissions: { read: `isOpen = true || by = @user.id || ${member}`, create: "authenticated" },
      },
      { name: "end", fields: [{ name: "n", type: "integer" }] },
    ],
  });
  const { records, events } = server.service;
  const make = async (name: string, values: object): Promise<string> =>
    (await records.create(name, system, { ...values })).record.id;
  const [ann, bob] = [await server.register("ann@example.com"), await server.register("bob@example.com")];
  const [red, blue] = [await make("teams", { name: "red" }), await make("teams", { name: "blue" })];
  const membership = await make("members", { team: red, user: ann.user.id });
  await make("members", { team: blue, user: bob.user.id });
  // No member any more: nothing is told by this.
  await make("members", { team: red, user: bob.user.id, state: "left" });
  const place = async (): Promise<string> => (await events.at(events.flushedSeq))?.id ?? "";
  return { server, records, make, ann, bob, red, blue, membership, place };
}

type Heard = (readonly [type: string, payload: unknown])[];

/** The events that a socket has heard of notes, once everything before the end has come. */
async function heard(world: Awaited<ReturnType<typeof open>>, socket: TestSocket): Promise<Heard> {
  await world.make("end", { n: 1 });
  for (let left = 500; left > 0; left--) {
    const events = await socket.events();
    if (events.some(({ type }) => type === "end.created")) break;
    await Bun.sleep(10);
  }
  return (await socket.events())
    .filter(({ type }) => type.startsWith("notes."))
    .map(({ type, payload }) => [type.slice("notes.".length), (payload as { text?: string }).text ?? payload] as const);
}

async function listen(world: Awaited<ReturnType<typeof open>>, token?: string, since?: string): Promise<TestSocket> {
  const socket = await world.server.connect(token);
  for (const channel of ["notes.*", "end.created"])
    socket.send({ action: "subscribe", channel, ...(since !== undefined && { since }) });
  for (let left = 500; left > 0 && socket.frames.filter(({ type }) => type === "subscribed").length < 2; left--)
    await Bun.sleep(10);
  return socket;
}

/** A note that is made by the red team, opened, closed, moved to the blue team, renamed and deleted. */
async function story({ records, make, red, blue }: Awaited<ReturnType<typeof open>>): Promise<string> {
  const id = await make("notes", { text: "made", team: red });
  for (const values of [
    { text: "opened", isOpen: true },
    { text: "closed", isOpen: false },
    { text: "moved", team: blue },
    { text: "renamed" },
  ])
    await records.update("notes", system, { record: id, body: values });
  await records.delete("notes", system, id);
  return id;
}

describe("a change that moves a record in or out of a listener's sight", () => {
  test("is sent live as created or deleted, and to others not at all", async () => {
    const world = await open();
    const sockets = [
      await listen(world, world.ann.accessToken),
      await listen(world, world.bob.accessToken),
      await listen(world),
    ];
    const root = await listen(world, await world.server.admin());
    const id = await story(world);
    const [ann, bob, nobody] = [
      await heard(world, sockets[0] as TestSocket),
      await heard(world, sockets[1] as TestSocket),
      await heard(world, sockets[2] as TestSocket),
    ];
    const gone = ["deleted", { id }] as const;
    expect(ann).toEqual([["created", "made"], ["updated", "opened"], ["updated", "closed"], gone]);
    expect(bob).toEqual([["created", "opened"], gone, ["created", "moved"], ["updated", "renamed"], gone]);
    expect(nobody).toEqual([["created", "opened"], gone]);
    expect((await heard(world, root)).map(([type]) => type)).toEqual([
      "created",
      "updated",
      "updated",
      "updated",
      "updated",
      "deleted",
    ]);
  });

  test("is sent in a replay by the present record and the former log", async () => {
    const world = await open();
    const since = await world.place();
    await story(world);
    const kept = await world.make("notes", { text: "kept", team: world.red });
    await world.records.update("notes", system, { record: kept, body: { text: "taken", team: world.blue } });
    await world.records.update("notes", system, { record: kept, body: { text: "last" } });
    const [ann, bob] = [
      await listen(world, world.ann.accessToken, since),
      await listen(world, world.bob.accessToken, since),
    ];
    const nobody = await listen(world, undefined, since);
    // The first note is gone: its last readers hear the deletion. The second note was Ann's, and now is Bob's.
    expect((await heard(world, ann)).at(-1)).toEqual(["deleted", { id: kept }]);
    expect((await heard(world, ann)).map(([type]) => type)).not.toContain("created");
    expect((await heard(world, bob)).slice(-2)).toEqual([
      ["created", "taken"],
      ["updated", "last"],
    ]);
    // Bob may read the second note, but not the text from before it was Bob's.
    expect((await heard(world, bob)).map(([, text]) => text)).not.toContain("kept");
    expect((await heard(world, nobody)).every(([type]) => type === "deleted")).toBe(true);
  });
});

test("a membership counts as of the moment of sending", async () => {
  const world = await open();
  const ann = await listen(world, world.ann.accessToken);
  await world.make("notes", { text: "before", team: world.red });
  await until(() => ann.frames.some(({ type }) => type === "event"));
  await world.records.delete("members", system, world.membership);
  await world.make("notes", { text: "after", team: world.red });
  expect(await heard(world, ann)).toEqual([["created", "before"]]);
});

test("a role that changes while the socket is open counts at once", async () => {
  const world = await open();
  await world.server.admin();
  const ann = await listen(world, world.ann.accessToken);
  await setRole(world.server.service, world.ann.user.id, "admin");
  await world.make("notes", { text: "for admins", team: world.blue });
  await setRole(world.server.service, world.ann.user.id, "authenticated");
  await world.make("notes", { text: "not any more", team: world.blue });
  await world.make("notes", { text: "as a member", team: world.red });
  expect(await heard(world, ann)).toEqual([
    ["created", "for admins"],
    ["created", "as a member"],
  ]);
});

test("a rule that becomes a word, or an expression, leaves a gap for callers without the former right", async () => {
  const world = await open();
  const since = await world.place();
  await world.make("notes", { text: "secret", team: world.blue });
  const token = await world.server.admin();
  const define = async (read: string): Promise<void> => {
    const answer = await world.server.request("PUT", "/api/admin/collections/notes", {
      token,
      body: { permissions: { read } },
    });
    expect(answer.status).toBe(200);
  };
  await define("public");
  const ann = await world.server.connect(world.ann.accessToken);
  ann.send({ action: "subscribe", channel: "notes.*", since });
  for (let left = 500; left > 0 && ann.frames.length === 0; left--) await Bun.sleep(10);
  expect(ann.frames[0]).toMatchObject({ type: "error", code: "resume_gap" });
});
