/**
 * Data to be damaged: a service's folder with a row or more in each table, made once by the service, and a list of the content.
 * Each fault works on a copy.
 */
import { Database } from "bun:sqlite";
import { cpSync, rmSync } from "node:fs";
import { join } from "node:path";
import { serve, temporaryFolder, until } from "../kit.ts";
import { scriptProject, waiting } from "../scripts-kit.ts";
import { Caller } from "./kills-caller.ts";

/** So many of each kind; the short form has few. */
export interface DataSize {
  readonly posts: number;
  readonly notes: number;
  readonly users: number;
  readonly files: number;
}

export interface Post {
  readonly id: string;
  readonly title: string;
  readonly body: string;
}

export interface DiskData {
  readonly folder: string;
  /** The token of an admin. The signing key is in the configuration, so that damage does not end the token. */
  readonly token: string;
  /** Oldest first. */
  readonly posts: readonly Post[];
  readonly notes: readonly string[];
  /** The bytes of a file by id. */
  readonly files: ReadonlyMap<string, Uint8Array>;
}

const collections = [
  {
    name: "posts",
    fields: [
      { name: "title", type: "string", unique: true },
      { name: "body", type: "text" },
    ],
  },
  { name: "notes", fields: [{ name: "text", type: "string" }] },
  { name: "slow", fields: [{ name: "text", type: "string" }] },
];

/** The runs are under way at the stop, so deliveries wait in the data. */
const sleeper = "export const onCreate = () => Bun.sleep(60_000);\n";
const waitingRuns = 20;

export function bodyOf(n: number): string {
  return `${n} `.repeat(120 + (n % 7) * 40);
}

/** Puts `make` to work on each number from 0, eight at a time. */
async function each<T>(count: number, make: (n: number) => Promise<T>): Promise<T[]> {
  const made: T[] = [];
  for (let n = 0; n < count; n += 8)
    made.push(...(await Promise.all(Array.from({ length: Math.min(8, count - n) }, (_, i) => make(n + i)))));
  return made;
}

async function create(admin: Caller, collection: string, body: object): Promise<string> {
  const { status, body: made } = await admin.ask<{ id: string }>("POST", `/api/${collection}`, body);
  if (status !== 201) throw new Error(`${collection}: ${status} ${JSON.stringify(made)}`);
  return made.id;
}

/**
 * Makes the data and stops the service.
 * @param end "killed" leaves all data in the log, when the data are too few for the checkpointer.
 */
export async function makeData(size: DataSize, end: "stopped" | "killed" = "stopped"): Promise<DiskData> {
  const folder = await scriptProject({ collections, files: { "functions/slow/sleep.ts": sleeper } });
  const configured = (await Bun.file(join(folder, "config.json")).json()) as object;
  const auth = { jwtSecret: "a secret of thirty-two characters, or more", accessTokenTtl: "12h" };
  await Bun.write(join(folder, "config.json"), JSON.stringify({ ...configured, auth }));
  // The tables are in the file and not in the log, whatever becomes of that.
  await (await serve(folder)).stop();
  const server = await serve(folder);
  const admin = await new Caller(() => server.url).as("listener@example.com");
  await each(size.users, (n) => new Caller(() => server.url).as(`user${n}@example.com`));
  const posts: Post[] = [];
  // A single file at a time: the order is compared, too.
  for (let n = 0; n < size.posts; n++) {
    const post = { title: `title ${n}`, body: bodyOf(n) };
    posts.push({ id: await create(admin, "posts", post), ...post });
  }
  const notes = Array.from({ length: size.notes }, (_, n) => `note ${n}`);
  for (const text of notes) await create(admin, "notes", { text });
  const files = new Map<string, Uint8Array>();
  await each(size.files, async (n) => {
    const content = new Uint8Array(500 + n).fill(n);
    files.set((await admin.upload(content)).body.id, content);
  });
  // Deleted records leave free pages.
  const gone = await each(60, (n) => create(admin, "posts", { title: `gone ${n}`, body: bodyOf(n).repeat(4) }));
  for (const id of gone) await admin.ask("DELETE", `/api/posts/${id}`);
  await each(waitingRuns, (n) => create(admin, "slow", { text: String(n) }));
  await until(() => waiting(folder) === waitingRuns);
  if (end === "killed") {
    server.signal("SIGKILL");
    await server.exited;
  } else await server.stop();
  // Without the function the runs wait for ever.
  rmSync(join(folder, "functions"), { recursive: true });
  return { folder, token: admin.token, posts, notes, files };
}

/** Works on a copy of the data, which is gone afterwards. */
export async function withCopy<T>({ folder }: DiskData, work: (copy: string) => Promise<T>): Promise<T> {
  const copy = temporaryFolder();
  cpSync(folder, copy, { recursive: true, filter: (path) => !path.includes("socle.db-control") });
  try {
    return await work(copy);
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

/** Opens the database of a folder for the time of `work`. */
export function withDatabase<T>(folder: string, work: (database: Database) => T): T {
  const database = new Database(join(folder, "socle.db"), { readonly: true });
  try {
    return work(database);
  } finally {
    database.close();
  }
}
