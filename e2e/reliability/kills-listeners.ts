/** The listeners of the kills: each hears one channel, and resumes after each kill with the last event heard. */
export const channels = [
  "items.*",
  "notes.*",
  "effects.*",
  "storage.uploaded",
  "storage.deleted",
  "function.completed",
  "auth.register",
  "job.completed",
] as const;

interface Frame {
  readonly type: string;
  readonly code?: string;
  readonly event?: { readonly id: string; readonly type: string };
}

export class Listener {
  readonly channel: string;
  readonly #base: string;
  readonly heard: string[] = [];
  readonly problems: string[] = [];
  #socket: WebSocket | null = null;

  /** @param since the event after which everything is to be heard. */
  constructor(channel: string, since: string) {
    this.channel = channel;
    this.#base = since;
  }

  /** The last event heard. */
  get last(): string {
    return this.heard.at(-1) ?? this.#base;
  }

  /** Resolves when the listener is subscribed again, or when a kill of the service prevents the subscription. */
  connect(url: string, token: string): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.close();
    const socket = new WebSocket(`${url.replace("http", "ws")}/api/realtime?token=${token}`);
    this.#socket = socket;
    socket.onopen = () => socket.send(JSON.stringify({ action: "subscribe", channel: this.channel, since: this.last }));
    socket.onmessage = ({ data }) => {
      // Late events of a replaced socket would come after the events of the successor.
      if (socket !== this.#socket) return;
      const frame = JSON.parse(String(data)) as Frame;
      if (frame.event !== undefined) this.#hear(frame.event.id);
      else if (frame.type === "subscribed") resolve();
      else if (frame.type !== "connected") this.problems.push(`${this.channel}: ${frame.code ?? frame.type}`);
    };
    socket.onclose = () => resolve();
    return promise;
  }

  close(): void {
    const socket = this.#socket;
    this.#socket = null;
    socket?.close();
  }

  #hear(id: string): void {
    if (id <= this.last) this.problems.push(`${this.channel}: ${id} came after ${this.last}`);
    else this.heard.push(id);
  }

  /** @param logged the events of the channel; @param mayMiss events that a replay leaves out, because the records are gone. */
  missed(logged: readonly string[], mayMiss: ReadonlySet<string>): string[] {
    const heard = new Set(this.heard);
    const known = new Set(logged);
    const missed = logged.filter((id) => id > this.#base && !heard.has(id) && !mayMiss.has(id));
    const foreign = this.heard.filter((id) => !known.has(id));
    return [
      ...missed.map((id) => `${this.channel}: ${id} was never heard`),
      ...foreign.map((id) => `${this.channel}: ${id} was heard and is not in the log`),
    ];
  }
}
