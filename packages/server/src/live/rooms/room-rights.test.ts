/** Rights in rooms: the callers that may join and send, and the end of a right. */
import { describe, expect, test } from "bun:test";
import { migrate, quietLogger, setRole } from "../../../test/kit.ts";
import { framesOf, joined, membersOf, openRooms, settled } from "../../../test/rooms.ts";
import { openServer, until } from "../../../test/sockets.ts";
import { system } from "../../base/kernel/index.ts";
import { parseDefinition } from "../../data/collections/index.ts";
import { type RoomSocket, Rooms, readRooms } from "./index.ts";

const { server, records, adminToken, ann, bob, board, seat } = await openRooms();

/** A room of ann, an admin and a member of another process, whose service never comes to look at the rights. */
interface BusyRoom {
  readonly busy: Rooms;
  readonly ann: RoomSocket;
  readonly admin: RoomSocket;
  readonly away: { tell(): void };
  readonly id: string;
}

describe("rights", () => {
  test("the rule decides; a record that does not exist and a record that is closed have the same answer", async () => {
    const id = await board(ann.user.id);
    await seat(id, bob.user.id);
    const client = await server.connect(ann.accessToken);
    const answers = [
      await client.ask({ action: "join", room: "board", key: id }),
      await client.ask({ action: "join", room: "board", key: "rec_00000000-0000-7000-8000-000000000000" }),
      await client.ask({ action: "join", room: "board", key: "x" }),
    ];
    const texts = answers.map((answer) => JSON.stringify({ ...answer, key: "" }));
    expect(new Set(texts).size).toBe(1);
    expect(answers[0]).toMatchObject({ type: "error", code: "forbidden", room: "board", key: id });
    // The read rule of the collection does not matter.
    expect(await joined(await server.connect(bob.accessToken), "board", id)).toMatchObject({ type: "joined" });
    expect(await joined(await server.connect(adminToken), "board", id)).toMatchObject({ type: "joined" });
    const admin = await server.connect(adminToken);
    expect(await admin.ask({ action: "join", room: "board", key: "x" })).toMatchObject({ code: "forbidden" });
  });

  test.each([
    ["own", "owner", [true, false, false, true]],
    ["members", "authenticated", [true, true, false, true]],
    ["lobby", "public", [true, true, true, true]],
    ["staff", "admin", [false, false, false, true]],
    ["inbox", "an expression with @key and @user.email", [true, false, false, true]],
  ] as const)("room %s: %s", async (room, _, allowed) => {
    const boss = room === "inbox" ? await server.register("boss@example.com") : null;
    const key = room === "own" ? await board(ann.user.id) : ann.user.id;
    const tokens = [ann.accessToken, bob.accessToken, undefined, adminToken];
    for (const [i, token] of tokens.entries()) {
      const answer = await (await server.connect(token)).ask({ action: "join", room, key });
      expect([i, answer.type === "joined"]).toEqual([i, allowed[i] ?? false]);
    }
    if (boss !== null) await joined(await server.connect(boss.accessToken), room, key);
  });

  test("an API key is no member", async () => {
    const { body } = await server.request("POST", "/api/auth/keys", {
      token: ann.accessToken,
      body: { name: "k", scopes: ["*:read", "*:write"] },
    });
    const client = await server.connect(String(body["key"]));
    expect(await client.ask({ action: "join", room: "lobby", key: "k" })).toMatchObject({ code: "forbidden" });
  });

  test("a rule of sending is looked at apart, and again after a change", async () => {
    const id = await board(null);
    const seatId = await seat(id, ann.user.id, false);
    await seat(id, bob.user.id);
    const [a, b] = [await server.connect(ann.accessToken), await server.connect(bob.accessToken)];
    await joined(a, "board", id);
    await joined(b, "board", id);
    const frame = { action: "send", room: "board", key: id, event: "cursor", payload: 1 };
    expect(await a.ask(frame)).toMatchObject({ type: "error", code: "forbidden", room: "board", key: id });
    await records.update("seats", system, { record: seatId, body: { speaks: true } });
    a.send(frame);
    await settled(a, b);
    expect(framesOf(b, "message")).toHaveLength(1);
    await records.update("seats", system, { record: seatId, body: { speaks: false } });
    a.send(frame);
    await settled(a, b);
    expect([framesOf(b, "message").length, framesOf(a, "error").length]).toEqual([1, 2]);
  });

  test.each<[what: string, heard: readonly string[], act: (room: BusyRoom) => void]>([
    [
      "a message",
      ["admin presence"],
      ({ busy, admin, id }) => busy.send(admin, { room: "board", key: id, event: "hi", payload: 1 }),
    ],
    [
      "a message of another process",
      ["admin message", "admin presence"],
      ({ busy, away, id }) =>
        busy.take(away, { type: "message", room: "board", key: id, from: "far", text: '{"type":"message"}' }),
    ],
    [
      "the own message",
      ["admin presence"],
      ({ busy, ann: sender, id }) => busy.send(sender, { room: "board", key: id, event: "hi", payload: 1 }),
    ],
    [
      "a state",
      ["admin presence"],
      ({ busy, admin, id }) => busy.setState(admin, { room: "board", key: id, state: { cursor: 1 } }),
    ],
  ])(
    "%s reaches no member whose right has ended, also while the rights of other rooms are looked at",
    async (_, others, act) => {
      const id = await board(null);
      const seatId = await seat(id, ann.user.id);
      const heard: string[] = [];
      const socketOf = (userId: string, role: "authenticated" | "admin"): RoomSocket => ({
        listener: { userId, role, sessionId: "s" },
        caller: userId,
        address: "",
        memberships: new Map(),
        seenAt: performance.now(),
        send: (text) => heard.push(`${role} ${JSON.parse(text).type}`),
        sendNow: () => undefined,
        waiting: () => 0,
        join: () => undefined,
        leave: () => undefined,
        publish: () => undefined,
        ping: () => undefined,
        cutOff: () => undefined,
        countChannel: () => undefined,
      });
      const { service, config } = server;
      const busy = new Rooms({
        ...service,
        config,
        logger: quietLogger(),
        emailOf: () => null,
        // The turn of the look never comes.
        turns: { take: () => new Promise(() => undefined) },
        broadcast: ({ hearing }, text, sender) => {
          for (const { socket } of hearing) if (socket !== sender) socket.send(text);
        },
        onEnd: ({ socket }) => heard.push(`${socket.listener?.role} left`),
      });
      busy.load(await readRooms(server.config.folder));
      const [a, admin] = [socketOf(ann.user.id, "authenticated"), socketOf("usr_1", "admin")];
      for (const socket of [a, admin]) busy.join(socket, { room: "board", key: id, state: null });
      const away = { tell: () => undefined };
      busy.connect(away);
      const news = { type: "presence", room: "board", key: id, changed: [], left: [] } as const;
      busy.take(away, { ...news, came: [["far", null, "{}"]] });
      await Bun.sleep(100);
      heard.length = 0;
      await records.delete("seats", system, seatId);
      act({ busy, ann: a, admin, away, id });
      await Bun.sleep(100);
      expect(heard.toSorted()).toEqual([...others, "authenticated left"]);
      busy.close();
    },
  );

  /** The end of a right: the member that has lost the right, and a member that keeps the right. */
  async function ends(room: string, key: string, end: () => Promise<unknown>): Promise<void> {
    const [a, admin] = [await server.connect(ann.accessToken), await server.connect(adminToken)];
    const { id } = await joined(a, room, key);
    await joined(admin, room, key);
    await end();
    await until(() => framesOf(a, "error").length > 0);
    expect(framesOf(a, "error")).toMatchObject([{ code: "forbidden", room, key }]);
    await until(() => framesOf(admin, "presence").some(({ left }) => left?.includes(id) === true));
    admin.send({ action: "send", room, key, event: "hi", payload: 1 });
    await settled(a, admin);
    expect(framesOf(a, "message")).toEqual([]);
    expect(framesOf(admin, "error")).toEqual([]);
    expect(await a.ask({ action: "state", room, key, state: {} })).toMatchObject({ code: "forbidden" });
  }

  test("a change of the record ends the right", async () => {
    const id = await board(null, { isOpen: true });
    await ends("open", id, () => records.update("boards", system, { record: id, body: { isOpen: false } }));
  });

  test("a record that the caller may not read is as absent, and the end of the right to read ends the membership", async () => {
    const hidden = await board(null, { isOpen: true, isHidden: true });
    const client = await server.connect(ann.accessToken);
    expect(joined(client, "open", hidden)).rejects.toThrow("You may not join this room.");
    const id = await board(null, { isOpen: true });
    await ends("open", id, () => records.update("boards", system, { record: id, body: { isHidden: true } }));
  });

  test("a change of another record of the read rule ends the right", async () => {
    const { record: file } = await records.create("files", system, { title: "x" });
    const { record: grant } = await records.create("grants", system, { file: file.id, user: ann.user.id });
    await ends("file", file.id, () => records.delete("grants", system, grant.id));
  });

  test("a change of another record of the rule ends the right", async () => {
    const id = await board(null);
    const seatId = await seat(id, ann.user.id);
    await ends("board", id, () => records.delete("seats", system, seatId));
  });

  test("the time ends the right", async () => {
    const id = await board(null, { until: new Date(Date.now() + 1_500).toISOString() });
    await ends("soon", id, () => Bun.sleep(1_000));
  });

  test("the deletion of the record ends all memberships, also of an admin", async () => {
    const id = await board(null, { isOpen: true });
    const [a, admin] = [await server.connect(ann.accessToken), await server.connect(adminToken)];
    await joined(a, "open", id);
    await joined(admin, "open", id);
    await records.delete("boards", system, id);
    await until(() => framesOf(a, "error").length > 0 && framesOf(admin, "error").length > 0);
    expect(await admin.ask({ action: "join", room: "open", key: id })).toMatchObject({ code: "forbidden" });
  });

  test("a change of the role of the user ends the right, and a session that ends closes the socket", async () => {
    const cara = await server.register("cara@example.com");
    await setRole(server.service, cara.user.id, "admin");
    const { accessToken } = await server.login("cara@example.com");
    const [c, admin] = [await server.connect(accessToken), await server.connect(adminToken)];
    const { id } = await joined(c, "staff", "k");
    await joined(admin, "staff", "k");
    await setRole(server.service, cara.user.id, "authenticated");
    await until(() => framesOf(c, "error").length > 0);
    expect(framesOf(c, "error")).toMatchObject([{ code: "forbidden", room: "staff", key: "k" }]);
    await until(() => membersOf(admin, "staff").length === 1);
    const lobby = await server.connect(cara.accessToken);
    await joined(admin, "lobby", "cara");
    await joined(lobby, "lobby", "cara");
    await until(() => membersOf(admin, "lobby").length === 2);
    await server.request("POST", "/api/auth/logout", { token: cara.accessToken });
    await until(() => lobby.closed !== null && membersOf(admin, "lobby").length === 1);
    expect(lobby.closed?.code).toBe(4401);
    expect(id).not.toBe("");
  });

  test("a migration that breaks a rule closes the room", async () => {
    const other = await openServer({
      collections: [{ name: "docs", fields: [{ name: "isOpen", type: "boolean" }] }],
      rooms: { doc: { key: { collection: "docs" }, join: "isOpen = true" } },
    });
    const { record } = await other.service.records.create("docs", system, { isOpen: true });
    const client = await other.connect();
    await joined(client, "doc", record.id);
    const definition = parseDefinition({ name: "docs", fields: [{ name: "title", type: "string" }] });
    await migrate(other.service, { define: [definition], drop: [] });
    await until(() => framesOf(client, "error").length > 0);
    expect(framesOf(client, "error")).toMatchObject([{ code: "forbidden", room: "doc" }]);
    expect(await client.ask({ action: "join", room: "doc", key: record.id })).toMatchObject({ code: "forbidden" });
    expect(other.log.filter((line) => line.startsWith("ERROR The room is closed"))).toHaveLength(1);
  });
});
