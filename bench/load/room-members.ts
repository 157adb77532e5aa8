/**
 * Members of rooms on raw sockets, in a separate process. Each line of standard input is a command as JSON, each line of standard output
 * the answer. Frames are counted by their bytes: all frames of a turn have the same length.
 */
import { textFrame } from "./web-socket.ts";

export type MembersCommand =
  | { readonly do: "join"; readonly url: string; readonly rooms: number; readonly perRoom: number }
  /** One member moves in each room, in a hundred rooms at most. */
  | { readonly do: "move"; readonly action: "send" | "state"; readonly seconds: number; readonly perSecond: number };

export interface MembersResult {
  /** Movements, and frames that the members got. */
  readonly sent: number;
  readonly frames: number;
  /** The time of the turn. */
  readonly seconds: number;
}

interface Member {
  readonly socket: Bun.Socket<undefined>;
  readonly key: string;
}

/** Members that move at the same time, each in another room: with more, both sides would only show how well a full core puts frames together. */
const mostMovers = 100;
const movers: Member[] = [];
const members: Member[] = [];
/** A pong without a ping: a sign of life, as each client gives. */
const pong = Buffer.from([0x8a, 0x80, 0, 0, 0, 0]);
setInterval(() => {
  for (const { socket } of members) socket.write(pong);
}, 5_000);
let received = 0;
/** The bytes of a frame; 0 before the first. */
let frameBytes = 0;

/** The length of the frame at the beginning of some bytes. */
function lengthOf(bytes: Buffer): number {
  const short = (bytes[1] ?? 0) & 0x7f;
  return short < 126 ? short + 2 : bytes.readUInt16BE(2) + 4;
}

/** Connects and joins; resolves when the join is answered. */
async function join(url: string, key: string): Promise<Member> {
  const { hostname, port } = new URL(url);
  const { promise, resolve } = Promise.withResolvers<void>();
  let phase: "upgrading" | "joining" | "joined" = "upgrading";
  const socket = await Bun.connect<undefined>({
    hostname,
    port: Number(port),
    socket: {
      open(opened) {
        opened.write(
          `GET /api/realtime HTTP/1.1\r\nHost: ${hostname}:${port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n`,
        );
      },
      data(opened, data) {
        if (phase === "joined") {
          received += data.length;
          if (frameBytes === 0) frameBytes = lengthOf(data);
        } else if (phase === "joining") {
          if (!data.includes('"joined"')) return;
          phase = "joined";
          resolve();
        } else if (data.includes("101 Switching")) {
          phase = "joining";
          opened.write(textFrame(JSON.stringify({ action: "join", room: "board", key })));
        }
      },
    },
  });
  await promise;
  return { socket, key };
}

async function joinAll({ url, rooms, perRoom }: MembersCommand & { do: "join" }): Promise<MembersResult> {
  const keys = Array.from({ length: rooms * perRoom }, (_, n) => `room-${n % rooms}`);
  for (let n = 0; n < keys.length; n += 50) {
    const joined = await Promise.all(keys.slice(n, n + 50).map((key) => join(url, key)));
    members.push(...joined);
    for (const [i, member] of joined.entries()) if (n + i < Math.min(rooms, mostMovers)) movers.push(member);
  }
  // The last news about members that came.
  await Bun.sleep(1_000);
  return { sent: 0, frames: 0, seconds: 0 };
}

async function move({ action, seconds, perSecond }: MembersCommand & { do: "move" }): Promise<MembersResult> {
  received = 0;
  frameBytes = 0;
  let sent = 0;
  const pauseMs = 1_000 / perSecond;
  const start = performance.now();
  // A machine that is busy with other work makes fewer turns.
  for (let n = 0; performance.now() - start < seconds * 1_000; n++) {
    // The movers of a pause are spread over the pause, in ten parts.
    for (let part = 0; part < 10; part++) {
      const due = start + (n + part / 10) * pauseMs;
      const wait = due - performance.now();
      if (wait > 0) await Bun.sleep(wait);
      const cursor = [100 + (n % 800), 100 + part * 37];
      for (let i = part; i < movers.length; i += 10) {
        const { socket, key } = movers[i] as Member;
        const content = action === "send" ? { event: "cursor", payload: cursor } : { state: { cursor } };
        socket.write(textFrame(JSON.stringify({ action, room: "board", key, ...content })));
        sent += 1;
      }
    }
  }
  const took = (performance.now() - start) / 1_000;
  await Bun.sleep(200);
  return { sent, frames: frameBytes === 0 ? 0 : received / frameBytes, seconds: took };
}

for await (const line of console) {
  const command = JSON.parse(line) as MembersCommand;
  console.log(JSON.stringify(command.do === "join" ? await joinAll(command) : await move(command)));
}
