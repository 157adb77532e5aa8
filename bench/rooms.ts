/**
 * Rooms: the processor time for each delivered frame of a service whose members move their cursors, against the floor of a bare `socket.publish`, in turns:
 * `bun bench/rooms.ts`. A load is a number of rooms with as many members each; one member moves in each room, in a hundred rooms at most, 20 times a second.
 */
import { mkdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { executable } from "./executable.ts";
import type { MembersCommand, MembersResult } from "./load/room-members.ts";
import { median } from "./median.ts";
import { processorMs } from "./processor.ts";
import { type ServerProcess, startServer } from "./server.ts";

const rounds = Number(process.env["BENCH_ROUNDS"] ?? 5);
const seconds = Number(process.env["BENCH_SECONDS"] ?? 4);
const folder = join(tmpdir(), `socle-bench-rooms-${process.pid}`);

/** The process with the members. */
class Members {
  readonly #child = Bun.spawn([process.execPath, join(import.meta.dir, "load/room-members.ts")], {
    stdin: "pipe",
    stdout: "pipe",
    stderr: "inherit",
  });
  readonly #lines = this.#child.stdout.pipeThrough(new TextDecoderStream()).getReader();

  async tell(command: MembersCommand): Promise<MembersResult> {
    this.#child.stdin.write(`${JSON.stringify(command)}\n`);
    await this.#child.stdin.flush();
    let text = "";
    while (!text.endsWith("\n")) {
      const { value, done } = await this.#lines.read();
      if (done) throw new Error("The members have ended");
      text += value;
    }
    return JSON.parse(text) as MembersResult;
  }

  async stop(): Promise<void> {
    this.#child.kill();
    await this.#child.exited;
  }
}

interface Target {
  readonly server: ServerProcess;
  readonly members: Members;
}

async function startSocle(): Promise<ServerProcess> {
  const cwd = join(folder, crypto.randomUUID());
  await mkdir(join(cwd, "rooms"), { recursive: true });
  const definition = { key: "string", join: "public", presence: ["cursor"], events: ["cursor"] };
  await Bun.write(join(cwd, "rooms/board.json"), JSON.stringify(definition));
  const limits = { connectionsPerAddress: 10_000, roomMessages: 100_000 };
  await Bun.write(join(cwd, "config.json"), JSON.stringify({ port: 0, limits }));
  return startServer([executable], cwd);
}

/** A turn: the frames that the members got in a second, and the processor time of the server for each frame, in microseconds. */
async function turn({ server, members }: Target, action: "send" | "state"): Promise<{ us: number; frames: number }> {
  const before = processorMs(server.pid);
  const { frames, seconds: took } = await members.tell({ do: "move", action, seconds, perSecond: 20 });
  if (frames === 0) throw new Error("No frame arrived");
  return { us: ((processorMs(server.pid) - before) * 1_000) / frames, frames: frames / took };
}

async function measure(rooms: number, perRoom: number): Promise<void> {
  const socle = { server: await startSocle(), members: new Members() };
  const floor = {
    server: await startServer([process.execPath, join(import.meta.dir, "floor-rooms.ts")], folder),
    members: new Members(),
  };
  try {
    const idle = socle.server.resident();
    for (const { server, members } of [socle, floor])
      await members.tell({ do: "join", url: server.url, rooms, perRoom });
    const memory = socle.server.resident() - idle;
    const name = `${(rooms * perRoom).toLocaleString("en")} members in ${rooms === 1 ? "one room" : `${rooms} rooms`}`;
    for (const action of ["send", "state"] as const) {
      const [mine, bare, ratios]: [number[], number[], number[]] = [[], [], []];
      let frames = 0;
      for (let round = -1; round < rounds; round++) {
        const a = await turn(socle, action);
        const b = await turn(floor, action);
        // Round -1 warms both up and is not counted.
        if (round < 0) continue;
        mine.push(a.us);
        bare.push(b.us);
        ratios.push(a.us / b.us);
        frames = a.frames;
      }
      const cells = [
        name,
        action === "send" ? "messages" : "states",
        Math.round(frames).toLocaleString("en"),
        median(mine).toFixed(1),
        median(bare).toFixed(1),
        median(ratios).toFixed(2),
        `${memory.toFixed(0)} MiB`,
      ];
      console.log(`| ${cells.join(" | ")} |`);
    }
  } finally {
    for (const { server, members } of [socle, floor]) {
      await members.stop();
      await server.stop();
    }
  }
}

await mkdir(folder, { recursive: true });
console.log(
  "| | 20 times a second | frames/s | socle: µs of the processor for a frame | floor | ratio | memory of the members |",
);
console.log("|---|---|---|---|---|---|---|");
try {
  await measure(1, 1_000);
  await measure(500, 10);
} finally {
  await rm(folder, { recursive: true });
}
