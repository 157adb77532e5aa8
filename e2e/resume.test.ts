/**
 * A client that loses its socket at any moment and resumes with `since` misses nothing and gets nothing twice. Of a record
 * that was deleted meanwhile, a replay brings the deletion alone.
 */
// Promises: E2.
import { expect, test } from "bun:test";
import type { Event, RecordList, ServerFrame } from "@socle/protocol";
import { randomNumbers, randomSeed } from "../packages/server/test/random.ts";
import { inParallel, isLong, patience, post, project, serve, until } from "./kit.ts";

const drops = isLong ? 200 : 60;
const random = randomNumbers(randomSeed("resume"));

test(`writes at full speed, ${drops} broken sockets: the client's list is the server's`, async () => {
  const cwd = await project({ collections: [{ name: "items", fields: [{ name: "n", type: "integer" }] }] });
  const { url, stop } = await serve(cwd);

  // The writers: sixteen at a time, without pauses, until the reader has lost its socket often enough.
  let isWriting = true;
  let writes = 0;
  const ids: string[] = [];
  /** The number of writes of each record that still exists, and the deleted records. */
  const written = new Map<string, number>();
  const deleted = new Set<string>();
  const wrote = (id: string): unknown => written.set(id, (written.get(id) ?? 0) + 1);
  async function write(): Promise<void> {
    while (isWriting) {
      const id = ids[Math.floor(random() * ids.length)];
      const kind = random();
      const body = { n: writes };
      writes += 1;
      if (id === undefined || kind < 0.5) {
        const response = await post(`${url}/api/items`, body);
        const { id } = (await response.json()) as { id: string };
        ids.push(id);
        wrote(id);
      } else if (kind < 0.8) {
        const headers = { "Content-Type": "application/json" };
        const response = await fetch(`${url}/api/items/${id}`, { method: "PUT", headers, body: JSON.stringify(body) });
        // Another writer may have deleted the record.
        if (response.status === 200) wrote(id);
      } else {
        ids.splice(ids.indexOf(id), 1);
        const response = await fetch(`${url}/api/items/${id}`, { method: "DELETE" });
        if (response.status === 204) deleted.add(id);
      }
    }
  }

  // The reader: the knowledge comes from events alone.
  const records = new Map<string, Event["payload"]>();
  const heard: string[] = [];
  const heardOf = new Map<string, number>();
  const heardDeleted: string[] = [];
  function apply({ id, type, payload }: Event): void {
    heard.push(id);
    const about = String(payload["id"]);
    if (type === "items.deleted") heardDeleted.push(about);
    else heardOf.set(about, (heardOf.get(about) ?? 0) + 1);
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
      else if (frame.type !== "connected") reject(new Error(String(data)));
    };
    return { socket, subscribed };
  }

  let { socket, subscribed } = connect(undefined);
  await subscribed;
  // From the first event on, the reader has a place to resume from; a break before the first event would be an unnoticed gap.
  const { id: first } = (await (await post(`${url}/api/items`, { n: -1 })).json()) as { id: string };
  ids.push(first);
  wrote(first);
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
  // On a busy machine, the sockets break faster than records are written.
  await until(() => ids.length > 150);
  isWriting = false;
  await writers;
  await subscribed;
  const end = performance.now() + patience;
  for (const id of deleted) written.delete(id);
  const isThrough = (): boolean =>
    heardDeleted.length >= deleted.size && [...written].every(([id, times]) => (heardOf.get(id) ?? 0) >= times);
  while (!isThrough() && performance.now() < end) await Bun.sleep(5);
  await Bun.sleep(50);

  expect(new Set(heard).size).toBe(heard.length);
  expect(heardDeleted.sort()).toEqual([...deleted].sort());
  expect([...written].filter(([id, times]) => heardOf.get(id) !== times)).toEqual([]);
  expect(heard).toEqual([...heard].sort());
  const { items } = (await (await fetch(`${url}/api/items`)).json()) as RecordList;
  expect(items.length).toBeGreaterThan(100);
  const byId = (a: { id?: unknown }, b: { id?: unknown }): number => (String(a.id) < String(b.id) ? -1 : 1);
  expect([...records.values()].sort(byId)).toEqual([...items].sort(byId));
  socket.close();
  expect(await stop()).toBe(0);
});
