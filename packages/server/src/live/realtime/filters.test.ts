/** Subscriptions with a filter: each hears of the matching records, as under a narrower read rule, live and in a replay. */
import { describe, expect, test } from "bun:test";
import { type FilterWorld, heard, openFilterWorld, relation } from "../../../test/filter-world.ts";
import { setRole } from "../../../test/kit.ts";
import { type TestSocket, until } from "../../../test/sockets.ts";
import { system } from "../../base/kernel/index.ts";

/** A task that is made open, renamed, done, renamed, opened again and deleted. */
async function story({ make, change, records }: FilterWorld): Promise<string> {
  const id = await make("tasks", { title: "made", status: "open" });
  await change("tasks", id, { title: "renamed" });
  await change("tasks", id, { status: "done" });
  await change("tasks", id, { title: "done" });
  await change("tasks", id, { status: "open" });
  await records.delete("tasks", system, id);
  return id;
}

describe("a filter on a field", () => {
  test("sends a record that begins to match as created, and a record that stops matching as deleted, with the id alone", async () => {
    const world = await openFilterWorld();
    const [filtered, plain] = [await world.server.connect(), await world.server.connect()];
    await filtered.subscribe("tasks.*", undefined, { filter: 'status = "open"' });
    await plain.subscribe("tasks.*");
    const id = await story(world);
    const gone = [null, "deleted", { id }] as const;
    expect(await heard(world, filtered)).toEqual([
      [null, "created", "made"],
      [null, "updated", "renamed"],
      gone,
      [null, "created", "done"],
      gone,
    ]);
    expect((await heard(world, plain)).map(([, type]) => type)).toEqual([
      "created",
      "updated",
      "updated",
      "updated",
      "updated",
      "deleted",
    ]);
  });

  test("holds in a replay", async () => {
    const world = await openFilterWorld();
    const since = await world.place();
    const gone = await story(world);
    const kept = await world.make("tasks", { title: "kept", status: "done" });
    await world.change("tasks", kept, { title: "still done" });
    await world.change("tasks", kept, { status: "open" });
    await world.change("tasks", kept, { title: "last" });
    const left = await world.make("tasks", { title: "left", status: "open" });
    await world.change("tasks", left, { status: "done" });
    await world.change("tasks", left, { title: "long done" });
    const client = await world.server.connect();
    await client.subscribe("tasks.*", since, { filter: 'status = "open"' });
    await until(() => client.frames.some((frame) => frame.type === "event" && frame.event.payload["id"] === left));
    expect(await heard(world, client)).toEqual([
      [null, "deleted", { id: gone }],
      [null, "deleted", { id: gone }],
      [null, "created", "still done"],
      [null, "updated", "last"],
      [null, "deleted", { id: left }],
    ]);
  });

  test.each([
    ["the log has the long text: the replay sends the deletion once", {}, 1],
    [
      "the log lacks the long text: the replay sends a deletion too often rather than too seldom",
      { SERVICE_EVENTS_BEFORE: "false" },
      2,
    ],
  ] as const)("%s", async (_name, settings, count) => {
    const world = await openFilterWorld(settings);
    const long = "x".repeat(10_000);
    const matching = await world.make("tasks", { title: "a", body: `${long} needle` });
    const other = await world.make("tasks", { title: "b", body: long });
    const since = await world.place();
    for (const id of [matching, other]) await world.change("tasks", id, { body: `${long}!` });
    const client = await world.server.connect();
    await client.subscribe("tasks.*", since, { filter: 'body ~ "needle"' });
    const expected = [matching, other].slice(0, count).map((id) => [null, "deleted", { id }]) as never;
    await until(() => client.frames.filter(({ type }) => type === "event").length >= count);
    expect(await heard(world, client)).toEqual(expected);
  });

  test("receives a single type through a channel of that type", async () => {
    const world = await openFilterWorld();
    const client = await world.server.connect();
    await client.subscribe("tasks.deleted", undefined, { filter: 'status = "open"' });
    const id = await story(world);
    expect(await heard(world, client)).toEqual([
      [null, "deleted", { id }],
      [null, "deleted", { id }],
    ]);
  });
});

describe("a filter that uses the caller or other records", () => {
  test("is decided for each listener", async () => {
    const world = await openFilterWorld();
    const [ann, bob] = [await world.server.register("ann@x.org"), await world.server.register("bob@x.org")];
    const sockets: TestSocket[] = [];
    for (const token of [ann.accessToken, bob.accessToken, undefined]) {
      const socket = await world.server.connect(token);
      await socket.subscribe("tasks.*", undefined, { filter: "assignee = @user.id" });
      sockets.push(socket);
    }
    const id = await world.make("tasks", { title: "for Ann", assignee: ann.user.id });
    await world.change("tasks", id, { title: "for Bob", assignee: bob.user.id });
    await world.make("tasks", { title: "for nobody" });
    const all = await Promise.all(sockets.map((socket) => heard(world, socket)));
    expect(all).toEqual([
      [
        [null, "created", "for Ann"],
        [null, "deleted", { id }],
      ],
      [[null, "created", "for Bob"]],
      [],
    ]);
  });

  test("follows relations, forward and back", async () => {
    const world = await openFilterWorld();
    const { user, accessToken } = await world.server.register("ann@x.org");
    const [red, blue] = [await world.make("teams", { name: "red", lead: user.id }), await world.make("teams", {})];
    const client = await world.server.connect(accessToken);
    await client.subscribe("tasks.*", undefined, { filter: 'team.name = "red"', id: "forward" });
    await client.subscribe("tasks.*", undefined, { filter: "team.lead = @user.id", id: "lead" });
    await client.subscribe("tasks.*", undefined, { filter: 'comments(task).text = "yes"', id: "back" });
    const id = await world.make("tasks", { title: "a", team: red });
    // The event is sent before the comment is made: the filters look at the comments of that time.
    await until(() => client.frames.filter((frame) => frame.type === "event").length === 2);
    await world.make("comments", { text: "yes", task: id });
    await world.change("tasks", id, { title: "b", team: blue });
    const gone = ["deleted", { id }] as const;
    const all = await heard(world, client);
    const of = (name: string) => all.filter(([own]) => own === name).map(([, ...rest]) => rest);
    expect(of("forward")).toEqual([["created", "a"], gone] as never);
    expect(of("lead")).toEqual([["created", "a"], gone] as never);
    // The comment counts before the change, too: other records count in their state at the sending of the event.
    expect(of("back")).toEqual([["updated", "b"]]);
    const replayed = await world.server.connect(accessToken);
    await replayed.subscribe("tasks.*", await world.place(), { filter: 'team.name = "red"' });
  });

  test("sees a record that points to itself before and after the change, live and in a replay", async () => {
    const world = await openFilterWorld();
    const ups = { ...relation("ups", "nodes"), multiple: true };
    await world.define({ name: "nodes", fields: [{ name: "title", type: "string" }, relation("up", "nodes"), ups] });
    const filters = {
      forward: 'up.title = "in"',
      back: 'nodes(up).title = "in"',
      items: 'ups.title = "in"',
      holders: 'nodes(ups).title = "in"',
      alone: 'title = "in" && up != null',
    };
    const since = await world.place();
    const connect = async (from?: string): Promise<TestSocket> => {
      const socket = await world.server.connect();
      for (const [id, filter] of Object.entries(filters)) await socket.subscribe("nodes.*", from, { filter, id });
      return socket;
    };
    const live = await connect();
    const id = await world.make("nodes", { title: "in" });
    // No filter matches the new record, so the next event of the socket shows that the creation is sent.
    await heard(world, live);
    const eventsOf = (name: string) => live.frames.filter((frame) => frame.type === "event" && frame.id === name);
    const changes = [{ up: id, ups: [id] }, { title: "out" }, { title: "in" }];
    for (const [n, values] of changes.entries()) {
      await world.change("nodes", id, values);
      // Each change is sent before the next change: for a later send, the filter may find the stored record of the next change.
      await until(() => Object.keys(filters).every((name) => eventsOf(name).length > n));
    }
    await world.records.delete("nodes", system, id);
    await until(() => Object.keys(filters).every((name) => eventsOf(name).length > changes.length));
    const of = (all: Awaited<ReturnType<typeof heard>>, name: string) =>
      all.filter(([own]) => own === name).map(([, ...rest]) => rest);
    const gone = ["deleted", { id }] as const;
    const told = await heard(world, live);
    for (const name of Object.keys(filters))
      expect([name, of(told, name)]).toEqual([name, [["created", "in"], gone, ["created", "in"], gone]] as never);
    // The record is gone: a replay has the deletions alone.
    const later = await connect(since);
    await until(() => later.frames.filter(({ type }) => type === "event").length >= 10);
    const replayed = await heard(world, later);
    for (const name of Object.keys(filters)) expect([name, of(replayed, name)]).toEqual([name, [gone, gone]] as never);
  });

  test("never leads to records that the caller may not read", async () => {
    const world = await openFilterWorld();
    const client = await world.server.connect();
    const ask = { action: "subscribe", channel: "tasks.*", filter: 'team.name = "red"', id: "a" };
    expect(await client.ask(ask)).toMatchObject({ type: "error", code: "invalid_filter", channel: "tasks.*", id: "a" });
    const { accessToken } = await world.server.register("ann@x.org");
    const user = await world.server.connect(accessToken);
    expect(await user.ask(ask)).toEqual({ type: "subscribed", channel: "tasks.*", id: "a" });
  });

  test("ends beyond its processor time, reported with the cost and the remedy; other subscriptions go on", async () => {
    const world = await openFilterWorld({ SERVICE_LIMITS_FILTER_TIME: "5ms" });
    const { accessToken } = await world.server.register("ann@x.org");
    const id = await world.make("tasks", { title: "a" });
    for (let n = 0; n < 300; n++) await world.make("comments", { text: `c${n}`.repeat(60), task: id });
    const [client, other] = [await world.server.connect(), await world.server.connect(accessToken)];
    const terms = Array.from({ length: 90 }, (_, n) => `lower(text) ~ "é${n}"`).join(" || ");
    await client.subscribe("tasks.*", undefined, { filter: `comments(task)[${terms}]`, id: "many" });
    await other.subscribe("tasks.*", undefined, { filter: 'title = "b"', id: "one" });
    await world.change("tasks", id, { title: "b" });
    expect(await heard(world, other)).toEqual([["one", "created", "b"]]);
    const errors = () => client.frames.filter(({ type }) => type === "error");
    await until(() => errors().length > 0);
    expect(errors()).toMatchObject([{ code: "filter_too_expensive", channel: "tasks.*", id: "many" }]);
    const [error] = errors();
    expect(error?.type === "error" && error.message).toMatch(/takes more than 20 ms.*Narrow the filter down/);
    expect(world.server.service.limits.totals()).toContainEqual(["filterTime", 1]);
    await world.change("tasks", id, { title: "c" });
    expect(await heard(world, other)).toEqual([
      ["one", "created", "b"],
      ["one", "deleted", { id }],
    ]);
    expect(errors()).toHaveLength(1);
    expect(await client.ask({ action: "ping" })).toEqual({ type: "pong" });
  });
});

describe("beside the read rule", () => {
  test("a filter narrows the rule and never widens the rule", async () => {
    const world = await openFilterWorld();
    const [ann, bob] = [await world.server.register("ann@x.org"), await world.server.register("bob@x.org")];
    const since = await world.place();
    const sockets: TestSocket[] = [];
    for (const token of [ann.accessToken, bob.accessToken, undefined, await world.server.admin()]) {
      const socket = await world.server.connect(token);
      await socket.subscribe("notes.*", undefined, { filter: 'text ~ "a" || text !~ "a"' });
      sockets.push(socket);
    }
    const id = await world.make("notes", { text: "Ann's", by: ann.user.id });
    await world.change("notes", id, { text: "Bob's", by: bob.user.id });
    const expected: unknown[] = [
      [
        [null, "created", "Ann's"],
        [null, "deleted", { id }],
      ],
      [[null, "created", "Bob's"]],
      [],
      [
        [null, "created", "Ann's"],
        [null, "updated", "Bob's"],
      ],
    ];
    expect(await Promise.all(sockets.map((socket) => heard(world, socket)))).toEqual(expected as never);
    // In a replay, Ann's note is Bob's now.
    const later = await world.server.connect(ann.accessToken);
    await later.subscribe("notes.*", since, { filter: 'text ~ "s"' });
    await until(() => later.frames.some(({ type }) => type === "event"));
    expect(await heard(world, later)).toEqual([[null, "deleted", { id }]]);
  });

  test("a rule that is an expression counts before a change, too, also in a replay", async () => {
    const world = await openFilterWorld();
    await world.define({
      name: "orders",
      fields: [{ name: "title", type: "string" }, relation("by", "users")],
      permissions: { read: "by = @user.id" },
    });
    const [ann, bob] = [await world.server.register("ann@x.org"), await world.server.register("bob@x.org")];
    const since = await world.place();
    const live = await world.server.connect(ann.accessToken);
    await live.subscribe("orders.*", undefined, { filter: 'title ~ "o"' });
    const id = await world.make("orders", { title: "one", by: bob.user.id });
    await world.change("orders", id, { title: "two", by: ann.user.id });
    await world.change("orders", id, { by: bob.user.id });
    const kept = await world.make("orders", { title: "four", by: bob.user.id });
    await world.change("orders", kept, { by: ann.user.id });
    const gone = [null, "deleted", { id }] as const;
    expect(await heard(world, live)).toEqual([[null, "created", "two"], gone, [null, "created", "four"]]);
    const later = await world.server.connect(ann.accessToken);
    await later.subscribe("orders.*", since, { filter: 'title ~ "o"' });
    await until(() => later.frames.filter(({ type }) => type === "event").length >= 2);
    expect(await heard(world, later)).toEqual([gone, [null, "created", "four"]]);
  });

  test("a record that no longer belongs to the caller is replayed as deleted", async () => {
    const world = await openFilterWorld();
    await world.define({
      name: "orders",
      fields: [
        { name: "title", type: "string" },
        { ...relation("by", "users"), owner: true },
      ],
    });
    const { user, accessToken } = await world.server.register("ann@x.org");
    const since = await world.place();
    const id = await world.make("orders", { title: "one", by: null });
    await world.change("orders", id, { by: user.id });
    await world.change("orders", id, { by: null });
    const later = await world.server.connect(accessToken);
    await later.subscribe("orders.*", since, { filter: "by = @user.id" });
    await until(() => later.frames.some(({ type }) => type === "event"));
    expect(await heard(world, later)).toEqual([[null, "deleted", { id }]]);
  });

  test("values that the caller may not read are in no event, live or replayed, and in no filter", async () => {
    const world = await openFilterWorld();
    await world.define({
      name: "hooks",
      fields: [
        { name: "title", type: "string" },
        { name: "secret", type: "string", permissions: { read: "admin" } },
        { name: "own", type: "string", permissions: { read: "by = @user.id" } },
        relation("by", "users"),
      ],
    });
    const { user, accessToken } = await world.server.register("ann@x.org");
    const filter = "title != null";
    const since = await world.place();
    const connect = async (from?: string): Promise<TestSocket> => {
      const socket = await world.server.connect(accessToken);
      for (const hidden of ["secret", "own"])
        expect(
          await socket.ask({ action: "subscribe", channel: "hooks.*", filter: `${hidden} = "s3cret"` }),
        ).toMatchObject({ code: "invalid_filter", position: 1 });
      await socket.subscribe("hooks.*", from, { filter });
      return socket;
    };
    const live = await connect();
    await world.make("hooks", { title: "a", secret: "s3cret", own: "Ann's", by: user.id });
    await world.make("hooks", { title: "b", secret: "s3cret", own: "s3cret" });
    const later = await connect(since);
    await until(() => later.frames.filter(({ type }) => type === "event").length === 2);
    for (const socket of [live, later]) {
      expect(await heard(world, socket)).toEqual([
        [null, "created", "a"],
        [null, "created", "b"],
      ]);
      const text = JSON.stringify(socket.frames);
      expect([text.includes("s3cret"), text.includes("Ann's")]).toEqual([false, true]);
    }
  });

  test("a collection that is closed to the caller sends nothing: no fields, no events", async () => {
    const world = await openFilterWorld();
    await world.define({ name: "secrets", fields: [{ name: "text", type: "string" }], permissions: { read: "admin" } });
    const client = await world.server.connect();
    await client.subscribe("secrets.*", undefined, { filter: "nosuchfield = 1", id: "a" });
    await client.subscribe("secrets.*", undefined, { filter: 'text = "a"', id: "b" });
    expect(await client.ask({ action: "subscribe", channel: "secrets.*", filter: "text =" })).toMatchObject({
      code: "invalid_filter",
      position: 7,
    });
    await world.make("secrets", { text: "a" });
    expect(await heard(world, client)).toEqual([]);
    // In a readable collection, a filter with an unknown field gets a message about the field.
    await world.define({ name: "secrets", fields: [{ name: "text", type: "string" }] });
    await world.make("secrets", { text: "a" });
    expect(await heard(world, client)).toEqual([["b", "created", "a"]]);
    expect(client.frames.filter(({ type }) => type === "error")).toMatchObject([
      {},
      { code: "invalid_filter", id: "a", position: 1 },
    ]);
  });

  test("follows a change of the role: the received events and the filter change", async () => {
    const world = await openFilterWorld();
    await world.server.admin();
    const { user, accessToken } = await world.server.register("ann@x.org");
    const client = await world.server.connect(accessToken);
    await client.subscribe("notes.*", undefined, { filter: "by != null", id: "n" });
    await client.subscribe("tasks.*", undefined, { filter: "team.name != null", id: "t" });
    await setRole(world.server.service, user.id, "admin");
    await world.make("notes", { text: "for admins", by: (await world.server.register("bob@x.org")).user.id });
    await setRole(world.server.service, user.id, "authenticated");
    await world.make("notes", { text: "not any more", by: null });
    await world.make("notes", { text: "own", by: user.id });
    expect(await heard(world, client)).toEqual([
      ["n", "created", "for admins"],
      ["n", "created", "own"],
    ]);
  });

  test("follows a change of the definition: a dropped field ends the filter", async () => {
    const world = await openFilterWorld();
    const client = await world.server.connect();
    await client.subscribe("tasks.*", undefined, { filter: 'status = "open"', id: "status" });
    await client.subscribe("tasks.*", undefined, { filter: 'title = "open"', id: "title" });
    await world.define({ name: "tasks", fields: [{ name: "title", type: "string" }] });
    await world.make("tasks", { title: "open" });
    expect(await heard(world, client)).toEqual([["title", "created", "open"]]);
    expect(client.frames.filter(({ type }) => type === "error")).toMatchObject([
      { code: "invalid_filter", channel: "tasks.*", id: "status", position: 1 },
    ]);
  });
});
