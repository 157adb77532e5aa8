/** Kit of the tests of continuous backups: a project with a place, the wait until all writes have left, and the state of a service as records and files. */
import { join } from "node:path";
import { bucket, s3Key } from "../packages/server/test/s3-server.ts";
import { post, project, type Running, socle, until } from "./kit.ts";

const metricsToken = "metrics of the tests";

/** The variables of a service with a continuous backup. */
export function withPlace(place: string, more: Record<string, string> = {}): Record<string, string> {
  return {
    SERVICE_BACKUP_CONTINUOUS: place,
    SERVICE_BACKUP_EVERY: "100ms",
    SERVICE_METRICS_TOKEN: metricsToken,
    SERVICE_ADMIN_EMAIL: "admin@example.com",
    SERVICE_ADMIN_PASSWORD: "correct horse battery",
    ...more,
  };
}

/** The variables of a store on loopback. */
export function withStore(endpoint: string): Record<string, string> {
  return {
    SERVICE_S3_ENDPOINT: endpoint,
    SERVICE_S3_REGION: "us-east-1",
    SERVICE_S3_ACCESS_KEY_ID: s3Key,
    SERVICE_S3_SECRET_ACCESS_KEY: s3Key,
  };
}

export function prefixIn(name: string): string {
  return `s3://${bucket}/${name}`;
}

/** A project with a collection of items. */
export function itemProject(): Promise<string> {
  return project({
    collections: [
      {
        name: "items",
        fields: [
          { name: "n", type: "integer", unique: true },
          { name: "file", type: "file" },
        ],
      },
    ],
  });
}

/** The age of the oldest write that has not left, in seconds. */
export async function behind(url: string): Promise<number> {
  const answer = await fetch(`${url}/metrics`, { headers: { Authorization: `Bearer ${metricsToken}` } });
  return Number(/^socle_backup_behind_seconds (\S+)$/m.exec(await answer.text())?.[1]);
}

/** Waits until all writes have left, and a snapshot has closed every gap. */
export function untilAllLeft({ url }: Pick<Running, "url">): Promise<void> {
  return until(async () => (await behind(url)) === 0);
}

/** A moment: each write that was acknowledged before this moment has left, in segments that follow a snapshot. */
export async function leftUntil(url: string): Promise<number> {
  const asked = Date.now();
  return asked - 1_000 * (await behind(url));
}

/** Waits until the writes so far have left, also while later writes come. */
export function untilLeft({ url }: Pick<Running, "url">): Promise<void> {
  const now = Date.now();
  return until(async () => (await leftUntil(url)) > now);
}

export async function signIn(url: string): Promise<string> {
  const credentials = { email: "admin@example.com", password: "correct horse battery" };
  return Reflect.get((await (await post(`${url}/api/auth/login`, credentials)).json()) as object, "accessToken");
}

export async function add(url: string, n: number, file: string | null = null): Promise<void> {
  const answer = await post(`${url}/api/items`, { n, file });
  if (answer.status !== 201) throw new Error(`POST ${answer.status}: ${await answer.text()}`);
}

export async function upload(url: string, token: string, content: string): Promise<string> {
  const form = new FormData();
  form.set("file", new Blob([content]), "file.txt");
  form.set("visibility", "public");
  const headers = { Authorization: `Bearer ${token}` };
  const answer = await fetch(`${url}/api/storage/upload`, { method: "POST", headers, body: form });
  if (answer.status !== 201) throw new Error(`upload ${answer.status}`);
  return Reflect.get((await answer.json()) as object, "id");
}

/** The numbers of the items in their order. */
export async function numbers(url: string): Promise<number[]> {
  const answer = (await (await fetch(`${url}/api/items`)).json()) as { items: { n: number }[] };
  return answer.items.map(({ n }) => n).sort((a, b) => a - b);
}

export async function textOfFile(url: string, id: string): Promise<string | null> {
  const answer = await fetch(`${url}/api/storage/${id}`);
  return answer.status === 200 ? answer.text() : null;
}

interface Listed {
  readonly snapshots: readonly { readonly name: string; readonly position: number }[];
  readonly first: { readonly number: number };
  readonly last: { readonly number: number; readonly last: number; readonly to: number };
  readonly gaps: readonly { readonly first: number; readonly last: number; readonly number: number }[];
}

/** `socle backup list --json`. */
export async function listed(place: string, env: Record<string, string> = {}): Promise<Listed> {
  const { code, stdout, stderr } = await socle(["backup", "list", place, "--json"], { env });
  if (code !== 0) throw new Error(stderr);
  return JSON.parse(stdout) as Listed;
}

/** Restores into a new project. Answers the folder. */
export async function restored(
  place: string,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<string> {
  const cwd = await itemProject();
  const { code, stderr } = await socle(["restore", place, ...args], { cwd, env });
  if (code !== 0) throw new Error(stderr);
  return cwd;
}

/** The path of a segment in a place that is a folder. */
export function segmentPath(place: string, number: number): string {
  return join(place, "segments", `segment-${String(number).padStart(16, "0")}`);
}
