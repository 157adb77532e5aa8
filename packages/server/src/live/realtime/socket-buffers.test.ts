/**
 * Tests of events that are too large for one turn of the event loop: each socket gets each event once, in spite of actions
 * meanwhile.
 */
import { expect, test } from "bun:test";
import { quietLogger } from "../../../test/kit.ts";
import { openServer, until } from "../../../test/sockets.ts";
import { nextTurn, system } from "../../base/kernel/index.ts";
import { LimitMeter } from "../../base/logging/index.ts";
import { type Buffered, type Publisher, SocketBuffers } from "./socket-buffers.ts";

/** A slow socket of one topic, so that each turn of the event loop sends to a single socket. */
class SlowSocket implements Buffered {
  isSlow = false;
  topic = "t";
  readonly heard: string[] = [];

  waiting(): number {
    return 0;
  }

  hasJoined(topic: string): boolean {
    return topic === this.topic;
  }

  sendNow(text: string): void {
    Bun.sleepSync(10);
    this.heard.push(text.slice(0, 1));
  }

  cutOff(): void {
    throw new Error("Nothing waits in this socket");
  }
}

function many(count: number) {
  const sockets = new Set(Array.from({ length: count }, () => new SlowSocket()));
  const publisher: Publisher = {
    publish: (topic, text) => {
      for (const socket of sockets) if (socket.hasJoined(topic)) socket.heard.push(text.slice(0, 1));
    },
    subscriberCount: (topic) => [...sockets].filter((socket) => socket.hasJoined(topic)).length,
  };
  const limits = new LimitMeter(quietLogger());
  const buffers = new SocketBuffers({ sockets, limits, limit: 1024 ** 2, total: 64 * 1024 ** 2 });
  return { sockets, publish: (text: string) => buffers.publish(publisher, ["t"], text), buffers };
}

const large = "L".repeat(1024 ** 2);

test("an event that is not large goes to all sockets at once", () => {
  const { sockets, publish } = many(8);
  expect(publish("s")).toBeUndefined();
  for (const { heard } of sockets) expect(heard).toEqual(["s"]);
});

test("a large event leaves the event loop to others; a socket that changes its subscriptions receives the event first, an ending socket does not", async () => {
  const { sockets, publish, buffers } = many(8);
  const [, second, third, fourth, fifth] = [...sockets];
  if (second === undefined || third === undefined || fourth === undefined || fifth === undefined) throw new Error();
  fifth.topic = "elsewhere";
  const sending = publish(large);
  const turns: number[] = [];
  const count = (): number => [...sockets].filter(({ heard }) => heard.length > 0).length;
  turns.push(count());
  buffers.catchUp(third);
  buffers.catchUp(third);
  expect(third.heard).toEqual(["L"]);
  third.topic = "elsewhere";
  buffers.ending(fourth);
  sockets.delete(fourth);
  // A socket that joins now does not get the event.
  fifth.topic = "t";
  while (count() < 6) {
    await nextTurn();
    turns.push(count());
  }
  await sending;
  expect([...sockets].map(({ heard }) => heard.length)).toEqual([1, 1, 1, 0, 1, 1, 1]);
  expect(fourth.heard).toEqual([]);
  expect(turns[0]).toBe(1);
  expect(turns.length).toBeGreaterThan(3);
});

test("sockets that open, end and resume while large events are sent receive each event once, in order", async () => {
  const { service, connect } = await openServer({
    collections: [{ name: "notes", fields: [{ name: "text", type: "text" }] }],
    settings: { SERVICE_LIMITS_BODY: "2MiB", SERVICE_REALTIME_BUFFER_LIMIT: "64MiB" },
  });
  const clients = await Promise.all(Array.from({ length: 16 }, () => connect()));
  for (const client of clients) await client.subscribe("notes.*");
  const { record } = await service.records.create("notes", system, { text: "first" });
  const since = (await service.events.at(service.events.flushedSeq))?.id;
  const text = "x".repeat(400_000);
  const writes = Array.from({ length: 12 }, () => service.records.create("notes", system, { text }));
  // Replays pause live channels and go live again, in the middle of an event.
  for (let n = 0; n < 40; n++) {
    clients[n % 16]?.send({ action: "subscribe", channel: n % 3 === 0 ? "notes.created" : "notes.*", since });
    await nextTurn();
  }
  const ids = (await Promise.all(writes)).map((each) => each.record.id);
  const heard = (client: (typeof clients)[number]): unknown[] =>
    client.frames.flatMap((frame) => (frame.type === "event" ? [frame.event.payload["id"]] : []));
  await until(() => clients.every((client) => heard(client).length >= 13));
  await Bun.sleep(50);
  for (const client of clients) expect(heard(client)).toEqual([record.id, ...ids]);
});
