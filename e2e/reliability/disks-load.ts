/**
 * The load of the disks suite: creates, updates, deletes, uploads, a function and a socket, all at once, also while the service
 * is away. The load remembers acknowledged writes, and writes that may have been done without an answer.
 */
import { TestSocket } from "../../packages/server/test/sockets.ts";
import { Caller } from "./kills-caller.ts";

const clients = 8;
const unansweredPauseMs = 20;
const refusedPauseMs = 5;

export const loadCollections = [
  {
    name: "items",
    fields: [
      { name: "n", type: "integer", unique: true, required: true },
      { name: "text", type: "text" },
    ],
  },
];

export const loadFiles = {
  "functions/items/seen.ts": "export const onCreate = ({ record, logger }: any) => logger.debug(String(record.n));\n",
};

/** The number of a record; null for an absent record. */
type State = number | null;

interface Entry {
  readonly id: string;
  state: State;
  /** States that a request without a good answer may have brought about since. */
  possible: State[];
}

export class Load {
  /** The number of answers by status; 0 stands for no answer. */
  readonly answers = new Map<number, number>();
  readonly problems: string[] = [];
  readonly #admin: Caller;
  readonly #random: () => number;
  readonly #records: Entry[] = [];
  readonly #files = new Map<string, { readonly content: Uint8Array; isThere: boolean | "perhaps" }>();
  readonly #sockets: TestSocket[] = [];
  #next = 1;
  #isRunning = false;
  #work: Promise<unknown> = Promise.resolve();
  /** Whether the service has announced the end since the start. */
  #hasEnded = false;

  constructor(admin: Caller, random: () => number) {
    this.#admin = admin;
    this.#random = random;
  }

  get acknowledged(): number {
    return [...this.answers].reduce((sum, [status, count]) => sum + (status >= 200 && status < 300 ? count : 0), 0);
  }

  get refused(): number {
    return (this.answers.get(503) ?? 0) + (this.answers.get(500) ?? 0) + (this.answers.get(0) ?? 0);
  }

  /** Begins, or goes on with a service that was started again. */
  async start(): Promise<void> {
    this.#hasEnded = false;
    const socket = await TestSocket.open(this.#admin.url(), this.#admin.token);
    await socket.subscribe("items.*");
    this.#sockets.push(socket);
    this.#isRunning = true;
    this.#work = Promise.all(Array.from({ length: clients }, (_, client) => this.#client(client)));
  }

  async stop(): Promise<void> {
    this.#isRunning = false;
    await this.#work;
  }

  async #client(client: number): Promise<void> {
    while (this.#isRunning) {
      const chance = this.#random();
      // Each client has separate records: no answer depends on another's.
      const mine = this.#records.filter(({ state }, i) => state !== null && i % clients === client);
      const entry = mine[Math.floor(this.#random() * mine.length)];
      if (entry === undefined || chance < 0.45) await this.#create();
      else if (chance < 0.75) await this.#change(entry, "PUT");
      else if (chance < 0.85) await this.#change(entry, "DELETE");
      else if (chance < 0.95) await this.#upload();
      else await this.#deleteFile(client);
    }
  }

  async #ask<T>(ask: () => Promise<{ status: number; body: T }>): Promise<{ status: number; body: T | null }> {
    const isAfterEnd = this.#hasEnded;
    const reply = await ask().catch(() => ({ status: 0, body: null }));
    this.answers.set(reply.status, (this.answers.get(reply.status) ?? 0) + 1);
    const isGood = reply.status >= 200 && reply.status < 300;
    if (isGood && isAfterEnd) this.problems.push("something was acknowledged after the service had said that it ends");
    if (reply.status === 503 && JSON.stringify(reply.body).includes("the service is stopping")) this.#hasEnded = true;
    if (!isGood && ![0, 500, 503].includes(reply.status))
      this.problems.push(`an answer was ${reply.status}: ${JSON.stringify(reply.body)}`);
    if (!isGood) await Bun.sleep(reply.status === 0 ? unansweredPauseMs : refusedPauseMs);
    return reply;
  }

  async #create(): Promise<void> {
    const n = this.#next++;
    const text = "x".repeat(Math.floor(this.#random() * 3_000));
    const { status, body } = await this.#ask(() => this.#admin.ask<{ id: string }>("POST", "/api/items", { n, text }));
    if (status === 201 && body !== null) this.#records.push({ id: body.id, state: n, possible: [] });
  }

  async #change(entry: Entry, method: "PUT" | "DELETE"): Promise<void> {
    const wanted = method === "PUT" ? this.#next++ : null;
    const body = wanted === null ? undefined : { n: wanted };
    const { status } = await this.#ask(() => this.#admin.ask(method, `/api/items/${entry.id}`, body));
    const isDone = status === 200 || status === 204;
    // Whether a deletion that failed was done is not known: nothing more is asked of this record.
    if (!isDone && wanted === null) Object.assign(entry, { state: null, possible: [entry.state, ...entry.possible] });
    else if (isDone) Object.assign(entry, { state: wanted, possible: [] });
    else entry.possible.push(wanted);
  }

  async #upload(): Promise<void> {
    const content = new Uint8Array(Math.floor(this.#random() * 20_000)).fill(this.#next);
    const { status, body } = await this.#ask(() => this.#admin.upload(content));
    if (status === 201 && body !== null) this.#files.set(body.id, { content, isThere: true });
  }

  async #deleteFile(client: number): Promise<void> {
    const [id, file] = [...this.#files].find(([, { isThere }], i) => isThere === true && i % clients === client) ?? [];
    if (id === undefined || file === undefined) return;
    file.isThere = "perhaps";
    const { status } = await this.#ask(() => this.#admin.ask("DELETE", `/api/storage/${id}`));
    if (status === 204) file.isThere = false;
  }

  /** Compares the acknowledged writes with the stored data. The load must be stopped. */
  async check(): Promise<string[]> {
    const problems = this.problems.splice(0);
    const { status, body } = await this.#admin.ask<{ items: { id: string; n: number }[] }>("GET", "/api/items");
    if (status !== 200) return [...problems, `the list is ${status}`];
    const there = new Map(body.items.map(({ id, n }) => [id, n]));
    for (const { id, state, possible } of this.#records) {
      const found = there.get(id) ?? null;
      if (found !== state && !possible.includes(found))
        problems.push(`${id} is ${found}, and ${state} was acknowledged (perhaps ${possible.join(", ")})`);
    }
    for (const [id, { content, isThere }] of this.#files) {
      const { status: found, bytes } = await this.#admin.download(id);
      if (isThere === true && (found !== 200 || Buffer.compare(bytes, content) !== 0))
        problems.push(`the file ${id} is ${found}`);
      if (isThere === false && found !== 404) problems.push(`the file ${id} is ${found}, and was deleted`);
      if (found !== 200 && found !== 404) problems.push(`the file ${id} is ${found}`);
    }
    return problems;
  }

  /** Ids of events that a client has heard, in the order of the log. */
  heard(): string[][] {
    return this.#sockets.map(({ frames }) =>
      frames.flatMap((frame) => (frame.type === "event" ? [frame.event.id] : [])),
    );
  }
}

/** An admin, with a token that outlives the case. */
export async function adminOf(url: () => string): Promise<Caller> {
  return new Caller(url).as("admin@example.com");
}
