/** The other end of the channels of the conformance tests: a thread, or a process with messages, or with a socket as descriptor 3. */
import { Channel, type ChannelMessage, channelOver, Link, messageIn, ownerChannel } from "../src/base/channel/index.ts";
import { AppError } from "../src/base/kernel/index.ts";

/** The handlers of the test. */
export interface ForTest {
  number(n: number): void;
  double(n: number): Promise<number>;
}

const handlers = {
  echo: (value: unknown) => value,
  refuse: () => {
    const details = [{ field: "title", rule: "required", message: "title is required" }] as const;
    throw new AppError("validation_error", "The field is not valid.", {
      details: [...details],
      retryAfter: 7,
      limit: "bodies",
      status: 412,
      cause: new Error("a reason"),
    });
  },
  fail: () => {
    throw Object.assign(new Error("the disk is full"), { code: "ENOSPC" });
  },
  /** Ends when the caller does not wait any more. */
  wait: (_: null, signal: AbortSignal) =>
    new Promise<string>((resolve) => signal.addEventListener("abort", () => resolve("cancelled"))),
  later: async (ms: number) => {
    await Bun.sleep(ms);
    return ms;
  },
  /** Sends messages, and then the answer. */
  count: (to: number) => {
    for (let n = 1; n <= to; n++) test.tell("number", n);
    return "counted";
  },
  /** Calls the test meanwhile. */
  quadruple: async (n: number) => test.call("double", await test.call("double", n)),
  die: () => process.exit(3),
};
export type PeerHandlers = typeof handlers;

async function open(): Promise<Channel<ForTest, PeerHandlers>> {
  if (!Bun.isMainThread) return ownerChannel(handlers);
  if (process.argv[2] === "link") {
    const link = await Link.open(3, {
      onFrame: (frame) => channel.receive(messageIn(frame)),
      onClosed: () => process.exit(0),
      onError: () => process.exit(1),
    });
    const channel = channelOver<ForTest, PeerHandlers>(link, { kind: 1, ours: handlers });
    return channel;
  }
  const channel = new Channel<ForTest, PeerHandlers>((message) => process.send?.(message), handlers);
  process.on("message", (message: ChannelMessage) => channel.receive(message));
  return channel;
}

const test = await open();
