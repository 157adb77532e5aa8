/**
 * The load of the soak: everything that a service does, at a steady pace, with as much deleted as is made. Wrong
 * answers are remembered.
 */
import { png } from "../../packages/server/test/images.ts";
import { Caller, password, type Tokens } from "./kills-caller.ts";

const kept = { records: 2_000, files: 40, sockets: 10 };
/** More different lists than the service remembers in the parsed form. */
const differentLists = 1_600;
const image = png(400, 300);

/** The configuration, collections, functions and job of a project for `Load`. */
export const config = {
  admin: { email: "admin@example.com" },
  auth: { accessTokenTtl: "12h" },
  // Small, so that the logs and caches are full before the end of the warm-up and the load is steady from then on.
  events: { maxCount: 20_000 },
  thumbs: { cacheSize: "1MiB" },
  cache: { size: "2MiB" },
  limits: { wal: "16MiB" },
  backup: { keep: 2 },
};

export const collections = [
  {
    name: "items",
    fields: [
      { name: "n", type: "integer", required: true },
      { name: "text", type: "text" },
      { name: "price", type: "float" },
    ],
  },
  {
    name: "effects",
    fields: [
      { name: "event", type: "string", unique: true, required: true },
      { name: "n", type: "integer" },
    ],
  },
];

export const files = {
  "functions/items/effect.ts": `
export const onCreate = async ({ record, event, db }: any) => {
  const [known] = await db.query("SELECT id FROM effects WHERE event = ?", [event.id]);
  if (known === undefined) await db.collection("effects").create({ event: event.id, n: record.n });
};
export const onDelete = async ({ record, db }: any) => {
  const found = await db.query("SELECT id FROM effects WHERE n = ?", [record.n]);
  for (const { id } of found) await db.collection("effects").delete(id);
};
`,
  "jobs/clean.ts": `
export const schedule = "* * * * *";
export default async ({ db, storage }: any) => {
  const rows = await db.query("SELECT id FROM effects ORDER BY createdAt DESC LIMIT -1 OFFSET 4000");
  for (const { id } of rows) await db.collection("effects").delete(id);
  const file = await storage.put({ filename: "job.txt", data: new TextEncoder().encode("by a job"), visibility: "public" });
  await storage.delete(file.id);
};
`,
};

export class Load {
  readonly #admin: Caller;
  readonly #signal: (name: NodeJS.Signals) => void;
  readonly failures: string[] = [];
  /** How often each kind of work was done. */
  readonly counts = new Map<string, number>();
  readonly #records: string[] = [];
  readonly #files: string[] = [];
  #isOver = false;
  #n = 0;

  constructor(admin: Caller, signal: (name: NodeJS.Signals) => void) {
    this.#admin = admin;
    this.#signal = signal;
  }

  stop(): void {
    this.#isOver = true;
  }

  /** Fills the parsed queries, which would grow for most of an hour at the pace of the lists. */
  async fillQueries(): Promise<void> {
    for (let n = 0; n < differentLists; n++)
      this.#check(200, await this.#admin.ask("GET", `/api/items?limit=1&filter=${encodeURIComponent(`n = ${n}`)}`));
  }

  /** Resolves after `stop`, when nothing is under way. */
  async run(): Promise<void> {
    const paces: [name: string, everyMs: number, work: () => Promise<void>][] = [
      ...Array.from({ length: 6 }, () => ["writes", 120, () => this.#write()] as [string, number, () => Promise<void>]),
      ["lists", 150, () => this.#list()],
      ["files", 400, () => this.#file()],
      ["broken uploads", 900, () => this.#admin.breakUpload(new Uint8Array(500_000), Math.random())],
      ["logins", 1_500, () => this.#login()],
      ["sockets", 300, () => this.#socket()],
      [
        "jobs by hand",
        15_000,
        async () => this.#check(202, await this.#admin.ask("POST", "/api/admin/jobs/clean/run")),
      ],
      ["migrations", 20_000, () => this.#migrate()],
      ["reloads", 30_000, async () => this.#signal("SIGHUP")],
      ["backups", 60_000, () => this.#backup()],
    ];
    await Promise.all([...paces.map((pace) => this.#repeat(...pace)), ...this.#listeners()]);
  }

  async #repeat(name: string, everyMs: number, work: () => Promise<void>): Promise<void> {
    let next = performance.now() + Math.random() * everyMs;
    while (!this.#isOver) {
      const wait = next - performance.now();
      if (wait > 0) await Bun.sleep(Math.min(wait, 500));
      if (performance.now() < next) continue;
      next = Math.max(next + everyMs, performance.now());
      try {
        await work();
        this.counts.set(name, (this.counts.get(name) ?? 0) + 1);
      } catch (thrown) {
        this.failures.push(`${name}: ${String(thrown)}`);
      }
    }
  }

  #check(expected: number, { status, body }: { status: number; body?: unknown }): void {
    if (status !== expected)
      throw new Error(`${status} in place of ${expected}: ${JSON.stringify(body)?.slice(0, 200)}`);
  }

  async #write(): Promise<void> {
    this.#n += 1;
    const text = "x".repeat(this.#n % 97 === 0 ? 20_000 : this.#n % 700);
    const made = await this.#admin.ask<{ id: string }>("POST", "/api/items", { n: this.#n, text, price: this.#n / 7 });
    this.#check(201, made);
    const { id } = made.body;
    this.#check(200, await this.#admin.ask("PUT", `/api/items/${id}`, { text: `${text}!` }));
    this.#check(200, await this.#admin.ask("GET", `/api/items/${id}`));
    this.#records.push(id);
    const oldest = this.#records.length > kept.records ? this.#records.shift() : undefined;
    if (oldest !== undefined) this.#check(204, await this.#admin.ask("DELETE", `/api/items/${oldest}`));
  }

  async #list(): Promise<void> {
    const filter = encodeURIComponent(`price > ${this.#n / 8} && text ~ "xx"`);
    const paths = [
      "/api/items?limit=100&sort=-price",
      `/api/items?filter=${filter}&limit=20`,
      "/api/items",
      "/api/admin/events?type=items.created&limit=20",
      "/api/admin/overview",
    ];
    this.#check(200, await this.#admin.ask("GET", paths[Math.floor(Math.random() * paths.length)] ?? ""));
  }

  async #file(): Promise<void> {
    const isImage = Math.random() < 0.5;
    const content = isImage ? image : crypto.getRandomValues(new Uint8Array(1 + Math.floor(Math.random() * 65_000)));
    const made = await this.#admin.upload(content, isImage ? "a.png" : "a.bin");
    this.#check(201, made);
    const { id } = made.body;
    this.#check(200, await this.#admin.download(id, isImage ? `?thumb=${Math.random() < 0.5 ? 64 : 200}x` : ""));
    this.#files.push(id);
    const oldest = this.#files.length > kept.files ? this.#files.shift() : undefined;
    if (oldest !== undefined) this.#check(204, await this.#admin.ask("DELETE", `/api/storage/${oldest}`));
  }

  async #login(): Promise<void> {
    const email = `soak-${this.#n}@example.com`;
    const anybody = new Caller(this.#admin.url);
    const made = await anybody.ask<Tokens>("POST", "/api/auth/register", { email, password });
    this.#check(201, made);
    const { refreshToken, user } = made.body;
    const renewed = await anybody.ask<Tokens>("POST", "/api/auth/refresh", { refreshToken });
    this.#check(200, renewed);
    // The hundredth failure of an address within ten minutes is the last that is looked at.
    const wrong = await anybody.ask("POST", "/api/auth/login", { email, password: "wrong horse" });
    if (wrong.status !== 429) this.#check(401, wrong);
    this.#check(204, await new Caller(this.#admin.url, renewed.body.accessToken).ask("POST", "/api/auth/logout", {}));
    this.#check(204, await this.#admin.ask("DELETE", `/api/admin/users/${user.id}`));
  }

  async #migrate(): Promise<void> {
    const { fields } = collections[0] ?? { fields: [] };
    const extra = { name: "extra", type: "string" };
    this.#check(200, await this.#admin.ask("PUT", "/api/admin/collections/items", { fields: [...fields, extra] }));
    this.#check(200, await this.#admin.ask("PUT", "/api/admin/collections/items", { fields }));
  }

  async #backup(): Promise<void> {
    this.#check(202, await this.#admin.ask("POST", "/api/admin/backups"));
  }

  /** Lasting listeners; each short listener comes, resumes, hears something and goes. */
  #listeners(): Promise<void>[] {
    return Array.from({ length: kept.sockets }, async () => {
      const socket = this.#open(null);
      while (!this.#isOver) await Bun.sleep(200);
      socket.close();
    });
  }

  async #socket(): Promise<void> {
    const newest = await this.#admin.ask<{ items: { id: string }[] }>("GET", "/api/admin/events?limit=100");
    const socket = this.#open(newest.body.items.at(-1)?.id ?? null);
    await Bun.sleep(200 + Math.random() * 2_000);
    socket.close();
  }

  #open(since: string | null): WebSocket {
    const socket = new WebSocket(`${this.#admin.url().replace("http", "ws")}/api/realtime?token=${this.#admin.token}`);
    socket.onopen = () => {
      for (const channel of ["items.*", "effects.*", "storage.uploaded", "function.completed"])
        socket.send(JSON.stringify({ action: "subscribe", channel, since }));
    };
    socket.onmessage = () => this.counts.set("frames heard", (this.counts.get("frames heard") ?? 0) + 1);
    return socket;
  }
}
