/** The service of the suite of the specification: its project, callers, and the requests and sockets of a client that knows the specification alone. */
import { afterAll, expect } from "bun:test";
import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { project, serve, until } from "./kit.ts";

/** An answer's JSON; an absent member reads as undefined. */
export interface Json {
  [name: string]: Json;
}

export interface Answer {
  readonly status: number;
  readonly body: Json;
  readonly headers: Headers;
  readonly text: string;
}

const author = { name: "author", type: "relation", collection: "users" };
export const text = (name: string, more: object = {}): object => ({ name, type: "string", ...more });

const posts = {
  name: "posts",
  fields: [
    text("title", { required: true, max: 20 }),
    { name: "body", type: "text" },
    { name: "published", type: "boolean" },
  ],
  permissions: { read: "public", create: "authenticated" },
};
export const collections = [
  posts,
  { name: "open", fields: [text("title"), { name: "n", type: "integer" }] },
  { name: "notes", fields: [text("text")], permissions: { read: "owner", create: "authenticated" } },
  {
    name: "letters",
    fields: [text("text")],
    permissions: { read: "owner", create: "authenticated", update: "owner", delete: "owner" },
  },
  { name: "members", fields: [text("text")], permissions: { read: "authenticated", create: "authenticated" } },
  { name: "secrets", fields: [text("text")], permissions: { read: "admin", create: "admin" } },
  {
    name: "kinds",
    description: "One field of each type",
    fields: [
      text("s", { min: 2, max: 5, regex: "^[a-z]+$", unique: true, description: "A word" }),
      { name: "t", type: "text", required: false, min: null, max: null, regex: null, unique: false },
      { name: "i", type: "integer", min: 1, max: 10, regex: "^[0-9]+$" },
      { name: "f", type: "float", min: 0.5, max: 1.5 },
      { name: "b", type: "boolean", min: 1, max: 1 },
      { name: "d", type: "datetime", regex: "^2" },
      { name: "j", type: "json", min: 0 },
      { name: "r", type: "relation", collection: "posts" },
      { name: "file", type: "file" },
      author,
    ],
    permissions: null,
  },
];

const files: Record<string, string> = {
  "functions/posts/created.ts": `
    export async function onCreate({ record, logger, db, auth, storage }) {
      logger.info("created " + record.title + " " + typeof db + " " + typeof auth);
      logger.warn("missing file " + (await storage.get("fil_missing")) + " " + (await storage.delete("fil_missing")));
    }`,
  "functions/posts/onUpdate.ts": `
    export default async function (context) {
      context.logger.info("updated " + context.record.title);
    }`,
  "functions/posts/gone.ts": `export const onDelete = async ({ record, logger }) => logger.info("deleted " + record.id);`,
  "functions/posts/broken.ts": `export const onCreate = ({ record }) => { if (record.title === "boom") throw new Error("boom"); };`,
  "functions/users/login.ts": `export const onLogin = ({ logger }) => logger.info("somebody has logged in");`,
  "jobs/tick.ts": `
    export const schedule = "* * * * *";
    export default async ({ db, logger }) => { logger.info("tick " + typeof db); };`,
  "jobs/failing.ts": `
    export const schedule = "* * * * *";
    export default async () => { throw new Error("always"); };`,
};

const admin = { email: "admin@example.com", password: "password123" };
/** Starts the service with the users of the suite: one for each file, because the service ends with the file that started the service. */
export async function openSpecWorld() {
  const folder = await project({ collections });
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await Bun.write(join(folder, path), content);
  }
  const server = await serve(folder, {
    env: { SERVICE_ADMIN_EMAIL: admin.email, SERVICE_ADMIN_PASSWORD: admin.password },
  });

  async function request(
    method: string,
    path: string,
    { token, body, headers = {} }: { token?: string; body?: unknown; headers?: Record<string, string> } = {},
  ): Promise<Answer> {
    const isForm = body instanceof FormData;
    const answer = await fetch(`${server.url}${path}`, {
      method,
      headers: {
        ...(body !== undefined && !isForm && { "Content-Type": "application/json" }),
        ...(token !== undefined && { Authorization: `Bearer ${token}` }),
        ...headers,
      },
      ...(body !== undefined && { body: isForm || typeof body === "string" ? body : JSON.stringify(body) }),
    });
    const all = await answer.text();
    const isJson = all !== "" && answer.headers.get("content-type")?.includes("json") === true;
    return { status: answer.status, body: isJson ? JSON.parse(all) : {}, headers: answer.headers, text: all };
  }

  const get = (path: string, token?: string): Promise<Answer> =>
    request("GET", path, token === undefined ? {} : { token });
  const post = (path: string, body: unknown, token?: string): Promise<Answer> =>
    request("POST", path, token === undefined ? { body } : { body, token });
  const put = (path: string, body: unknown, token?: string): Promise<Answer> =>
    request("PUT", path, token === undefined ? { body } : { body, token });
  const remove = (path: string, token?: string): Promise<Answer> =>
    request("DELETE", path, token === undefined ? {} : { token });

  /** A refusal has the status, the code and a message. */
  function refused(answer: Answer, status: number, code: string): void {
    expect([answer.status, answer.body]).toEqual([
      status,
      { error: expect.objectContaining({ code, message: expect.stringMatching(/./) }) },
    ] as never);
    expect(answer.headers.get("content-type")).toContain("application/json");
  }

  async function register(email: string): Promise<{ email: string; token: string; id: string }> {
    const answer = await post("/api/auth/register", { email, password: "password123" });
    expect([email, answer.status]).toEqual([email, 201]);
    const token = String(answer.body["accessToken"]);
    return { email, token, id: String((await get("/api/auth/me", token)).body["user"]?.["id"]) };
  }

  const root = String((await post("/api/auth/login", admin)).body["accessToken"]);
  const ann = await register("ann@example.com");
  const bob = await register("bob@example.com");

  async function make(collection: string, body: object, token?: string): Promise<Json> {
    const answer = await post(`/api/${collection}`, body, token);
    expect([collection, answer.status, answer.body["error"]]).toEqual([collection, 201, undefined] as never);
    return answer.body;
  }

  async function upload(visibility: string, token: string, content = "hello"): Promise<string> {
    const body = new FormData();
    body.set("file", new File([content], "hello.txt", { type: "text/plain" }));
    body.set("visibility", visibility);
    const answer = await request("POST", "/api/storage/upload", { body, token });
    expect([200, 201]).toContain(answer.status);
    expect([typeof answer.body["id"], String(answer.body["visibility"])]).toEqual(["string", visibility]);
    return String(answer.body["id"]);
  }

  const logLines = async (query = "?limit=200"): Promise<string[]> =>
    ((await get(`/api/admin/logs${query}`, root)).body["items"] as unknown as { message: string }[]).map(
      ({ message }) => message,
    );

  /** Waits for a line of the log, as a function writes the line. */
  async function logged(line: string): Promise<void> {
    for (let i = 0; i < 1_000; i++) {
      if ((await logLines()).some((each) => each.includes(line))) return;
      await Bun.sleep(20);
    }
    throw new Error(`The log has no "${line}"`);
  }

  /** A client of the realtime endpoint, by nothing but the frames of the specification. */
  class Socket {
    readonly frames: Json[] = [];
    readonly #socket: WebSocket;

    constructor(token?: string) {
      const query = token === undefined ? "" : `?token=${token}`;
      this.#socket = new WebSocket(`${server.url.replace("http", "ws")}/api/realtime${query}`);
      this.#socket.onmessage = ({ data }) => this.frames.push(JSON.parse(String(data)));
      afterAll(() => this.#socket.close());
    }

    async opened(): Promise<this> {
      await until(() => this.#socket.readyState === WebSocket.OPEN);
      return this;
    }

    /** Sends a frame, and waits until the service has followed all frames. */
    async send(frame: object): Promise<void> {
      this.#socket.send(JSON.stringify(frame));
      const before = this.frames.length;
      this.#socket.send(JSON.stringify({ action: "ping" }));
      await until(() => this.frames.slice(before).some(({ type }) => String(type) === "pong"));
    }

    async subscribe(...channels: string[]): Promise<this> {
      for (const channel of channels) await this.send({ action: "subscribe", channel });
      return this;
    }

    get events(): Json[] {
      return this.frames.filter(({ type }) => String(type) === "event").map(({ event }) => event as Json);
    }

    get types(): string[] {
      return this.events.map(({ type }) => String(type));
    }

    async settled(): Promise<string[]> {
      await this.send({ action: "ping" });
      return this.types;
    }
  }

  const connect = (token?: string): Promise<Socket> => new Socket(token).opened();

  return { server, request, get, post, put, remove, refused, register, root, ann, bob, make, upload, logged, connect };
}

export const iso = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
export const recordId = expect.stringMatching(/^rec_[0-9a-f-]{32,36}$/);
