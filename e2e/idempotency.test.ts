/**
 * Changes with `Idempotency-Key` against the executable: the service is killed again and again, answers are lost on the way, and
 * clients send their changes again until an answer comes. Each change is made exactly once.
 */
// Promises: W4.
import { Database } from "bun:sqlite";
import { afterAll, expect, test } from "bun:test";
import { createServer, connect as dial, type Socket } from "node:net";
import { join } from "node:path";
import type { BatchResult, RecordList } from "@socle/protocol";
import { SocleClient } from "../packages/client/src/index.ts";
import { randomNumbers, randomSeed } from "../packages/server/test/random.ts";
import { inParallel, post, project, type Running, serve } from "./kit.ts";
import { collection, scriptProject } from "./scripts-kit.ts";

const notes = {
  name: "notes",
  fields: [{ name: "text", type: "string", required: true }],
  permissions: { create: "public", read: "public", update: "public" },
};

async function textsOf(url: string): Promise<string[]> {
  const { items } = (await (await fetch(`${url}/api/notes`)).json()) as RecordList;
  return items.map(({ text }) => String(text));
}

function batchOf(...texts: string[]): object {
  return { operations: texts.map((text) => ({ method: "create", collection: "notes", body: { text } })) };
}

test("killed with kill -9: each key has exactly one record, and the same response", async () => {
  const cwd = await project({ collections: [notes] });
  const random = randomNumbers(randomSeed("keys"));
  let server: Running = await serve(cwd);
  const answers = new Map<string, Set<string>>();
  const isBatch = (key: string): boolean => key.endsWith("0");
  let repeated = 0;
  /** Resolves when the service runs: meanwhile another service of the machine may have the port. */
  let running: Promise<void> = Promise.resolve();
  /** Sends a change until an answer comes. */
  async function send(key: string): Promise<void> {
    const [path, body] = isBatch(key) ? ["/api/batch", batchOf(key, key)] : ["/api/notes", { text: key }];
    for (let tries = 0; ; tries++) {
      await running;
      const answer = await post(server.url + path, body, { "Idempotency-Key": key }).catch(() => null);
      const text = await answer?.text().catch(() => null);
      if (answer != null && text != null && answer.status !== 503 && answer.status !== 409) {
        const status = isBatch(key) ? 200 : 201;
        expect([key, answer.status, answer.status === status ? "" : text]).toEqual([key, status, ""]);
        if (tries > 0 && answer.headers.get("idempotency-replayed") === "true") repeated += 1;
        answers.getOrInsertComputed(key, () => new Set()).add(text);
        return;
      }
      await Bun.sleep(2);
    }
  }
  for (let round = 0; round < 10; round++) {
    let isKilled = false;
    const restart = async (): Promise<void> => {
      isKilled = true;
      server.signal("SIGKILL");
      await server.exited;
      server = await serve(cwd);
    };
    const killing = Bun.sleep(20 + random() * 40).then(() => {
      running = restart();
      return running;
    });
    const keys: string[] = [];
    const clients = Array.from({ length: 16 }, async () => {
      while (!isKilled) {
        const key = `${round}-${keys.length}`;
        keys.push(key);
        await send(key);
      }
    });
    await Promise.all([killing, ...clients]);
    await inParallel(keys, 8, send);
  }
  const texts = (await textsOf(server.url)).sort();
  expect(texts).toEqual([...answers.keys()].flatMap((key) => (isBatch(key) ? [key, key] : [key])).sort());
  const { items } = (await (await fetch(`${server.url}/api/notes`)).json()) as RecordList;
  const ids = new Map(items.map(({ id, text }) => [id, text]));
  for (const [key, given] of answers) {
    expect([key, given.size]).toEqual([key, 1]);
    const [answer] = [...given].map((text) => JSON.parse(text));
    const told = isBatch(key) ? answer.results.map(({ body }: BatchResult) => body?.id) : [answer.id];
    for (const id of told) expect([id, ids.get(id)]).toEqual([id, key]);
  }
  console.log(`${answers.size} changes, ${repeated} whose first answer was lost`);
  expect(repeated).toBeGreaterThan(0);
  using database = new Database(join(cwd, "socle.db"), { readonly: true });
  const events = database.query("SELECT count(*) AS n FROM _events WHERE type = 'notes.created'").get();
  expect(events).toEqual({ n: texts.length });
});

/** A proxy that loses the next answer after `lose`: the request arrives at the service, and the client gets no byte. */
async function losingProxy(target: string): Promise<{ url: string; lose: () => void; lost: () => number }> {
  const { hostname, port } = new URL(target);
  let losesNext = false;
  let lost = 0;
  const sockets = new Set<Socket>();
  const proxy = createServer((client) => {
    const service = dial(Number(port), hostname);
    for (const socket of [client, service]) {
      sockets.add(socket);
      socket.on("error", () => undefined);
      socket.on("close", () => {
        sockets.delete(socket);
        client.destroy();
        service.destroy();
      });
    }
    client.pipe(service);
    service.on("data", (bytes) => {
      if (!losesNext) return client.write(bytes);
      losesNext = false;
      lost += 1;
      return client.destroy();
    });
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  afterAll(() => {
    proxy.close();
    for (const socket of sockets) socket.destroy();
  });
  const address = proxy.address();
  if (address === null || typeof address === "string") throw new Error("The proxy has no port");
  const lose = (): void => {
    losesNext = true;
  };
  return { url: `http://127.0.0.1:${address.port}`, lose, lost: () => lost };
}

test("the client whose response was lost gets the record of its first request", async () => {
  const server = await serve(await project({ collections: [notes] }));
  const proxy = await losingProxy(server.url);
  const client = new SocleClient({ baseUrl: proxy.url });
  proxy.lose();
  const made = await client.collection("notes").create({ text: "created" });
  proxy.lose();
  const [first] = await client.batch([{ method: "create", collection: "notes", body: { text: "in a batch" } }]);
  expect(proxy.lost()).toBe(2);
  const { items } = (await (await fetch(`${server.url}/api/notes`)).json()) as RecordList;
  expect(items).toEqual([first, made] as never);

  const careless = new SocleClient({ baseUrl: proxy.url, retries: 0 });
  proxy.lose();
  await expect(careless.collection("notes").create({ text: "not sent again" })).rejects.toThrow();
  expect(proxy.lost()).toBe(3);
  expect(await textsOf(server.url)).toEqual(["not sent again", "in a batch", "created"]);
});

test("an endpoint goes on for a client that has left, and the client finds the response", async () => {
  const cwd = await scriptProject({
    collections: [collection("items")],
    files: {
      "endpoints/orders.ts": `
        export const access = "public";
        export const POST = async (request, { db, signal }) => {
          const order = await db.collection("items").create({ n: 1 });
          while ((await db.collection("items").list()).length < 2) await Bun.sleep(5);
          await db.collection("items").create({ n: 3 });
          return Response.json({ order: order.id, isAborted: signal.aborted }, { status: 201 });
        };`,
    },
  });
  const server = await serve(cwd);
  const items = async () => ((await (await fetch(`${server.url}/api/items`)).json()) as RecordList).items;
  const headers = { "Idempotency-Key": "order-1" };
  const order = (signal?: AbortSignal) =>
    fetch(`${server.url}/api/function/orders`, { method: "POST", body: "{}", headers, ...(signal && { signal }) });
  const leaving = new AbortController();
  const first = order(leaving.signal).catch(() => "left");
  while ((await items()).length === 0) await Bun.sleep(2);
  leaving.abort();
  expect(await first).toBe("left");
  expect((await order()).status).toBe(409);
  await post(`${server.url}/api/items`, { n: 2 });
  let again = await order();
  while (again.status === 409) again = await order();
  expect([again.status, again.headers.get("idempotency-replayed")]).toEqual([201, "true"]);
  const [third, second, made] = await items();
  expect(await again.json()).toEqual({ order: made?.id, isAborted: false });
  expect([third?.["n"], second?.["n"], (await items()).length]).toEqual([3, 2, 3]);
});
