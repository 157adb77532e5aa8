/**
 * The work of a power-cut run, noted in the ledger: records, files, sessions, definitions and a backup, by clients that work beside each
 * other.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Client, itemsOf, textOf } from "./client.ts";
import type { History, Ledger } from "./ledger.ts";

const password = "correct horse";

const everybody = { read: "public", create: "public", update: "public", delete: "public" };
const number = { name: "n", type: "integer", required: true, unique: true };
const collections = [
  { name: "items", fields: [number, { name: "text", type: "text" }], permissions: everybody },
  {
    name: "effects",
    fields: [number, { name: "event", type: "string", required: true, unique: true }],
    permissions: everybody,
  },
  { name: "tasks", fields: [number], permissions: everybody },
  { name: "shapes", fields: [{ name: "field0", type: "integer" }], permissions: everybody },
];

/** The function of `tasks`: the effect is made once, in spite of repeated runs. */
export const effectFunction = `
export const onCreate = async ({ record, event, db }: any) => {
  await db.collection("effects").create({ n: record.n, event: event.id }).catch((error: any) => {
    if (error.details?.[0]?.rule !== "unique") throw error;
  });
};
`;

export interface Amount {
  /** The amount of each client. */
  readonly items: number;
  readonly tasks: number;
  readonly files: number;
  readonly users: number;
  readonly definitions: number;
}

export interface Work {
  readonly ledger: Ledger;
  /** The service's folder. */
  readonly cwd: string;
  readonly random: () => number;
  readonly amount: Amount;
}

let lastNumber = 0;

/** The first admin, by the link that the start prints; a first file; and the collections. Answers the admin's token. */
export async function setUp(work: Work, url: string, output: string): Promise<string> {
  const { ledger } = work;
  const link = /\/_\/setup\?token=([\w-]+)/.exec(output)?.[1];
  if (link === undefined) throw new Error(`The start printed no link to the set-up:\n${output}`);
  const asked = ledger.now();
  const email = "admin@example.com";
  const answer = await new Client(url).post("/api/auth/setup", { token: link, email, password });
  const token = textOf(answer, "accessToken");
  ledger.begin("session", token, { asked, state: textOf(answer, "refreshToken") });
  ledger.begin("user", email, { asked, state: "there" });
  const client = new Client(url, token);
  // Before any other write has had the disk flushed.
  await writeFile(work, client);
  for (const definition of collections) {
    const before = ledger.now();
    await client.post("/api/admin/collections", definition);
    ledger.begin("definition", definition.name, { asked: before, state: fieldsOf(definition.fields) });
  }
  return token;
}

/** Fields in the form of the checks. */
export function fieldsOf(fields: readonly { readonly name: string; readonly type: string }[]): string {
  return JSON.stringify(fields.map(({ name, type }) => [name, type]));
}

/** A part of the work, with a backup at the same time if `hasBackup` is true. */
export async function load(work: Work, client: Client, hasBackup: boolean): Promise<void> {
  const many = (count: number, run: () => Promise<void>): Promise<void>[] => Array.from({ length: count }, run);
  await Promise.all([
    ...many(6, () => writeItems(work, client)),
    ...many(2, () => writeTasks(work, client)),
    ...many(2, () => writeFiles(work, client)),
    signIn(work, client),
    migrate(work, client),
    ...(hasBackup ? [backUp(work, client)] : []),
  ]);
}

async function writeItems({ ledger, random, amount }: Work, client: Client): Promise<void> {
  const own: { history: History; n: number }[] = [];
  const body = (n: number): { n: number; text: string } => ({
    n,
    text: `${n} `.repeat(Math.floor(random() ** 3 * 1_500)),
  });
  for (let i = 0; i < amount.items; i++) {
    const known = own[Math.floor(random() * own.length)];
    const way = random();
    if (known === undefined || way < 0.6) {
      const value = body(++lastNumber);
      const asked = ledger.now();
      const id = textOf(await client.post("/api/items", value), "id");
      own.push({ history: ledger.begin("items", id, { asked, state: JSON.stringify(value) }), n: value.n });
    } else if (way < 0.85) {
      const value = body(known.n);
      await ledger.step(
        known.history,
        JSON.stringify(value),
        async () => void (await client.put(`/api/items/${known.history.id}`, value)),
      );
    } else {
      own.splice(own.indexOf(known), 1);
      await ledger.step(known.history, null, () => client.delete(`/api/items/${known.history.id}`));
    }
  }
}

async function writeTasks({ ledger, amount }: Work, client: Client): Promise<void> {
  for (let i = 0; i < amount.tasks; i++) {
    const value = { n: ++lastNumber };
    const asked = ledger.now();
    const id = textOf(await client.post("/api/tasks", value), "id");
    ledger.begin("tasks", id, { asked, state: JSON.stringify(value) });
  }
}

export function hash(bytes: Uint8Array): string {
  return Bun.SHA256.hash(bytes, "hex");
}

async function writeFile({ ledger, random }: Work, client: Client): Promise<History> {
  const content = new Uint8Array(Math.floor(random() ** 2 * 60_000)).map(() => Math.floor(random() * 256));
  const asked = ledger.now();
  const id = textOf(await client.upload(content), "id");
  return ledger.begin("file", id, { asked, state: hash(content) });
}

async function writeFiles(work: Work, client: Client): Promise<void> {
  for (let i = 0; i < work.amount.files; i++) {
    const history = await writeFile(work, client);
    if (work.random() < 0.4) await work.ledger.step(history, null, () => client.delete(`/api/storage/${history.id}`));
  }
}

/** Registrations and logins; each second session renews the tokens, each third session ends. */
async function signIn({ ledger, amount }: Work, client: Client): Promise<void> {
  for (let i = 0; i < amount.users; i++) {
    const email = `user${++lastNumber}@example.com`;
    for (const way of ["register", "login"]) {
      const asked = ledger.now();
      const answer = await client.post(`/api/auth/${way}`, { email, password });
      const token = textOf(answer, "accessToken");
      const session = ledger.begin("session", token, { asked, state: textOf(answer, "refreshToken") });
      if (way === "register") ledger.begin("user", email, { asked, state: "there" });
      if (i % 2 === 0) await renew(ledger, session, client);
      if (i % 3 === 0)
        await ledger.step(session, null, async () => void (await client.as(token).post("/api/auth/logout")));
    }
  }
}

async function renew(ledger: Ledger, session: History, client: Client): Promise<void> {
  const refreshToken = session.steps.at(-1)?.state ?? "";
  const asked = ledger.now();
  const answer = await client.post("/api/auth/refresh", { refreshToken });
  session.steps.push({ asked, acknowledged: ledger.now(), state: textOf(answer, "refreshToken") });
}

/** Adds, renames and drops fields of `shapes`, which holds records. */
async function migrate({ ledger, amount }: Work, client: Client): Promise<void> {
  const history = ledger.of("definition").find(({ id }) => id === "shapes");
  if (history === undefined) throw new Error("There is no collection to migrate");
  const state = history.steps.at(-1)?.state ?? "[]";
  let fields = (JSON.parse(state) as [string, string][]).map(([name, type]) => ({ name, type }));
  for (let i = 0; i < amount.definitions; i++) {
    await client.post("/api/shapes", {});
    const added = { name: `field${++lastNumber}`, type: i % 2 === 0 ? "string" : "integer" };
    const [first, ...rest] = fields;
    if (i % 3 === 2 && first !== undefined) {
      const renamed = [...rest, { ...first, name: `field${++lastNumber}` }];
      const asked = renamed.map((field, at) => (at < rest.length ? field : { ...field, renamedFrom: first.name }));
      fields = renamed;
      await ledger.step(history, fieldsOf(fields), async () => {
        await client.put("/api/admin/collections/shapes", { fields: asked });
      });
      continue;
    }
    fields = i % 4 === 3 ? [...rest, added] : [...fields, added];
    const asked = fields.map((field) => ({ ...field, renamedFrom: null }));
    await ledger.step(history, fieldsOf(fields), async () => {
      await client.put("/api/admin/collections/shapes", { fields: asked });
    });
  }
}

/** A backup counts as acknowledged once the list shows the backup as completed. */
async function backUp({ ledger, cwd }: Work, client: Client): Promise<void> {
  const asked = ledger.now();
  const name = textOf(await client.post("/api/admin/backups"), "name");
  for (;;) {
    const entry = itemsOf(await client.get("/api/admin/backups")).find((each) => textOf(each, "name") === name);
    const state = entry === undefined ? "missing" : textOf(entry, "state");
    if (state === "completed") break;
    if (state !== "running") throw new Error(`The backup is ${state}: ${JSON.stringify(entry)}`);
    await Bun.sleep(5);
  }
  const acknowledged = ledger.now();
  const history = ledger.begin("backup", name, { asked, state: "" });
  history.steps.splice(0, 1, { asked, acknowledged, state: hash(readFileSync(join(cwd, "backups", name))) });
}
