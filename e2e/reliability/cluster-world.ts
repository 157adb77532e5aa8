/**
 * World of the cluster suite: three instances with an engine, a bucket and a proxy for each way to the engine; the collections and the queue that the
 * load writes to; the users of the load.
 */
import { cpSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Event } from "@socle/protocol";
import { projectFingerprint } from "../../packages/server/src/app/project-files.ts";
import { startCluster, type TestCluster, type TestInstance } from "../cluster-kit.ts";
import { post, temporaryFolder } from "../kit.ts";

/** The clients of the load, each with a user. */
const clients = 8;
/** The records that all clients count in. */
const tallies = 3;
/** A bit more than the journal of a minute: a long run makes and restores snapshots. */
const snapshotEvery = "4MiB";

const admin = "admin@example.com";
export const password = "a long password";
const n = { name: "n", type: "integer" };
const collections = [
  {
    name: "items",
    fields: [n, { name: "part", type: "integer" }, { name: "serial", type: "integer", sequence: true }],
    permissions: { read: "owner", create: "authenticated", update: "owner", delete: "owner" },
  },
  {
    name: "tallies",
    fields: [{ name: "value", type: "integer" }, n, { name: "note", type: "string" }],
    permissions: { read: "public", create: "admin", update: "authenticated", delete: "admin" },
  },
  {
    name: "runs",
    fields: [n, ...["run", "host"].map((name) => ({ name, type: "string" })), { name: "call", type: "integer" }],
    permissions: { read: "admin", create: "admin", update: "admin", delete: "admin" },
  },
];

/** The definition of an earlier version of the project, whose migration would drop a field. */
export const olderFile = {
  path: "collections/tallies.json",
  text: JSON.stringify({ ...collections[1], fields: [{ name: "value", type: "integer" }, n] }),
};
export const newerText = JSON.stringify(collections[1]);

/** Each call of the handler makes a record; `host` and `call` name the call. */
const work = `
export const queue = { concurrency: 4, retries: 100, backoff: "linear" };
const host = crypto.randomUUID();
let calls = 0;
export default async ({ payload, runId, db }) => {
  await db.collection("runs").create({ n: payload.n, run: runId, host, call: ++calls });
};
`;

export interface User {
  readonly id: string;
  readonly email: string;
  readonly token: string;
}

export interface World extends TestCluster {
  readonly admin: User;
  readonly users: readonly User[];
  /** The ids of the records that all clients count in. */
  readonly tallies: readonly string[];
  /** The last event before the load. */
  readonly since: string;
}

/** Starts a world. To be called at the top level of a test file. */
export async function startWorld(): Promise<World> {
  const files = Object.fromEntries(
    collections.map((each) => [`collections/${each.name}.json`, JSON.stringify(each)] as const),
  );
  const cluster = await startCluster(3, {
    files: { ...files, "jobs/work.ts": work },
    settings: {
      SERVICE_ADMIN_EMAIL: admin,
      SERVICE_ADMIN_PASSWORD: password,
      SERVICE_AUTH_ACCESS_TOKEN_TTL: "12h",
      SERVICE_LIMITS_RATE_REGISTER: "off",
      SERVICE_LIMITS_RATE_LOGIN: "off",
      SERVICE_CLUSTER_SNAPSHOT_EVERY: snapshotEvery,
    },
  });
  const leader = await cluster.leader();
  await supersede(cluster);
  const known = await signIn(leader, "login", admin);
  const users: User[] = [];
  for (let i = 0; i < clients; i++) users.push(await signIn(leader, "register", `client${i}@example.com`));
  const headers = { Authorization: `Bearer ${known.token}` };
  const ids: string[] = [];
  for (let i = 0; i < tallies; i++) {
    const answer = await post(`${leader.url}/api/tallies`, { value: 0, n: 0 }, headers);
    ids.push(((await answer.json()) as { id: string }).id);
  }
  const events = await fetch(`${leader.url}/api/admin/events?limit=1`, { headers });
  const { items } = (await events.json()) as { items: Event[] };
  return { ...cluster, admin: known, users, tallies: ids, since: items[0]?.id ?? "" };
}

/** The journal knows the files of the earlier version as superseded. */
async function supersede({ engine, instances }: TestCluster): Promise<void> {
  const [first] = instances;
  if (first === undefined) throw new Error("The cluster has no instance");
  const folder = temporaryFolder();
  cpSync(first.folder, folder, { recursive: true, filter: (path) => !/socle\.db/.test(path) });
  writeFileSync(join(folder, olderFile.path), olderFile.text);
  const client = engine.client();
  while ((await client`SELECT 1 FROM socle_files`).length === 0) await Bun.sleep(50);
  await client`INSERT INTO socle_files SELECT cluster, 0, ${projectFingerprint(folder)} FROM socle_cluster`;
}

async function signIn({ url }: TestInstance, path: "login" | "register", email: string): Promise<User> {
  const answer = await post(`${url}/api/auth/${path}`, { email, password });
  if (!answer.ok) throw new Error(`${email} cannot sign in: ${answer.status} ${await answer.text()}`);
  const { accessToken, user } = (await answer.json()) as { accessToken: string; user: { id: string } };
  return { id: user.id, email, token: accessToken };
}
