/** Functions, the dashboard, realtime and jobs, sentence by sentence of the specification, as a stranger reads it. */
import { describe, expect, test } from "bun:test";
import { until } from "./kit.ts";
import { iso, type Json, openSpecWorld } from "./spec-world.ts";

const { ann, bob, connect, get, logged, make, post, put, register, remove, request, root, server, upload } =
  await openSpecWorld();

describe("Functions", () => {
  test("run after the record is saved, with record, logger, db, auth and storage", async () => {
    const { id } = await make("posts", { title: "traced" }, ann.token);
    await logged("created traced object object");
    await logged("missing file null false");
    await put(`/api/posts/${id}`, { title: "traced2" }, ann.token);
    await logged("updated traced2");
    await remove(`/api/posts/${id}`, ann.token);
    await logged(`deleted ${id}`);
    await post("/api/auth/login", { email: ann.email, password: "password123" });
    await logged("somebody has logged in");
  });

  test("a function that throws leaves the record saved", async () => {
    const socket = await (await connect(root)).subscribe("function.failed");
    const { id } = await make("posts", { title: "boom" }, ann.token);
    await until(() => socket.types.includes("function.failed"));
    expect((await get(`/api/posts/${id}`)).status).toBe(200);
  });
});

describe("Dashboard", () => {
  test("each page and each unknown path is the index page", async () => {
    const index = (await get("/_/")).text;
    expect(index).toContain("<html");
    for (const page of [
      "login",
      "collections",
      "users",
      "storage",
      "functions",
      "jobs",
      "logs",
      "nothing/at/all",
      "assets/missing.js",
      "missing.css",
      "assets/",
    ]) {
      const answer = await get(`/_/${page}`);
      expect([page, answer.status, answer.text]).toEqual([page, 200, index]);
      expect(answer.headers.get("content-type")).toContain("text/html");
    }
  });
});

describe("Realtime", () => {
  test("an event of a record has the shape of the specification", async () => {
    const socket = await (await connect()).subscribe("open.created", "open.updated", "open.deleted");
    const record = await make("open", { title: "live" });
    const changed = (await put(`/api/open/${record["id"]}`, { title: "more" })).body;
    await remove(`/api/open/${record["id"]}`);
    await until(() => socket.events.length === 3);
    const event = (type: string, payload: unknown) => ({
      id: expect.stringMatching(/^evt_/),
      type,
      timestamp: iso,
      source: "collections",
      payload,
    });
    expect(socket.events).toEqual([
      event("open.created", record),
      event("open.updated", changed),
      event("open.deleted", { id: record["id"] }),
    ] as never);
  });

  test("{collection}.* has the three events, and ends with unsubscribe", async () => {
    const socket = await (await connect()).subscribe("open.*");
    const { id } = await make("open", {});
    await put(`/api/open/${id}`, { n: 7 });
    await remove(`/api/open/${id}`);
    await until(() => socket.events.length === 3);
    expect(socket.types).toEqual(["open.created", "open.updated", "open.deleted"]);
    await socket.send({ action: "unsubscribe", channel: "open.*" });
    await make("open", {});
    expect(await socket.settled()).toHaveLength(3);
  });

  test("events of collections follow the read permission", async () => {
    const [nobody, hers, his, all] = [
      await connect(),
      await connect(ann.token),
      await connect(bob.token),
      await connect(root),
    ];
    for (const socket of [nobody, hers, his, all])
      await socket.subscribe("members.created", "notes.created", "secrets.created", "open.created");
    await make("members", { text: "m" }, ann.token);
    await make("notes", { text: "n" }, ann.token);
    await make("secrets", { text: "s" }, root);
    await make("open", {});
    for (const socket of [nobody, hers, his, all]) await until(() => socket.types.includes("open.created"));
    expect(await nobody.settled()).toEqual(["open.created"]);
    expect(await hers.settled()).toEqual(["members.created", "notes.created", "open.created"]);
    expect(await his.settled()).toEqual(["members.created", "open.created"]);
    expect(await all.settled()).toEqual(["members.created", "notes.created", "secrets.created", "open.created"]);
  });

  test("other events reach every subscriber of the channel, without a token, too", async () => {
    const channels = [
      "auth.register",
      "auth.login",
      "auth.logout",
      "storage.uploaded",
      "storage.deleted",
      "system.collection.created",
    ];
    const socket = await (await connect()).subscribe(...channels);
    const fay = await register("fay@example.com");
    await post("/api/auth/login", { email: fay.email, password: "password123" });
    await request("POST", "/api/auth/logout", { token: fay.token });
    const file = await upload("public", ann.token);
    await remove(`/api/storage/${file}`, ann.token);
    await post("/api/admin/collections", { name: "fresh", fields: [] }, root);
    await until(() => socket.events.length === channels.length);
    expect(socket.types).toEqual([
      "auth.register",
      "auth.login",
      "auth.logout",
      "storage.uploaded",
      "storage.deleted",
      "system.collection.created",
    ]);
    const [, , , uploaded, deleted] = socket.events;
    expect(uploaded?.["payload"]).toMatchObject({ id: file } as never);
    expect(deleted?.["payload"]).toEqual({ id: file, userId: ann.id } as never);
    expect(JSON.stringify(socket.events)).not.toContain("password");
  });

  test("function events reach subscribers", async () => {
    const socket = await (await connect()).subscribe("function.started", "function.completed");
    await make("posts", { title: "again" }, ann.token);
    await until(() => socket.types.includes("function.completed"));
    expect(socket.types).toContain("function.started");
  });

  test("a socket holds 50 subscriptions, and bad frames leave the socket open", async () => {
    const socket = await connect();
    await socket.send({ action: "dance" });
    await socket.send({ action: "subscribe" });
    await socket.send({ action: "unsubscribe" });
    await socket.subscribe(...Array.from({ length: 50 }, (_, i) => `c${i}.created`));
    const errors = (): number => socket.frames.filter(({ type }) => String(type) === "error").length;
    const before = errors();
    await socket.subscribe("open.created");
    expect(errors()).toBe(before + 1);
    await make("open", {});
    expect(await socket.settled()).toEqual([]);
    await socket.send({ action: "unsubscribe", channel: "c0.created" });
    await socket.subscribe("open.created");
    await make("open", {});
    await until(() => socket.types.includes("open.created"));
  });

  test("a token that is not valid opens no socket", async () => {
    const socket = new WebSocket(`${server.url.replace("http", "ws")}/api/realtime?token=bad`);
    const outcome = await new Promise<string>((resolve) => {
      socket.onopen = () => resolve("open");
      socket.onerror = () => resolve("refused");
    });
    expect(outcome).toBe("refused");
  });
});

describe("Jobs", () => {
  test("run by the schedule, and each run is recorded with its attempt", async () => {
    const runs = async (name: string): Promise<Json[]> =>
      (await get(`/api/admin/jobs/${name}/runs`, root)).body["items"] as unknown as Json[];
    // The schedule is each minute.
    for (let i = 0; i < 1_000 && (await runs("failing")).length === 0; i++) await Bun.sleep(100);
    await logged("tick object");
    const [run] = await runs("tick");
    expect(run).toMatchObject({
      runId: expect.stringMatching(/./),
      startedAt: iso,
      status: expect.any(String),
      attempt: 1,
    } as never);
    const [failed] = (await runs("failing")).toReversed();
    expect(failed).toMatchObject({ attempt: 1 } as never);
  });
});
