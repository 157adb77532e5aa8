/**
 * `npm run test:hostile`: attacks of one user on rooms, each beside a control, which sends as many frames that ask for nothing. The test asserts who
 * was refused, and that another user's room hears each message in order; the times of the other user are printed beside those of the control.
 */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { post, project, type Running, serve, until } from "../kit.ts";
import { RoomClient } from "../room-socket.ts";
import { quantile, sample } from "./measure.ts";
import { bearer } from "./raw.ts";

const seconds = 6;
/** Messages of a user in a second. */
const rate = 100;

interface World {
  readonly server: Running;
  readonly cwd: string;
  readonly ann: string;
  readonly bob: string;
}

async function prepare(): Promise<World> {
  const notes = { name: "notes", fields: [{ name: "text", type: "text" }], permissions: { read: "public" } };
  const cwd = await project({ collections: [notes], config: { limits: { roomMessages: rate } } });
  const lobby = { key: "string", join: "authenticated", presence: ["cursor"], events: ["hi"] };
  await Bun.write(join(cwd, "rooms/lobby.json"), JSON.stringify(lobby));
  const server = await serve(cwd);
  const user = async (name: string): Promise<string> => {
    const values = { email: `${name}@example.com`, password: "a long password" };
    const answer = await post(`${server.url}/api/auth/register`, values);
    return ((await answer.json()) as { accessToken: string }).accessToken;
  };
  return { server, cwd, ann: await user("ann"), bob: await user("bob") };
}

const isOpen = ({ code }: RoomClient): boolean => code === null;

/** Sends frames over some sockets of the attacker, each as fast as answers to pings come, until the end. */
async function flood(
  { server, ann }: World,
  { width, frames, until: isOver }: { width: number; frames: (n: number) => readonly object[]; until: () => boolean },
): Promise<{ readonly sent: number; readonly codes: Map<string, number>; readonly closed: Map<number, number> }> {
  let sent = 0;
  const codes = new Map<string, number>();
  const closed = new Map<number, number>();
  const line = async (): Promise<void> => {
    while (!isOver()) {
      const client = await RoomClient.open(server.url, ann).catch(() => null);
      if (client === null) continue;
      while (!isOver() && isOpen(client)) {
        for (const frame of frames(sent)) {
          client.send(frame);
          sent += 1;
        }
        client.send({ action: "ping" });
        const pongs = (): number => client.frames.filter(({ type }) => type === "pong").length;
        await until(() => pongs() > 0 || !isOpen(client) || isOver());
        for (const frame of client.frames.splice(0))
          if (frame.type === "error") codes.set(frame.code, (codes.get(frame.code) ?? 0) + 1);
      }
      if (client.code !== null) closed.set(client.code, (closed.get(client.code) ?? 0) + 1);
      client.close();
    }
  };
  await Promise.all(Array.from({ length: width }, line));
  return { sent, codes, closed };
}

interface Outcome extends Awaited<ReturnType<typeof flood>> {
  /** Milliseconds of the messages and the reads of the other user. */
  readonly times: { readonly message: number[]; readonly read: number[] };
  /** Frames that a socket of the attacker's room got. */
  readonly heard: number;
  /** MiB above the memory before. */
  readonly memory: number;
}

const watched = { room: "lobby", key: "attacked" };

async function suffer(width: number, frames: (n: number) => readonly object[]): Promise<Outcome> {
  const world = await prepare();
  const { server, cwd, bob } = world;
  const [from, to, watcher] = await Promise.all([1, 2, 3].map(() => RoomClient.open(server.url, bob)));
  if (from === undefined || to === undefined || watcher === undefined) throw new Error("No sockets");
  await from.join("lobby", "calm");
  await to.join("lobby", "calm");
  await watcher.join(watched.room, watched.key);
  const before = (await sample(server.pid, cwd)).memory;
  let isOver = false;
  const flooding = flood(world, { width, frames, until: () => isOver });
  const times = { message: [] as number[], read: [] as number[] };
  const end = performance.now() + seconds * 1_000;
  let memory = 0;
  for (let n = 0; performance.now() < end; n++) {
    const sentAt = performance.now();
    from.send({ action: "send", room: "lobby", key: "calm", event: "hi", payload: n });
    await until(() => to.payloads.length > n);
    times.message.push(performance.now() - sentAt);
    const readAt = performance.now();
    expect((await fetch(`${server.url}/api/notes`, { headers: bearer(bob) })).status).toBe(200);
    times.read.push(performance.now() - readAt);
    if (n % 20 === 0) memory = Math.max(memory, (await sample(server.pid, cwd)).memory - before);
    await Bun.sleep(10);
  }
  isOver = true;
  const outcome = await flooding;
  // Each message of the other user has arrived, in order.
  expect(to.payloads).toEqual(to.payloads.map((_, n) => n));
  expect(from.errors).toEqual([]);
  const heard = watcher.frames.filter(({ type }) => type === "message" || type === "presence").length;
  expect(await server.stop()).toBe(0);
  return { ...outcome, times, heard, memory };
}

const cases: {
  readonly [name: string]: {
    readonly width: number;
    readonly frames: (n: number) => readonly object[];
    readonly check: (outcome: Outcome) => void;
  };
} = {
  "1,000 joins of one socket": {
    width: 4,
    frames: (n) => Array.from({ length: 1_000 }, (_, i) => ({ action: "join", room: "lobby", key: `k${n + i}` })),
    check({ sent, codes }) {
      const refused = (codes.get("subscription_limit") ?? 0) + (codes.get("room_limit") ?? 0);
      // 50 rooms of each of the four sockets.
      expect(sent - refused).toBeLessThanOrEqual(4 * 50 + 4 * 1_000);
      expect(refused).toBeGreaterThan(1_000);
    },
  },
  "states of 1 MB": {
    width: 4,
    frames: () => [
      { action: "join", ...watched },
      { action: "state", ...watched, state: { cursor: "x".repeat(1_000_000) } },
    ],
    check({ closed, heard }) {
      expect([...closed.keys()]).toEqual([1009]);
      // The members that came and left, and no state.
      expect(heard).toBeLessThan(2 * (seconds + 2) * 20);
    },
  },
  "messages of one user": {
    width: 8,
    frames: (n) => [
      ...(n === 0 ? [] : []),
      { action: "join", ...watched },
      ...Array.from({ length: 200 }, (_, i) => ({ action: "send", ...watched, event: "hi", payload: n + i })),
    ],
    check({ sent, codes, heard }) {
      // The messages of a second at once, then the rate; and news about members, 20 times in a second.
      expect(heard).toBeLessThanOrEqual((seconds + 3) * (rate + 20));
      expect(codes.get("room_limit") ?? 0).toBeGreaterThan(sent / 2);
    },
  },
};

const pings = (count: number) => () => Array.from({ length: count }, () => ({ action: "ping" }));

test.each(Object.keys(cases).filter((name) => name.includes(process.env["HOSTILE_ONLY"] ?? "")))(
  "%s",
  async (name) => {
    const { width, frames, check } = cases[name] as (typeof cases)[string];
    const control = await suffer(width, pings(frames(1).length));
    const attack = await suffer(width, frames);
    const shown = ({ times }: Outcome): string =>
      (["message", "read"] as const)
        .map((kind) => `${kind} ${[0.5, 0.99].map((part) => quantile(times[kind], part).toFixed(1)).join(", ")}`)
        .join("; ");
    const counted = JSON.stringify({ sent: attack.sent, codes: [...attack.codes], closed: [...attack.closed] });
    console.log(
      `| ${name} | p50, p99 ms: control ${shown(control)}; attack ${shown(attack)} | ${counted} | ${attack.heard} heard | ${attack.memory.toFixed(0)} MiB |`,
    );
    check(attack);
  },
  120_000,
);
