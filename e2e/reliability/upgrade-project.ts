/**
 * The project that goes from version to version: a list of the written data, and the way to find these data again. Each
 * starting version adds records, a user, a file and runs of functions.
 */
import { Database } from "bun:sqlite";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Running, until } from "../kit.ts";
import { waiting } from "../scripts-kit.ts";
import { Caller, password, type Reply, type Tokens } from "./kills-caller.ts";
import { bytesOf, textOf } from "./kills-model.ts";

export const collections = [
  {
    name: "items",
    fields: [
      { name: "n", type: "integer", required: true, unique: true },
      { name: "version", type: "integer", required: true },
      { name: "text", type: "text" },
      { name: "file", type: "file" },
    ],
  },
  { name: "effects", fields: [{ name: "of", type: "string", unique: true, required: true }] },
];

/** A run that waits is cut off by the end of its version, and made by the next. */
export const files = {
  "functions/items/effect.ts": `
import { existsSync } from "node:fs";
export const onCreate = async ({ record, db }: any) => {
  while (record.version === 0 && !existsSync("go-on")) await Bun.sleep(20);
  await db.collection("effects").create({ of: record.id });
};
`,
};

interface Known {
  readonly version: number;
  readonly text: string;
  readonly file: string;
}

/** The acknowledged writes. */
export interface Written {
  readonly records: Map<string, Known>;
  readonly deleted: string[];
  readonly files: Map<string, number>;
  readonly emails: string[];
  /** Events, by type and record. */
  readonly events: string[];
  n: number;
}

export function nothing(): Written {
  return { records: new Map(), deleted: [], files: new Map(), emails: [], events: [], n: 0 };
}

export function copyOf(written: Written): Written {
  return structuredClone(written);
}

function must<T>(expected: number, reply: Reply<T>): T {
  if (reply.status !== expected)
    throw new Error(`${reply.status} in place of ${expected}: ${JSON.stringify(reply.body)}`);
  return reply.body;
}

/** Adds something of each kind. */
export async function add(server: Running, written: Written): Promise<void> {
  const anybody = new Caller(() => server.url);
  written.n += 1;
  const email = `user-${written.n}@example.com`;
  const { accessToken } = must(201, await anybody.ask<Tokens>("POST", "/api/auth/register", { email, password }));
  written.emails.push(email);
  const user = new Caller(() => server.url, accessToken);
  const fileNumber = ++written.n;
  const file = must(201, await user.upload(bytesOf(fileNumber))).id;
  written.files.set(file, fileNumber);
  const ids: string[] = [];
  for (let i = 0; i < 20; i++) {
    const n = ++written.n;
    const body = { n, version: 1, text: textOf(n, 1), file };
    const { id } = must(201, await user.ask<{ id: string }>("POST", "/api/items", body));
    written.records.set(id, body);
    written.events.push(`items.created ${id}`);
    ids.push(id);
  }
  for (const id of ids.slice(0, 10)) {
    const change = { version: 2, text: `${id} again` };
    must(200, await user.ask("PUT", `/api/items/${id}`, change));
    written.records.set(id, { ...change, file });
    written.events.push(`items.updated ${id}`);
  }
  for (const id of ids.slice(15)) {
    must(204, await user.ask("DELETE", `/api/items/${id}`));
    written.records.delete(id);
    written.deleted.push(id);
    written.events.push(`items.deleted ${id}`);
  }
}

/** A record with a function that does not come to an end before `finish`. */
export async function leaveRun(server: Running, cwd: string, written: Written): Promise<void> {
  rmSync(join(cwd, "go-on"), { force: true });
  const body = { n: ++written.n, version: 0, text: "waits" };
  const { id } = must(201, await new Caller(() => server.url).ask<{ id: string }>("POST", "/api/items", body));
  written.records.set(id, { ...body, file: "" });
  written.events.push(`items.created ${id}`);
}

/** All acknowledged data of any version that are missing. */
export async function missing(server: Running, cwd: string, written: Written): Promise<string[]> {
  const anybody = new Caller(() => server.url);
  writeFileSync(join(cwd, "go-on"), "");
  await until(() => waiting(cwd) === 0, 60_000);
  const problems: string[] = [];
  const miss = (isThere: boolean, what: string): void => {
    if (!isThere) problems.push(what);
  };
  for (const [id, known] of written.records) {
    const { status, body } = await anybody.ask<Partial<Known>>("GET", `/api/items/${id}`);
    const isSame = body.version === known.version && body.text === known.text && (body.file ?? "") === known.file;
    miss(status === 200 && isSame, `record ${id} (${status})`);
  }
  for (const id of written.deleted)
    miss((await anybody.ask("GET", `/api/items/${id}`)).status === 404, `the deletion of ${id}`);
  for (const email of written.emails)
    miss((await anybody.ask("POST", "/api/auth/login", { email, password })).status === 200, `user ${email}`);
  const user = await anybody.as(written.emails[0] ?? "");
  for (const [id, n] of written.files) {
    const { status, bytes } = await new Caller(user.url, user.token).download(id);
    miss(status === 200 && Buffer.compare(bytes, bytesOf(n)) === 0, `file ${id} (${status})`);
  }
  using database = new Database(join(cwd, "socle.db"), { readonly: true });
  const logged = database
    .query<{ event: string }, []>(
      "SELECT type || ' ' || (payload ->> 'id') AS event FROM _events WHERE type LIKE 'items.%' ORDER BY seq",
    )
    .all()
    .map(({ event }) => event);
  const events = written.events.join("\n");
  miss(
    logged.join("\n") === events,
    `events: ${logged.length} in place of ${written.events.length}, or in another order`,
  );
  const effects = database.query<{ of: string }, []>("SELECT of FROM effects").all();
  const ran = new Set(effects.map((effect) => effect.of));
  const created = written.events.filter((event) => event.startsWith("items.created ")).map((event) => event.slice(14));
  for (const id of created) miss(ran.has(id), `the run of the function for ${id}`);
  return problems;
}

/** All that is stored, as text: the same before and after a start that was refused. */
export function contentOf(cwd: string): string {
  using database = new Database(join(cwd, "socle.db"));
  const tables = database
    .query<{ name: string; sql: string }, []>("SELECT name, sql FROM sqlite_schema WHERE type = 'table' ORDER BY name")
    .all();
  const rows = tables.map(({ name, sql }) => [sql, database.query(`SELECT * FROM "${name}"`).values()]);
  const config = join(cwd, "config.json");
  return JSON.stringify([rows, existsSync(config) ? readFileSync(config, "utf8") : ""]);
}
