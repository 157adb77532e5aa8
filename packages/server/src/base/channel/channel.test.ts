/** The conformance tests of channels, over each carrier. */
import { afterEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { ForTest, PeerHandlers } from "../../../test/channel-peer.ts";
import { Channel, channelOver, Link, messageIn, PeerError, Thread } from "./index.ts";

type TestChannel = Channel<PeerHandlers, ForTest>;

const peer = join(import.meta.dir, "../../../test/channel-peer.ts");

/** Each opens a channel to a peer of its own. */
const carriers: { readonly [name: string]: (ours: ForTest) => Promise<TestChannel> } = {
  "messages of a thread": async (ours) => new Thread<PeerHandlers, ForTest>(peer, { name: "The peer", ours }),
  "messages of a process": async (ours) => {
    const child = Bun.spawn([process.execPath, peer], {
      stdio: ["ignore", "inherit", "inherit"],
      serialization: "advanced",
      ipc: (message) => channel.receive(message),
    });
    const channel: TestChannel = new Channel((message) => child.send(message), ours);
    closers.push(() => child.kill());
    void child.exited.then(() => channel.end(new Error("The peer has ended")));
    return channel;
  },
  "frames of a socket": async (ours) => {
    const child = Bun.spawn([process.execPath, peer, "link"], { stdio: ["ignore", "inherit", "inherit", "pipe"] });
    const descriptor = child.stdio[3];
    if (typeof descriptor !== "number") throw new Error("The peer has no link");
    const link = await Link.open(descriptor, {
      onFrame: (frame) => channel.receive(messageIn(frame)),
      onClosed: () => channel.end(new Error("The peer has ended")),
      onError: (thrown) => channel.end(new Error("A frame failed", { cause: thrown })),
    });
    const channel: TestChannel = channelOver(link, { kind: 1, ours });
    closers.push(() => child.kill());
    return channel;
  },
};

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

/** The error of a promise. `expect(…).rejects` blocks the runner during the wait, and hears no further thread. */
function failure(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => null,
    (thrown: unknown) => thrown,
  );
}

describe.each(Object.keys(carriers))("over %s", (name) => {
  async function open(ours: Partial<ForTest> = {}): Promise<TestChannel> {
    const channel = await carriers[name]?.({ number: () => undefined, double: async (n) => n * 2, ...ours });
    if (channel === undefined) throw new Error("No carrier");
    closers.push(() => channel.end(new Error("The test is over")));
    return channel;
  }

  test("values arrive as sent", async () => {
    const channel = await open();
    for (const value of ["é漢😀", "x".repeat(300_000), 1.5, null, { a: [{ b: false }] }])
      expect(await channel.call("echo", value)).toEqual(value);
  });

  test("calls run at the same time, and each gets its own answer", async () => {
    const channel = await open();
    const ended: number[] = [];
    const calls = [300, 1].map(async (ms) => ended.push(await channel.call("later", ms)));
    expect(channel.isBusy).toBe(true);
    await Promise.all(calls);
    expect(ended).toEqual([1, 300]);
    expect(channel.isBusy).toBe(false);
  });

  test("messages and the answer after the messages arrive in order", async () => {
    const told: number[] = [];
    const channel = await open({ number: (n) => void told.push(n) });
    expect(await channel.call("count", 1_000)).toBe("counted");
    expect(told).toEqual(Array.from({ length: 1_000 }, (_, n) => n + 1));
  });

  test("both ends may call", async () => {
    expect(await (await open()).call("quadruple", 3)).toBe(12);
  });

  test("the error of a refused call has code, details, limit, cause and the time to wait", async () => {
    const error = await failure((await open()).call("refuse", null));
    expect(error).toMatchObject({
      name: "AppError",
      code: "validation_error",
      message: "The field is not valid.",
      details: [{ field: "title", rule: "required", message: "title is required" }],
      retryAfter: 7,
      limit: "bodies",
      status: 412,
      cause: { message: "a reason" },
    });
  });

  test("another error has its message and the code of the system", async () => {
    const error = await failure((await open()).call("fail", null));
    expect(error).toBeInstanceOf(PeerError);
    expect(error).toMatchObject({ message: "the disk is full", code: "ENOSPC" });
  });

  test("a cancelled call is told to the handler, and ends with the answer", async () => {
    const channel = await open();
    const controller = new AbortController();
    const call = channel.call("wait", null, controller.signal);
    expect(await channel.call("echo", 1)).toBe(1);
    controller.abort();
    expect(await call).toBe("cancelled");
    expect(await channel.call("wait", null, AbortSignal.abort())).toBe("cancelled");
  });

  test("the end of the peer ends all calls, and later calls fail at once", async () => {
    const channel = await open();
    const calls = [channel.call("later", 60_000), channel.call("die", null)];
    for (const call of calls) expect(await failure(call)).toMatchObject({ message: "The peer has ended" });
    expect(channel.ended?.message).toBe("The peer has ended");
    expect(await failure(channel.call("echo", 1))).toMatchObject({ message: "The peer has ended" });
    channel.tell("echo", 1);
  });

  test("an answer after the end is dropped", async () => {
    const channel = await open();
    await channel.call("echo", 1);
    const call = channel.call("later", 20);
    channel.end(new Error("Nobody waits"));
    expect(await failure(call)).toMatchObject({ message: "Nobody waits" });
    await Bun.sleep(100);
    expect(channel.isBusy).toBe(false);
  });
});
