/** A client of a live query: keeps the window as the frames tell, and resumes after a break. */
import type { ServerFrame } from "@socle/protocol";
import type { TestServer, TestSocket } from "./sockets.ts";
import { until } from "./sockets.ts";

type Item = { readonly [name: string]: unknown };
type Query = { readonly [name: string]: string | number };

export class LiveClient {
  items: Item[] = [];
  total: number | null = null;
  seq: number | null = null;
  /** Frames with a window so far. */
  frames = 0;
  error: string | null = null;
  readonly #server: TestServer;
  readonly #query: Query;
  readonly id: string;
  #socket: TestSocket | null = null;
  #read = 0;

  constructor(server: TestServer, query: Query, id = "live") {
    this.#server = server;
    this.#query = query;
    this.id = id;
  }

  async connect(token: string | undefined, since: number | null = this.seq): Promise<void> {
    this.#socket = await this.#server.connect(token);
    this.#read = 0;
    this.error = null;
    this.#socket.send({ action: "subscribe", id: this.id, query: this.#query, ...(since !== null && { since }) });
    const before = this.frames;
    await until(() => {
      this.#follow();
      return this.frames > before || this.error !== null;
    });
  }

  break(): void {
    this.#follow();
    this.#socket?.socket.close();
    this.#socket = null;
  }

  /** Applies the frames that have come. */
  follow(): void {
    this.#follow();
  }

  #follow(): void {
    const frames = this.#socket?.frames ?? [];
    for (const frame of frames.slice(this.#read)) this.#take(frame);
    this.#read = frames.length;
  }

  #take(frame: ServerFrame): void {
    if (frame.type === "error") {
      this.error = `${frame.code}: ${frame.message}`;
      return;
    }
    if (frame.type === "position") {
      if (this.seq !== null && frame.seq < this.seq) throw new Error("A position goes back");
      this.seq = frame.seq;
      return;
    }
    if (frame.type !== "result" && frame.type !== "change") return;
    this.frames += 1;
    if (this.seq !== null && frame.seq < this.seq)
      throw new Error(`A window goes back from ${this.seq} to ${frame.seq}`);
    this.seq = frame.seq;
    if (frame.items === undefined) throw new Error("The frame has no records");
    this.total = frame.total ?? null;
    if (frame.type === "result") {
      this.items = frame.items;
      return;
    }
    const known = new Map([...this.items, ...frame.items].map((item) => [String(item["id"]), item]));
    this.items = frame.order.map((id) => {
      const item = known.get(id);
      if (item === undefined) throw new Error(`The change names ${id}, which the client does not have`);
      return item;
    });
  }
}
