/** A client of rooms for tests: a raw socket that knows the members of its rooms by the frames, as a client of the documentation would. */
import { afterAll } from "bun:test";
import type { RoomMember, ServerFrame } from "@socle/protocol";
import { patience, until } from "./kit.ts";

export class RoomClient {
  readonly frames: ServerFrame[] = [];
  readonly #socket: WebSocket;
  /** By `room key`. */
  readonly #members = new Map<string, Map<string, RoomMember>>();
  code: number | null = null;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.onmessage = ({ data }) => this.#receive(JSON.parse(String(data)) as ServerFrame);
    socket.onclose = ({ code }) => {
      this.code = code;
    };
    afterAll(() => socket.close());
  }

  /** As `open`, again after a connection that the kernel gives to a process that is ending or beginning, because a client connects again then. */
  static async openAgain(url: string): Promise<RoomClient> {
    const end = performance.now() + patience;
    for (;;)
      try {
        return await RoomClient.open(url);
      } catch (thrown) {
        if (performance.now() > end) throw thrown;
      }
  }

  /** Resolves when the socket is open. */
  static async open(url: string, token = ""): Promise<RoomClient> {
    const client = new RoomClient(new WebSocket(`${url.replace("http", "ws")}/api/realtime?token=${token}`));
    await until(() => client.frames.length > 0 || client.code !== null);
    if (client.code !== null) throw new Error(`The socket was closed with ${client.code}`);
    return client;
  }

  send(frame: object): void {
    this.#socket.send(JSON.stringify(frame));
  }

  close(): void {
    this.#socket.close();
  }

  /** Joins, and answers the id of the member. @throws Error for a refusal. */
  async join(room: string, key: string, state?: object): Promise<string> {
    const from = this.frames.length;
    this.send({ action: "join", room, key, ...(state && { state }) });
    // A reload may end other memberships of the socket meanwhile, each with an error.
    const isOwn = (frame: ServerFrame): boolean => "room" in frame && "key" in frame && frame.key === key;
    const answer = (): ServerFrame | undefined =>
      this.frames.slice(from).find((frame) => isOwn(frame) && (frame.type === "joined" || frame.type === "error"));
    await until(() => answer() !== undefined);
    const frame = answer();
    if (frame?.type !== "joined") throw new Error(JSON.stringify(frame));
    return frame.id;
  }

  members(room: string, key: string): RoomMember[] {
    return [...(this.#members.get(`${room} ${key}`)?.values() ?? [])];
  }

  /** The payloads of the messages so far. */
  get payloads(): unknown[] {
    return this.frames.flatMap((frame) => (frame.type === "message" ? [frame.payload] : []));
  }

  get errors(): string[] {
    return this.frames.flatMap((frame) => (frame.type === "error" ? [frame.code] : []));
  }

  #receive(frame: ServerFrame): void {
    this.frames.push(frame);
    if (!("room" in frame)) return;
    const members = this.#members.getOrInsertComputed(`${frame.room} ${frame.key}`, () => new Map());
    if (frame.type === "joined") members.clear();
    if (frame.type === "joined") for (const member of frame.members) members.set(member.id, member);
    if (frame.type !== "presence") return;
    for (const member of [...(frame.came ?? []), ...(frame.changed ?? [])]) members.set(member.id, member);
    for (const id of frame.left ?? []) members.delete(id);
  }
}
