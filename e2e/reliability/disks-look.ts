/**
 * Look at a service on damaged data: reads everything and changes some data. The service may refuse the start with one
 * clear line, or answer with an error when a request meets the damage. The service must not crash, answer wrong data, or stop
 * serving the undamaged data.
 */
import { join } from "node:path";
import { type Running, serve, socle } from "../kit.ts";
import { bodyOf, type DiskData, type Post } from "./disks-data.ts";
import { Caller, password, type Reply } from "./kills-caller.ts";

export interface Look {
  /** Whether the service started; false after a refusal. */
  readonly isStarted: boolean;
  /** Whether the damage was met by a request or the start. */
  readonly isMet: boolean;
  /** Broken promises. */
  readonly problems: readonly string[];
}

export interface Damaged {
  readonly folder: string;
  readonly data: DiskData;
  /** The table with damaged pages; null for an unknown table. */
  readonly table: string | null;
  /** Whether wrong bytes cannot look like right ones: then no answer may be wrong. */
  readonly isEvident: boolean;
}

type Same = (body: unknown) => boolean;

interface Question {
  readonly path: string;
  readonly table: string;
  /** Whether the answer is right. */
  readonly isRight: Same;
}

const matches = (found: unknown, wanted: object): boolean =>
  typeof found === "object" &&
  found !== null &&
  Object.entries(wanted).every(([name, value]) => Reflect.get(found, name) === value);

const items = (body: unknown): unknown[] => {
  const found: unknown = typeof body === "object" && body !== null ? Reflect.get(body, "items") : null;
  return Array.isArray(found) ? found : [];
};

/** The first, a middle and the last element. */
function some<T>(all: readonly T[]): T[] {
  return [0, Math.floor(all.length / 2), all.length - 1].flatMap((i) => all.slice(i, i + 1));
}

function questions({ posts, notes }: DiskData): Question[] {
  const newestFirst = posts.toReversed();
  const isList = (body: unknown, wanted: readonly object[]): boolean => {
    const found = items(body);
    return found.length === wanted.length && wanted.every((one, i) => matches(found[i], one));
  };
  const byTitle = ({ title }: Post): string => `/api/posts?filter=${encodeURIComponent(`title = "${title}"`)}`;
  return [
    { path: "/api/posts", table: "posts", isRight: (body) => isList(body, newestFirst) },
    {
      path: "/api/notes",
      table: "notes",
      isRight: (body) => isList(body, notes.map((text) => ({ text })).toReversed()),
    },
    ...some(posts).flatMap((post): Question[] => [
      { path: `/api/posts/${post.id}`, table: "posts", isRight: (body) => matches(body, post) },
      { path: byTitle(post), table: "posts", isRight: (body) => isList(body, [post]) },
    ]),
    ...[
      "users?limit=1000",
      "storage?limit=1000",
      "events?limit=1000",
      "collections",
      "functions",
      "jobs",
      "overview",
    ].map((path): Question => ({ path: `/api/admin/${path}`, table: "", isRight: () => true })),
  ];
}

/** Errors that a client may get from damaged data. */
const allowed = [500, 503];

class Examination {
  readonly problems: string[] = [];
  isMet = false;
  readonly #damaged: Damaged;
  readonly #admin: Caller;

  constructor(damaged: Damaged, server: Running) {
    this.#damaged = damaged;
    this.#admin = new Caller(() => server.url, damaged.data.token);
  }

  async run(): Promise<void> {
    await this.#read();
    await this.#readFiles();
    await this.#write();
    await this.#read(["notes"]);
  }

  #problem(text: string): void {
    this.problems.push(text);
  }

  /** Notes lie in another table than the damaged table: notes work, unless the damage hits a page that every write needs. */
  get #isApart(): boolean {
    return this.#damaged.table === "posts";
  }

  async #ask(method: string, path: string, body?: object): Promise<Reply<unknown>> {
    const reply = await this.#admin.ask(method, path, body).catch(() => this.#brokenOff(method, path));
    if (allowed.includes(reply.status)) this.isMet = true;
    return reply;
  }

  /** A long list is broken off at the damage. The service must still answer. */
  async #brokenOff(method: string, path: string): Promise<Reply<null>> {
    const health = await this.#admin.ask("GET", "/health").catch(() => null);
    const isFine = health?.status === 200 && method === "GET";
    if (!isFine) this.#problem(`${method} ${path} was not answered`);
    return { status: isFine ? 500 : 0, body: null };
  }

  async #read(written: readonly string[] = []): Promise<void> {
    for (const { path, table, isRight } of questions(this.#damaged.data)) {
      if (written.length > 0 && path !== "/api/notes") continue;
      const { status, body } = await this.#ask("GET", path);
      const isWrong = written.length === 0 && (status !== 200 || !isRight(body));
      if (this.#damaged.isEvident && isWrong && !allowed.includes(status))
        this.#problem(`GET ${path}: ${status}, a wrong answer without an error`);
      if (this.#isApart && table === "notes" && status !== 200)
        this.#problem(`GET ${path}: ${status}, though only posts are damaged`);
    }
  }

  async #readFiles(): Promise<void> {
    for (const [id, content] of some([...this.#damaged.data.files])) {
      const { status, bytes } = await this.#admin.download(id).catch(() => ({ status: 0, bytes: new Uint8Array() }));
      if (status === 0) this.#problem(`the file ${id} was not answered`);
      if (allowed.includes(status)) this.isMet = true;
      const isRight = status === 200 && Buffer.compare(bytes, content) === 0;
      if (this.#damaged.isEvident && !isRight && !allowed.includes(status)) this.#problem(`the file ${id}: ${status}`);
    }
  }

  async #write(): Promise<void> {
    const { posts } = this.#damaged.data;
    const [first, , last] = some(posts);
    const path = (post: Post | undefined): string => `/api/posts/${post?.id}`;
    const writes: (readonly [status: number, method: string, path: string, body?: object])[] = [
      [201, "POST", "/api/posts", { title: "a new one", body: bodyOf(3) }],
      // The title is taken.
      [400, "POST", "/api/posts", { title: last?.title, body: "" }],
      [200, "PUT", path(first), { body: "changed" }],
      [204, "DELETE", path(last)],
      [200, "POST", "/api/auth/login", { email: "listener@example.com", password }],
      [201, "POST", "/api/auth/register", { email: "new@example.com", password }],
    ];
    for (const [wanted, method, path, body] of writes) {
      const { status } = await this.#ask(method, path, body);
      if (this.#damaged.isEvident && status !== wanted && !allowed.includes(status))
        this.#problem(`${method} ${path}: ${status} in place of ${wanted}`);
    }
    const { status } = await this.#ask("POST", "/api/notes", { text: "a new one" });
    if (this.#isApart && status !== 201) this.#problem(`POST /api/notes: ${status}, though only posts are damaged`);
    const uploaded = await this.#admin.upload(new Uint8Array(100)).catch(() => null);
    if (uploaded === null) this.#problem("an upload was not answered");
  }
}

/**
 * Words that only a crash or an uncaught error leaves in the output; nonsense rows may fail with other
 * errors.
 */
const crash = /FATAL|panic|Segmentation|uncaught|unhandled|A defect/i;

function refusal(folder: string, output: string): string[] {
  const lines = output
    .split("\n")
    .filter((line) => line !== "" && !/^\S+ (INFO|WARN|ERROR|DEBUG) /.test(line) && !/^ {2}/.test(line));
  const [line = ""] = lines;
  const problems: string[] = [];
  if (lines.length !== 1) problems.push(`the refusal takes ${lines.length} lines: ${lines.join(" / ")}`);
  if (!line.includes(join(folder, "socle.db"))) problems.push(`the refusal names no path: ${line}`);
  const isEmpty = line.includes("is empty");
  if (!line.includes("socle restore") || !(isEmpty || line.includes("socle verify")))
    problems.push(`the refusal says not what to do: ${line}`);
  return problems;
}

/** Starts the service on damaged data; the outcome of a start that was refused. */
async function started(folder: string): Promise<Running | Look> {
  try {
    return await serve(folder);
  } catch (thrown) {
    const [head = "", ...rest] = String(thrown).split("\n");
    const problems = refusal(folder, rest.join("\n"));
    if (!head.includes("(exit code 2, signal null)")) problems.push(`the start ended with ${head}`);
    return { isStarted: false, isMet: true, problems };
  }
}

/** Stops the service, and checks the output. */
async function stopped(server: Running): Promise<string[]> {
  const exitCode = await server.stop();
  const [word] = crash.exec(server.output()) ?? [];
  return [
    ...(exitCode === 0 ? [] : [`it ended with ${exitCode}`]),
    ...(word === undefined ? [] : [`the log has "${word}"`]),
  ];
}

/** Starts the service on damaged data, and asks. */
export async function look(damaged: Damaged): Promise<Look> {
  const server = await started(damaged.folder);
  if ("problems" in server) return server;
  const examination = new Examination(damaged, server);
  await examination.run();
  const { problems, isMet } = examination;
  problems.push(...(await stopped(server)));
  const output = server.output();
  if (isMet && damaged.isEvident && !/is damaged|cannot be read by the disk/.test(output))
    problems.push("the log does not tell of the damage");
  if (isMet && damaged.table === "posts" && !output.includes('"posts"'))
    problems.push("the log does not name the table");
  return { isStarted: true, isMet, problems: problems.map((problem) => `${problem}\n${output.slice(-1_500)}`) };
}

/** Starts and stops the service: the service's own writes do not belong to the comparison. */
export async function startAndStop(folder: string): Promise<Look> {
  const server = await started(folder);
  if ("problems" in server) return server;
  return { isStarted: true, isMet: false, problems: await stopped(server) };
}

/**
 * The findings of `socle verify`, or the reason why the command cannot look. A crash may leave bytes that belong to no
 * file.
 */
export async function verified(folder: string): Promise<string[]> {
  const { code, stdout, stderr } = await socle(["verify"], { cwd: folder });
  if (code === 0) return [];
  const errors = stdout.split("\n").filter((line) => line.startsWith("error"));
  return [...errors, ...stderr.split("\n").filter((line) => line !== "")].filter(
    (line) => !line.includes("belong to no file"),
  );
}
