/** A client that loses its socket at any moment and resumes with `since` misses nothing and gets nothing twice. */
import { expect, test } from "bun:test";
import type { Event, RecordList, ServerFrame } from "@socle/protocol";
import { randomNumbers, randomSeed } from "../packages/server/test/random.ts";
import { inParallel, post, project, serve } from "./kit.ts";

const drops = 200;
const random = randomNumbers(randomSeed("resume"));

test(`writes at full speed, ${drops} broken sockets: the client's list is the server's`, async () => {
  const cwd = await project({ collections: [{ name: "items", fields: [{ name: "n", type: "integer" }] }] });
  const { url, stop } = await serve(cwd);

  // The writers: sixteen at a time, as fast as they are answered, until the reader has lost its socket often enough.
  let isWriting = true;
  let writes = 0;
  const ids: string[] = [];
  async function write(): Promise<void> {
    while (isWriting) {
      const id = ids[Math.floor(random() * ids.length)];
      const kind = random();
      const body = { n: writes };
      writes += 1;
      if (id === undefined || kind < 0.5) {
        const response = await post(`${url}/api/items`, body);
        ids.push(((await response.json()) as { id: string }).id);
      } else if (kind < 0.8) {
        const headers = { "Content-Type": "application/json" };
        const response = await fetch(`${url}/api/items/${id}`, { method: "PUT", headers, body: JSON.stringify(body) });
        // Somebody else may have deleted it.
        if (response.status === 404) writes -= 1;
      } else {
        ids.splice(ids.indexOf(id), 1);
        const response = await fetch(`${url}/api/items/${id}`, { method: "DELETE" });
        if (response.status === 404) writes -= 1;
      }
    }
  }

  // The reader: what it knows is made of events alone.
  const records = new Map<string, Event["payload"]>();
  const heard: string[] = [];
  function apply({ id, type, payload }: Event): void {
    heard.push(id);
    if (type === "items.deleted") records.delete(String(payload["id"]));
    else records.set(String(payload["id"]), payload);
  }
  function connect(since: string | undefined): { socket: WebSocket; subscribed: Promise<void> } {
    const socket = new WebSocket(`${url.replace("http", "ws")}/api/realtime`);
    const { promise: subscribed, resolve, reject } = Promise.withResolvers<void>();
    socket.onopen = () => socket.send(JSON.stringify({ action: "subscribe", channel: "items.*", since }));
    socket.onmessage = ({ data }) => {
      const frame = JSON.parse(String(data)) as ServerFrame;
      if (frame.type === "event") apply(frame.event);
      else if (frame.type === "subscribed") resolve();
      else reject(new Error(String(data)));
    };
    return { socket, subscribed };
  }

  let { socket, subscribed } = connect(undefined);
  await subscribed;
  // From the first event on there is a place to resume from; before it, a break would be a gap that nobody can know of.
  ids.push(((await (await post(`${url}/api/items`, { n: -1 })).json()) as { id: string }).id);
  writes += 1;
  while (heard.length === 0) await Bun.sleep(1);
  const writers = inParallel(Array.from({ length: 16 }), 16, write);
  for (let drop = 0; drop < drops; drop++) {
    // Often before the socket is open or the replay is through, at times long after.
    await Bun.sleep(random() ** 3 * 60);
    socket.onmessage = null;
    socket.onopen = null;
    socket.terminate();
    if (random() < 0.3) await Bun.sleep(random() * 20);
    ({ socket, subscribed } = connect(heard.at(-1)));
    subscribed.catch(() => undefined);
  }
  isWriting = false;
  await writers;
  await subscribed;
  const end = performance.now() + 10_000;
  while (heard.length < writes && performance.now() < end) await Bun.sleep(5);
  await Bun.sleep(50);

  expect(heard).toHaveLength(writes);
  expect(new Set(heard).size).toBe(writes);
  expect(heard).toEqual([...heard].sort());
  const { items } = (await (await fetch(`${url}/api/items`)).json()) as RecordList;
  expect(items.length).toBeGreaterThan(100);
  const byId = (a: { id?: unknown }, b: { id?: unknown }): number => (String(a.id) < String(b.id) ? -1 : 1);
  expect([...records.values()].sort(byId)).toEqual([...items].sort(byId));
  socket.close();
  expect(await stop()).toBe(0);
});
