/** The client's files and subscriptions, against an executable that comes and goes. */
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { SocleClient } from "../packages/client/src/index.ts";
import { inParallel, post, project, type Running, root, serve, until } from "./kit.ts";

const collections = [
  { name: "notes", fields: [{ name: "n", type: "integer" }] },
  {
    name: "secrets",
    fields: [{ name: "n", type: "integer" }],
    permissions: { read: "owner", create: "authenticated" },
  },
];

/** Kills the service and starts the service again in the same place. */
async function restart(server: Running, cwd: string): Promise<Running> {
  const { port } = new URL(server.url);
  server.signal("SIGKILL");
  await server.exited;
  return serve(cwd, { args: ["--port", port] });
}

describe("subscriptions", () => {
  test("resume by themselves and bring missed events, each event once", async () => {
    const cwd = await project({ collections });
    let server = await serve(cwd);
    const client = new SocleClient({ baseUrl: server.url });
    const heard: string[] = [];
    const created: unknown[] = [];
    let resets = 0;
    client.subscribe("notes.*", ({ type, payload }) => heard.push(`${type} ${payload["n"] ?? ""}`), {
      onReset: () => {
        resets += 1;
      },
    });
    // Carried by the wildcard: no separate channel, and no event twice.
    const stop = client.subscribe("notes.created", ({ payload }) => created.push(payload["n"]));
    await until(() => resets === 1);
    for (let n = 0; n < 5; n++) {
      await post(`${server.url}/api/notes`, { n });
      // From the first event on, the client has a place to resume from.
      if (n === 0) await until(() => heard.length === 1);
      server = await restart(server, cwd);
      await post(`${server.url}/api/notes`, { n: n + 100 });
    }
    await until(() => heard.length === 10);
    const numbers = [0, 100, 1, 101, 2, 102, 3, 103, 4, 104];
    expect(heard).toEqual(numbers.map((n) => `notes.created ${n}`));
    expect(created).toEqual(numbers);
    expect(resets).toBe(1);
    stop();
    await post(`${server.url}/api/notes`, { n: 7 });
    await until(() => heard.length === 11);
    expect(created).toHaveLength(10);
    client.close();
    await post(`${server.url}/api/notes`, { n: 8 });
    await Bun.sleep(50);
    expect(heard).toHaveLength(11);
    await server.stop();
  });

  test("with a filter receive the events of their own filter, and resume with the filter", async () => {
    const cwd = await project({ collections });
    let server = await serve(cwd);
    let isReachable = true;
    /** Connects to nothing while the service is not reachable. */
    class Gated extends WebSocket {
      constructor(url: string) {
        super(isReachable ? url : "ws://127.0.0.1:1");
      }
    }
    const client = new SocleClient({ baseUrl: server.url, webSocket: Gated });
    const heard: { [filter: string]: string[] } = {};
    let resets = 0;
    const onReset = (): void => {
      resets += 1;
    };
    for (const filter of ["n > 1", "n <= 1"]) {
      heard[filter] = [];
      client
        .collection<{ id: string; createdAt: string; updatedAt: string; n: number }>("notes")
        .subscribe(({ type, record }) => heard[filter]?.push(`${type} ${record?.n ?? ""}`), { filter, onReset });
    }
    const all: string[] = [];
    client.subscribe("notes.*", ({ type }) => all.push(type), { onReset });
    const errors: string[] = [];
    client.subscribe("notes.*", () => undefined, { filter: "m > 1", onError: ({ message }) => errors.push(message) });
    await until(() => resets === 3 && errors.length === 1);
    expect(errors[0]).toMatch(/^invalid_filter: .*"notes" has no field "m"/);
    const { id } = await client.collection("notes").create({ n: 1 });
    await client.collection("notes").update(id, { n: 2 });
    await until(() => all.length === 2);
    isReachable = false;
    server = await restart(server, cwd);
    await client.collection("notes").update(id, { n: 3 });
    await client.collection("notes").update(id, { n: 0 });
    isReachable = true;
    await until(() => all.length === 4 && heard["n <= 1"]?.length === 3);
    expect(heard).toEqual({
      "n > 1": ["created 2", "deleted "],
      "n <= 1": ["created 1", "deleted ", "created 0"],
    });
    expect(all).toEqual(["notes.created", "notes.updated", "notes.updated", "notes.updated"]);
    expect(resets).toBe(3);
    client.close();
    await server.stop();
  });

  test("a break before the first event, and a break beyond the log, are reported", async () => {
    const cwd = await project({ collections });
    let server = await serve(cwd);
    const client = new SocleClient({ baseUrl: server.url });
    let resets = 0;
    const heard: unknown[] = [];
    client.subscribe("notes.*", ({ payload }) => heard.push(payload["n"]), {
      onReset: () => {
        resets += 1;
      },
    });
    await until(() => resets === 1);
    server = await restart(server, cwd);
    await until(() => resets === 2);
    await post(`${server.url}/api/notes`, { n: 1 });
    await until(() => heard.length === 1);
    const { port } = new URL(server.url);
    server.signal("SIGKILL");
    await server.exited;
    const { Database } = await import("bun:sqlite");
    using database = new Database(`${cwd}/socle.db`);
    database.run("UPDATE _events SET at = at - 1");
    database.close();
    server = await serve(cwd, { args: ["--port", port] });
    await until(() => resets === 3);
    await post(`${server.url}/api/notes`, { n: 2 });
    await until(() => heard.length === 2);
    expect(heard).toEqual([1, 2]);
    client.close();
    await server.stop();
  });

  test("outlive their access token, and follow the signed-in user", async () => {
    const cwd = await project({ collections });
    const server = await serve(cwd, { env: { SERVICE_AUTH_ACCESS_TOKEN_TTL: "1s" } });
    const client = new SocleClient({ baseUrl: server.url });
    const heard: unknown[] = [];
    const refused: string[] = [];
    let resets = 0;
    client.subscribe("secrets.created", ({ payload }) => heard.push(payload["n"]), {
      onReset: () => {
        resets += 1;
      },
    });
    client.subscribe("auth.*", () => undefined, { onError: ({ message }) => refused.push(message) });
    await until(() => resets === 1);
    await client.register({ email: "ann@example.com", password: "long enough" });
    await until(() => resets === 2);
    const writer = new SocleClient({ baseUrl: server.url });
    await writer.login({ email: "ann@example.com", password: "long enough" });
    for (let n = 0; n < 40; n++) {
      await writer.collection("secrets").create({ n });
      await Bun.sleep(60);
    }
    // Some events came over a new socket; from the first event on, no event is missing and no event comes twice.
    await until(() => heard.at(-1) === 39);
    expect(heard).toEqual(Array.from({ length: heard.length }, (_, i) => 40 - heard.length + i));
    expect(refused).toEqual([expect.stringContaining("invalid_channel")]);
    await client.logout();
    // Events go to all sockets at once: the client would have heard the events that the writer has heard.
    const own: number[] = [];
    await new Promise<void>((resolve) => {
      writer.subscribe("secrets.created", ({ payload }) => void own.push(Number(payload["n"])), { onReset: resolve });
    });
    await writer.collection("secrets").create({ n: 100 });
    await until(() => own.includes(100));
    await fetch(`${server.url}/health`);
    writer.close();
    expect(heard).not.toContain(100);
    client.close();
    await server.stop();
  });
});

describe("faults", () => {
  test("a stopped service, a refused channel and a listener that throws harm no other subscription", async () => {
    const script = `
      import { SocleClient } from "${join(root, "packages/client/src/index.ts")}";
      const [url, away] = process.argv.slice(1);
      const errors = [];
      process.on("uncaughtException", (error) => errors.push(error.message));
      const tokens = { accessToken: "old", refreshToken: "old" };
      const lost = new SocleClient({ baseUrl: away, tokens });
      lost.subscribe("notes.*", () => undefined);
      const client = new SocleClient({ baseUrl: url });
      const seen = [];
      const off = client.subscribe("auth.*", () => undefined, { onError: () => seen.push("refused") });
      const until = async (condition) => { while (!condition()) await Bun.sleep(2); };
      await until(() => seen.length === 1);
      off();
      const ready = Promise.withResolvers();
      client.subscribe("notes.*", () => { throw new Error("a bad listener"); });
      client.subscribe("notes.*", ({ type }) => seen.push(type), { onReset: ready.resolve });
      await ready.promise;
      await client.collection("notes").create({ n: 1 });
      await until(() => seen.length === 2 && errors.length === 1);
      client.close();
      lost.close();
      console.log(JSON.stringify({ seen, errors }));`;
    const server = await serve(await project({ collections }));
    const child = Bun.spawn([process.execPath, "-e", script, server.url, "http://127.0.0.1:9"], { stderr: "pipe" });
    const answer = JSON.parse(await new Response(child.stdout).text());
    expect(answer).toEqual({ seen: ["refused", "notes.created"], errors: ["a bad listener"] });
    // Nothing keeps the process alive.
    expect(await child.exited).toBe(0);
    await server.stop();
  });
});

describe("files", () => {
  test("up, down, as an address, and away", async () => {
    const server = await serve(await project());
    const client = new SocleClient({ baseUrl: server.url });
    await client.register({ email: "ann@example.com", password: "long enough" });
    const file = await client.storage.upload(new File(["hello"], "grüße.txt"), { visibility: "public" });
    expect(file).toMatchObject({ filename: "grüße.txt", mimeType: "text/plain", size: 5, visibility: "public" });
    const blob = await client.storage.upload(new Blob(["x"]), { filename: "a.bin" });
    expect([blob.filename, blob.visibility]).toEqual(["a.bin", "protected"]);
    expect(await (await client.storage.download(blob.id)).text()).toBe("x");
    // The beginning alone; a file that is shorter comes whole.
    expect(await (await client.storage.download(file.id, { maxBytes: 2 })).size).toBe(2);
    expect(await (await client.storage.download(blob.id, { maxBytes: 2 })).text()).toBe("x");
    expect(await (await fetch(client.storage.url(file.id))).text()).toBe("hello");
    expect(client.storage.url(file.id, { thumb: "20x20" })).toBe(`${server.url}${file.url}?thumb=20x20`);
    const { url, expiresAt } = await client.storage.link(blob.id);
    expect([await (await fetch(url)).text(), (await fetch(client.storage.url(blob.id))).status]).toEqual(["x", 401]);
    expect(Date.parse(expiresAt)).toBeGreaterThan(Date.now());
    await inParallel([file, blob], 2, ({ id }) => client.storage.delete(id));
    expect((await fetch(url)).status).toBe(404);
    await expect(client.storage.download(file.id)).rejects.toMatchObject({ status: 404 });
    await expect(client.storage.upload(new Blob([new Uint8Array(11_000_000)]))).rejects.toMatchObject({ status: 413 });
    await server.stop();
  });
});
