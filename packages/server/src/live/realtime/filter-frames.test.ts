/** The frames of subscriptions with a filter: refusals and their reasons, replaced subscriptions, and bounds. */
import { describe, expect, test } from "bun:test";
import { heard, openFilterWorld } from "../../../test/filter-world.ts";
import { type TestSocket, until } from "../../../test/sockets.ts";

describe("frames", () => {
  const filter = 'status = "open"';
  const cases: [string, object, object][] = [
    ["a filter that does not parse", { filter: "status = " }, { code: "invalid_filter", position: 10 }],
    ["an unknown field", { filter: 'title = "a" && nosuch = 1' }, { code: "invalid_filter", position: 16 }],
    ["a filter that is too long", { filter: `title = "${"x".repeat(5_000)}"` }, { code: "invalid_filter" }],
    ["a filter that is no text", { filter: { status: "open" } }, { code: "invalid_filter" }],
    ["an id that is no text", { filter, id: 5 }, { code: "invalid_action" }],
    ["an id that is too long", { filter, id: "x".repeat(65) }, { code: "invalid_action" }],
    ["an id without a filter", { id: "a" }, { code: "invalid_action" }],
    ["an id with an empty filter", { id: "a", filter: " " }, { code: "invalid_action" }],
    ["a channel without records", { channel: "auth.login", filter }, { code: "invalid_filter" }],
  ];
  test("refused frames report the reason, and change nothing", async () => {
    const world = await openFilterWorld();
    const client = await world.server.connect();
    await client.subscribe("tasks.created", undefined, { filter: 'title = "x"' });
    for (const [name, frame, expected] of cases) {
      const answer = await client.ask({ action: "subscribe", channel: "tasks.created", ...frame });
      expect([name, answer]).toMatchObject([name, { type: "error", ...expected }]);
    }
    await world.make("tasks", { title: "x" });
    await world.make("tasks", { title: "y", status: "open" });
    expect(await heard(world, client)).toEqual([[null, "created", "x"]]);
  });

  test("with another filter replace the filter of the channel; without a filter, the channel is received whole", async () => {
    const world = await openFilterWorld();
    const client = await world.server.connect();
    const hear = async (through: object, title: string): Promise<void> => {
      expect(await client.ask({ action: "subscribe", channel: "tasks.*", ...through })).toMatchObject({
        type: "subscribed",
      });
      await world.make("tasks", { title, status: title });
    };
    await hear({ filter: 'status = "a"' }, "a");
    await hear({ filter: 'status = "b"' }, "a");
    await hear({ filter: 'status = "b"' }, "b");
    await hear({}, "c");
    await hear({ filter: "" }, "d");
    await hear({ filter: 'status = "e"' }, "d");
    await hear({ filter: 'status = "e"' }, "e");
    await client.ask({ action: "unsubscribe", channel: "tasks.*" });
    await world.make("tasks", { title: "e", status: "e" });
    expect((await heard(world, client)).map(([, , title]) => title)).toEqual(["a", "b", "c", "d", "e"]);
  });

  test("with an id stand beside each other, and beside a channel without an id", async () => {
    const world = await openFilterWorld();
    const client = await world.server.connect();
    await client.subscribe("tasks.*");
    await client.subscribe("tasks.*", undefined, { filter, id: "open" });
    await client.subscribe("tasks.*", undefined, { filter: 'status = "done"', id: "done" });
    const id = await world.make("tasks", { title: "a", status: "open" });
    await world.change("tasks", id, { status: "done" });
    expect(await client.ask({ action: "unsubscribe", channel: "tasks.*", id: "open" })).toEqual({
      type: "unsubscribed",
      channel: "tasks.*",
      id: "open",
    });
    await world.change("tasks", id, { status: "open" });
    const all = await heard(world, client);
    const of = (name: string | null) => all.filter(([own]) => own === name).map(([, type]) => type);
    expect(of(null)).toEqual(["created", "updated", "updated"]);
    expect(of("open")).toEqual(["created", "deleted"]);
    expect(of("done")).toEqual(["created", "deleted"]);
  });

  test("without an id, a filter does not stand beside a channel with the same events", async () => {
    const world = await openFilterWorld();
    const client = await world.server.connect();
    const ask = (channel: string, through: object = {}) => client.ask({ action: "subscribe", channel, ...through });
    await client.subscribe("tasks.*", undefined, { filter });
    expect(await ask("tasks.created")).toMatchObject({ code: "invalid_filter" });
    expect(await ask("tasks.created", { filter })).toMatchObject({ code: "invalid_filter" });
    expect(await ask("tasks.created", { filter, id: "a" })).toMatchObject({ type: "subscribed" });
    await client.ask({ action: "unsubscribe", channel: "tasks.*" });
    await client.subscribe("tasks.created");
    await client.subscribe("tasks.updated", undefined, { filter });
    expect(await ask("tasks.*", { filter })).toMatchObject({ code: "invalid_filter" });
    // Also while the collection does not exist.
    await client.subscribe("later.*");
    expect(await ask("later.created", { filter })).toMatchObject({ code: "invalid_filter" });
  });
});

describe("bounds", () => {
  test("a subscription with a filter counts as a channel, and releases its share of the bound", async () => {
    const world = await openFilterWorld({ SERVICE_LIMITS_SUBSCRIPTIONS: "200", SERVICE_LIMITS_FILTERS: "1000" });
    const client = await world.server.connect();
    for (let round = 0; round < 3; round++) {
      for (let n = 0; n < 50; n++)
        await client.subscribe("tasks.*", undefined, { filter: `title = "${n}"`, id: `s${n}` });
      expect(await client.ask({ action: "subscribe", channel: "end.created" })).toMatchObject({
        code: "subscription_limit",
      });
      for (let n = 0; n < 50; n++) await client.ask({ action: "unsubscribe", channel: "tasks.*", id: `s${n}` });
    }
    await client.subscribe("end.created");
  });

  test("the filters of a caller have a bound; equal filters count once", async () => {
    const world = await openFilterWorld({ SERVICE_LIMITS_FILTERS: "120" });
    const [client, other] = [await world.server.connect(), await world.server.connect()];
    const ask = (socket: TestSocket, filter: string, id: string, channel = "tasks.*") =>
      socket.ask({ action: "subscribe", channel, filter, id });
    for (let n = 0; n < 10; n++) await ask(client, `title = "${n}"`, `s${n}`);
    // Each of these asks for the caller, and counts as ten.
    expect(await ask(client, "assignee = @user.id", "a")).toMatchObject({ type: "subscribed" });
    expect(await ask(client, 'assignee = @user.id || title = "x"', "b")).toMatchObject({ type: "subscribed" });
    expect(await ask(other, 'title = "more"', "c")).toMatchObject({ code: "filter_limit", id: "c" });
    expect(await ask(other, 'title = "3"', "c")).toMatchObject({ type: "subscribed" });
    expect(await ask(other, 'text = "more"', "d", "comments.*")).toMatchObject({ type: "subscribed" });
    expect(world.server.service.limits.totals()).toContainEqual(["filters", 1]);
    await client.ask({ action: "unsubscribe", channel: "tasks.*", id: "b" });
    expect(await ask(other, 'title = "more"', "e")).toMatchObject({ type: "subscribed" });
    client.socket.close();
    await until(() => client.closed !== null);
    for (let n = 0; n < 20; n++)
      expect(await ask(other, `title = "x${n}"`, `x${n}`)).toMatchObject({ type: "subscribed" });
  });

  test("the filters of all callers have a bound; a caller takes a quarter of the bound, and leaves the rest to others", async () => {
    const world = await openFilterWorld({ SERVICE_LIMITS_FILTERS: "80" });
    const callers = await Promise.all(["a", "b", "c", "d", "e"].map((name) => world.server.register(`${name}@x.org`)));
    const answers: string[][] = [];
    for (const { accessToken, user } of callers) {
      const socket = await world.server.connect(accessToken);
      const codes: string[] = [];
      for (const n of [1, 2, 3]) {
        const filter = `assignee = @user.id && title = "${user.id} ${n}"`;
        const answer = await socket.ask({ action: "subscribe", channel: "tasks.*", filter, id: `s${n}` });
        codes.push(answer.type === "error" ? `${answer.code}: ${answer.message.split(" ").slice(0, 2).join(" ")}` : "");
      }
      answers.push(codes);
    }
    const own = "filter_limit: Your subscriptions";
    const all = "filter_limit: The subscriptions";
    expect(answers).toEqual([...Array.from({ length: 4 }, () => ["", "", own]), [all, all, all]]);
  });
});
