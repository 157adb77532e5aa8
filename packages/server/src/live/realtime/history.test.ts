/** Replays after the data, the fields or the rules have changed: nothing comes that could not be read now, or then. */
import { describe, expect, spyOn, test } from "bun:test";
import type { Event } from "@socle/protocol";
import { migrate, setRole } from "../../../test/kit.ts";
import { openServer, type TestSocket, until } from "../../../test/sockets.ts";
import { type Bearer, system } from "../../base/kernel/index.ts";
import { parseDefinition } from "../../data/collections/index.ts";
import { SocketConnection } from "./connection.ts";

const text = { name: "text", type: "text" };
const secret = { name: "secret", type: "string" };
const settings = { SERVICE_LIMITS_BODY: "2MiB" };

async function open(permissions: object = {}, folder?: string) {
  const server = await openServer({
    settings,
    collections: [
      { name: "notes", fields: [text, secret], permissions },
      { name: "end", fields: [text] },
    ],
    ...(folder !== undefined && { folder }),
  });
  const { records, events } = server.service;
  const redefine = async (definition: object) => {
    const parsed = parseDefinition({ name: "notes", fields: [text, secret], permissions, ...definition });
    await migrate(server.service, { define: [parsed], drop: [] });
  };
  return {
    server,
    create: async (values: object, principal: Bearer | typeof system = system) =>
      (await records.create("notes", principal, { ...values })).record.id,
    update: (id: string, values: object) => records.update("notes", system, { record: id, body: { ...values } }),
    remove: (id: string) => records.delete("notes", system, id),
    redefine,
    place: async () => (await events.at(events.flushedSeq))?.id ?? "",
  };
}

type Opened = Awaited<ReturnType<typeof open>>;

/** The events of a replay. The replay is over at the arrival of a later event. */
async function replay({ server }: Opened, since: string, token?: string): Promise<Event[]> {
  const client = await server.connect(token);
  await client.subscribe("notes.*", since);
  return through(server, client);
}

async function through(server: Opened["server"], client: TestSocket): Promise<Event[]> {
  const start = server.service.events.flushedSeq;
  await client.subscribe("end.created", (await server.service.events.at(start))?.id ?? "");
  await server.service.records.create("end", system, { text: "" });
  const isEnd = (frame: TestSocket["frames"][number]) => frame.type === "event" && frame.event.type === "end.created";
  await until(() => client.frames.some(isEnd));
  return (await client.events()).filter(({ type }) => type !== "end.created");
}

const shown = (events: readonly Event[]) => events.map(({ type, payload }) => `${type} ${payload["text"] ?? ""}`);

describe("deleted records", () => {
  test("are replayed as deleted, without their values", async () => {
    const opened = await open();
    const since = await opened.place();
    const gone = await opened.create({ text: "gone", secret: "s3cret" });
    await opened.update(gone, { text: "changed" });
    await opened.create({ text: "stays" });
    await opened.remove(gone);
    for (const token of [undefined, await opened.server.admin()]) {
      const events = await replay(opened, since, token);
      expect(shown(events)).toEqual(["notes.created stays", "notes.deleted "]);
      expect(events[1]?.payload).toEqual({ id: gone });
      expect(JSON.stringify(events)).not.toContain("s3cret");
    }
  });
});

describe("fields that changed", () => {
  test.each([
    ["dropped", { fields: [text] }],
    ["renamed", { fields: [text, { name: "open", type: "string", renamedFrom: "secret" }] }],
  ])("a field that was %s is left out of the replay, and the rest is the present record", async (_, definition) => {
    const opened = await open();
    const since = await opened.place();
    const id = await opened.create({ text: "a", secret: "old" });
    await opened.update(id, { secret: "s3cret" });
    await opened.redefine(definition);
    await opened.update(id, { text: "b" });
    const events = await replay(opened, since);
    const { body } = await opened.server.request("GET", `/api/notes/${id}`);
    expect(events.map(({ type, payload }) => [type, payload])).toEqual([
      ["notes.created", body],
      ["notes.updated", body],
      ["notes.updated", body],
    ] as never);
    expect(JSON.stringify(events)).not.toContain('"secret"');
  });

  test("a field that was dropped and made again does not return with its former value", async () => {
    const opened = await open();
    const since = await opened.place();
    const id = await opened.create({ text: "a", secret: "s3cret" });
    await opened.redefine({ fields: [text] });
    await opened.redefine({ fields: [text, secret] });
    const events = await replay(opened, since);
    expect(events[0]?.payload).toMatchObject({ id, text: "a", secret: null });
    expect(JSON.stringify(events)).not.toContain("s3cret");
  });

  test("a rename or a drop holds after a restart, a new rule alone changes nothing", async () => {
    const opened = await open();
    const since = await opened.place();
    const id = await opened.create({ text: "a", secret: "s3cret" });
    await opened.redefine({ fields: [{ ...text, max: 100 }, secret] });
    await opened.update(id, { text: "b" });
    expect(shown(await replay(opened, since))).toEqual(["notes.created a", "notes.updated b"]);
    await opened.redefine({ fields: [text] });
    await opened.server.service.collections.start();
    expect(JSON.stringify(await replay(opened, since))).not.toContain("s3cret");
  });
});

describe("the update of a large record", () => {
  const large = "x".repeat(50_000);

  test("is replayed as the present record, in its order and once, and live as the changed record", async () => {
    const opened = await open();
    const id = await opened.create({ text: large, secret: "0" });
    const since = await opened.place();
    const live = await opened.server.connect();
    await live.subscribe("notes.*");
    for (const n of ["1", "2", "3"]) await opened.update(id, { secret: n });
    const records = (await live.events()).map(({ payload }) => payload);
    expect(records.map((payload) => [payload["secret"], payload["text"]])).toEqual(
      ["1", "2", "3"].map((n) => [n, large]),
    );
    const events = await replay(opened, since);
    expect(events.map(({ payload }) => payload)).toEqual([records[2], records[2], records[2]] as never);
    expect(events.map(({ id }) => id)).toEqual((await live.events()).map(({ id }) => id));
    await opened.remove(id);
    expect(shown(await replay(opened, since))).toEqual(["notes.deleted "]);
  });
});

describe("a read rule that was widened", () => {
  const cases = [
    ["admin", "public", ["anonymous", "user"]],
    ["admin", "authenticated", ["user"]],
    ["owner", "authenticated", ["user"]],
    ["owner", "public", ["anonymous", "user"]],
    ["authenticated", "public", ["anonymous"]],
  ] as const;
  test.each(cases)("from %s to %s: a gap for callers without the former right", async (from, to, closed) => {
    const opened = await open({ read: from });
    const { server } = opened;
    const user = (await server.register("ann@example.com")).accessToken;
    const tokens = { anonymous: undefined, user, admin: await server.admin() };
    const since = await opened.place();
    await opened.create({ text: "closed" });
    await opened.redefine({ permissions: { read: to } });
    const later = await opened.place();
    // Also after two widenings, or after another start of the service.
    await server.service.collections.start();
    await opened.create({ text: "open" });
    for (const [name, token] of Object.entries(tokens)) {
      if (to === "authenticated" && name === "anonymous") continue;
      const client = await server.connect(token);
      const answer = await client.ask({ action: "subscribe", channel: "notes.*", since });
      const isClosed = closed.some((each) => each === name);
      expect(answer).toMatchObject(isClosed ? { code: "resume_gap", channel: "notes.*" } : { type: "subscribed" });
      const events = shown(await through(server, client));
      expect(events).toEqual(isClosed ? [] : ["notes.created closed", "notes.created open"]);
      expect(shown(await replay(opened, later, token))).toEqual(["notes.created open"]);
    }
  });

  test("in two steps counts from each step", async () => {
    const opened = await open({ read: "admin" });
    const user = (await opened.server.register("ann@example.com")).accessToken;
    const first = await opened.place();
    await opened.create({ text: "for admins" });
    await opened.redefine({ permissions: { read: "authenticated" } });
    const second = await opened.place();
    await opened.create({ text: "for users" });
    await opened.redefine({ permissions: { read: "public" } });
    const ask = async (since: string, token?: string) =>
      (await (await opened.server.connect(token)).ask({ action: "subscribe", channel: "notes.created", since })).type;
    expect([await ask(first, user), await ask(first), await ask(second)]).toEqual(["error", "error", "error"]);
    expect(shown(await replay(opened, second, user))).toEqual(["notes.created for users"]);
  });

  const older = [
    ["public", ["anonymous", "user"]],
    ["authenticated", ["user"]],
    ["admin", []],
  ] as const;
  test.each(older)(
    "before the service stored positions of rules: everything written by then is closed below %s",
    async (read, closed) => {
      const opened = await open({ read: "admin" });
      const { server } = opened;
      const user = (await server.register("ann@example.com")).accessToken;
      const tokens = { anonymous: undefined, user, admin: await server.admin() };
      const since = await opened.place();
      await opened.create({ text: "closed" });
      await opened.redefine({ permissions: { read } });
      const { database, collections } = server.service;
      await database.transact((tx) => tx.run("UPDATE _collections SET places = NULL"));
      await collections.start();
      const later = await opened.place();
      await opened.create({ text: "open" });
      const placed = await database.reader.all("SELECT name, places FROM _collections ORDER BY name");
      // The places are those of the first start.
      await collections.start();
      expect(await database.reader.all("SELECT name, places FROM _collections ORDER BY name")).toEqual(placed);
      for (const [name, token] of Object.entries(tokens)) {
        if (read === "authenticated" && name === "anonymous") continue;
        if (read === "admin" && name !== "admin") continue;
        const client = await server.connect(token);
        const answer = await client.ask({ action: "subscribe", channel: "notes.*", since });
        const isClosed = closed.some((each) => each === name);
        expect(answer).toMatchObject(isClosed ? { code: "resume_gap", channel: "notes.*" } : { type: "subscribed" });
        const events = shown(await through(server, client));
        expect(events).toEqual(isClosed ? [] : ["notes.created closed", "notes.created open"]);
        expect(shown(await replay(opened, later, token))).toEqual(["notes.created open"]);
      }
    },
  );

  test("during a replay breaks the replay off", async () => {
    const opened = await open({ read: "admin" });
    const { server } = opened;
    const ann = await server.register("ann@example.com");
    await server.admin();
    const since = await opened.place();
    const many = "x".repeat(100_000);
    for (let n = 0; n < 150; n++) await opened.create({ text: many });
    const client = await server.connect(ann.accessToken);
    await setRole(server.service, ann.user.id, "admin");
    using drained = spyOn(SocketConnection.prototype, "drainedBelow");
    client.socket.pause();
    client.send({ action: "subscribe", channel: "notes.*", since });
    // The log holds more than the buffers between service and client: the replay comes to wait for the client.
    await until(() => drained.mock.results.some(({ value }) => Bun.peek.status(value) === "pending"));
    await setRole(server.service, ann.user.id, "authenticated");
    await opened.redefine({ permissions: { read: "authenticated" } });
    client.socket.resume();
    const isGap = (frame: TestSocket["frames"][number]) => frame.type === "error" && frame.code === "resume_gap";
    await until(() => client.frames.some(isGap));
    expect((await client.events()).length).toBeLessThan(150);
    await client.subscribe("notes.created");
    await opened.create({ text: "new" });
    expect((await client.events()).at(-1)?.payload).toMatchObject({ text: "new" });
  });
});

describe("a record with another owner", () => {
  test("is replayed to nobody for the time under its former owner", async () => {
    const server = await openServer({
      collections: [
        {
          name: "notes",
          fields: [text, { name: "by", type: "relation", collection: "users", owner: true }],
          permissions: { read: "owner" },
        },
        { name: "end", fields: [text] },
      ],
    });
    const { records, events } = server.service;
    const [ann, bob] = [await server.register("ann@example.com"), await server.register("bob@example.com")];
    await records.create("end", system, { text: "" });
    const since = (await events.at(events.flushedSeq))?.id ?? "";
    const { record } = await records.create("notes", await server.service.auth.callers.authenticate(ann.accessToken), {
      text: "ann's",
    });
    const change = (values: object) => records.update("notes", system, { record: record.id, body: { ...values } });
    const heard = async (token: string) => {
      const client = await server.connect(token);
      await client.subscribe("notes.*", since);
      return shown(await through(server, client));
    };
    expect(await heard(ann.accessToken)).toEqual(["notes.created ann's"]);
    await change({ by: bob.user.id, text: "handed over" });
    await change({ text: "bob's" });
    expect(await heard(ann.accessToken)).toEqual([]);
    expect(await heard(bob.accessToken)).toEqual(["notes.updated handed over", "notes.updated bob's"]);
    await records.delete("notes", system, record.id);
    expect(await heard(ann.accessToken)).toEqual([]);
    expect(await heard(bob.accessToken)).toEqual(["notes.deleted "]);
  });
});
