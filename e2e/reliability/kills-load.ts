/** The load of the kills: clients that note acknowledged writes, until the service is killed. */
import { Caller, password, type Reply, type Tokens } from "./kills-caller.ts";
import { bytesOf, type Knowledge, type Known, type KnownRecords, textOf } from "./kills-model.ts";

const kept = { items: 120, notes: 60, files: 24 };

const version = { name: "version", type: "integer", required: true };
const number = { name: "n", type: "integer", required: true, unique: true };
const text = { name: "text", type: "text" };
const noteFields = [number, version, text];

export const collections = [
  { name: "items", fields: [number, version, text] },
  { name: "notes", fields: noteFields },
  {
    name: "effects",
    fields: [
      { name: "event", type: "string", unique: true, required: true },
      { name: "handler", type: "string" },
    ],
  },
];

/** Each run leaves a line in runs.log, and a record that exists once for the event, however often the handler runs. */
export const files = {
  "functions/items/effect.ts": `
import { appendFileSync } from "node:fs";
const effect = (handler: string) => async ({ record, event, db, attempt }: any) => {
  appendFileSync("runs.log", JSON.stringify({ event: event.id, record: record.id, handler, attempt, at: Date.now() }) + "\\n");
  const [known] = await db.query("SELECT id FROM effects WHERE event = ?", [event.id]);
  if (known === undefined)
    await db.collection("effects").create({ event: event.id, handler }).catch((error: any) => {
      if (error.details?.[0]?.rule !== "unique") throw error;
    });
};
export const onCreate = effect("onCreate");
export const onUpdate = effect("onUpdate");
export const onDelete = effect("onDelete");
`,
  "jobs/count.ts": `
export const schedule = "* * * * *";
export default async ({ db }: any) => {
  await db.query("SELECT count(*) AS n FROM effects");
};
`,
};

/** The name of a field that a migration may add; null for the definition without the field. */
function notesWith(extra: string | null): { fields: object[] } {
  return { fields: extra === null ? noteFields : [...noteFields, { name: extra, type: "string" }] };
}

/** All clients of the service between two checks. */
export class Load {
  readonly #admin: Caller;
  readonly #known: Knowledge;
  readonly #random: () => number;
  readonly #nextNumber: () => number;
  #isUp = true;
  #isWanted = true;
  readonly #running: Promise<void>[];
  /** Requests with a wrong answer. */
  readonly problems: string[] = [];

  constructor(options: { admin: Caller; known: Knowledge; random: () => number; nextNumber: () => number }) {
    this.#admin = options.admin;
    this.#known = options.known;
    this.#random = options.random;
    this.#nextNumber = options.nextNumber;
    const { items, notes } = options.known;
    const shared = { items: [...items.all.values()], notes: [...notes.all.values()] };
    const writers = Array.from({ length: 9 }, (_, i) => {
      const name = i < 6 ? "items" : "notes";
      const width = i < 6 ? 6 : 3;
      // Each record belongs to one writer, so that the order of the versions is known.
      const own = shared[name].filter((_known, at) => at % width === i % width);
      return this.#client(() => this.#write(name, own, width));
    });
    this.#running = [
      ...writers,
      this.#client(() => this.#file()),
      this.#client(() => this.#file()),
      this.#client(() => this.#breakOff()),
      this.#client(() => this.#login()),
      this.#client(() => this.#job()),
      this.#client(() => this.#migrate()),
    ];
  }

  /** From now on connections may break. */
  expectBreaks(): void {
    this.#isUp = false;
  }

  /** Asks for nothing more, and waits until everything is answered or broken. */
  async stop(): Promise<void> {
    this.#isWanted = false;
    await Promise.all(this.#running);
  }

  async #client(work: () => Promise<void>): Promise<void> {
    while (this.#isWanted && this.#isUp) {
      try {
        await work();
      } catch (thrown) {
        this.#known.broken.requests += 1;
        if (this.#isUp) this.problems.push(`A request failed, though nothing was killed: ${String(thrown)}`);
      }
    }
  }

  /** Answers whether a request is acknowledged. Not while the service ends: then an error is no promise. */
  #isDone(expected: number, reply: Reply<unknown>): boolean {
    if (reply.status === expected) return true;
    // The runtime sends a deletion again whose connection has broken: the first deletion was carried out.
    if (!this.#isUp && expected === 204 && reply.status === 404) return true;
    this.problems.push(`${reply.status} in place of ${expected}: ${JSON.stringify(reply.body).slice(0, 300)}`);
    return false;
  }

  async #write(name: "items" | "notes", own: Known[], width: number): Promise<void> {
    const records = this.#known[name];
    const at = Math.floor(this.#random() * own.length);
    const chosen = own[at];
    const isFull = own.length >= kept[name] / width;
    if (chosen === undefined || chosen.id === null || (!isFull && this.#random() < 0.4)) {
      own.push(await this.#create(name, records));
    } else if (name === "items" && (isFull || this.#random() < 0.2)) {
      own.splice(at, 1);
      chosen.deletion = "tried";
      const done = this.#isDone(204, await this.#admin.ask("DELETE", `/api/items/${chosen.id}`));
      if (done) records.acknowledge(() => (chosen.deletion = "acknowledged"));
    } else {
      const next = chosen.tried + 1;
      chosen.tried = next;
      const body = { version: next, text: textOf(chosen.n, next) };
      const done = this.#isDone(200, await this.#admin.ask("PUT", `/api/${name}/${chosen.id}`, body));
      if (done) records.acknowledge(() => (chosen.acknowledged = next));
    }
  }

  async #create(name: string, records: KnownRecords): Promise<Known> {
    const known = records.create(this.#nextNumber());
    const body = { n: known.n, version: 1, text: textOf(known.n, 1) };
    const reply = await this.#admin.ask<{ id: string }>("POST", `/api/${name}`, body);
    if (this.#isDone(201, reply))
      records.acknowledge(() => Object.assign(known, { id: reply.body.id, acknowledged: 1 }));
    return known;
  }

  async #file(): Promise<void> {
    const { files, acknowledged } = this.#known;
    const [oldest] = [...files].filter(([, { deletion }]) => deletion === "none");
    if (oldest !== undefined && files.size >= kept.files) {
      const [id, file] = oldest;
      file.deletion = "tried";
      if (!this.#isDone(204, await this.#admin.ask("DELETE", `/api/storage/${id}`))) return;
      file.deletion = "acknowledged";
      acknowledged.deletions += 1;
      return;
    }
    const n = this.#nextNumber();
    const reply = await this.#admin.upload(bytesOf(n));
    if (!this.#isDone(201, reply)) return;
    files.set(reply.body.id, { n, deletion: "none" });
    acknowledged.uploads += 1;
  }

  async #breakOff(): Promise<void> {
    await this.#admin.breakUpload(bytesOf(this.#nextNumber() * 5), this.#random());
    this.#known.broken.uploads += 1;
    await Bun.sleep(this.#random() * 40);
  }

  async #login(): Promise<void> {
    const { sessions, acknowledged } = this.#known;
    const email = `user-${this.#nextNumber()}@example.com`;
    const reply = await new Caller(this.#admin.url).ask<Tokens>("POST", "/api/auth/register", { email, password });
    if (!this.#isDone(201, reply)) return;
    const session = { token: reply.body.accessToken, logout: "none" as "none" | "tried" | "acknowledged" };
    sessions.push(session);
    acknowledged.logins += 1;
    await Bun.sleep(this.#random() * 100);
    if (this.#random() < 0.5) return;
    session.logout = "tried";
    if (!this.#isDone(204, await new Caller(this.#admin.url, session.token).ask("POST", "/api/auth/logout", {})))
      return;
    session.logout = "acknowledged";
    acknowledged.logouts += 1;
  }

  async #job(): Promise<void> {
    await Bun.sleep(this.#random() * 200);
    const reply = await this.#admin.ask<{ runId: string }>("POST", "/api/admin/jobs/count/run");
    if (!this.#isDone(202, reply)) return;
    this.#known.jobRuns.push(reply.body.runId);
    this.#known.acknowledged.jobs += 1;
  }

  async #migrate(): Promise<void> {
    await Bun.sleep(this.#random() * 300);
    const extra = this.#random() < 0.5 ? null : `extra${this.#nextNumber()}`;
    this.#known.triedExtras.push(extra);
    const reply = await this.#admin.ask("PUT", "/api/admin/collections/notes", notesWith(extra));
    if (!this.#isDone(200, reply)) return;
    this.#known.extra = extra;
    this.#known.triedExtras = [];
    this.#known.acknowledged.migrations += 1;
  }
}
