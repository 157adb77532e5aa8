/**
 * Kit of the tests of moves: a data folder of PocketBase, the answers of PocketBase about the folder, the values that Socle must
 * have, and a moved project with a service.
 */
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { post, project, type Running, root, serve, socle, temporaryFolder } from "./kit.ts";

type Values = Record<string, unknown>;

export interface PbField {
  name: string;
  type: string;
  collectionId?: string;
  maxSelect?: number;
}

/** A change of a caller: `path` is of a collection or a record. */
export interface Write {
  caller: string;
  method: string;
  path: string;
  body?: Values;
  status: number;
}

export interface Expected {
  collections: { id: string; name: string; type: string; fields: PbField[] }[];
  records: Record<string, (Values & { id: string })[]>;
  people: Record<"users" | "staff", { id: string; email: string; password: string; loginBy_email?: number | string }[]>;
  files: {
    collection: string;
    record: string;
    field: string;
    name: string;
    uploadedAs: string | null;
    size: number;
    sha256: string;
    protected: boolean;
    status: Record<string, number>;
  }[];
  access: Record<string, Record<string, { list: string[] | number; view?: string[] }>>;
  writes: Write[];
}

const folder = join(root, "e2e", "move-in");
export const expected: Expected = JSON.parse(
  gunzipSync(await Bun.file(join(folder, "expected.json.gz")).bytes()).toString(),
);

/** Unpacks the data folder. Answers the path. */
export function dataFolder(): string {
  const to = temporaryFolder();
  const { exitCode, stderr } = Bun.spawnSync(["tar", "xzf", join(folder, "pb_data.tar.gz"), "-C", to]);
  if (exitCode !== 0) throw new Error(stderr.toString());
  return join(to, "pb_data");
}

/** The new names that the report tells; other names stay. */
const collectionNames: Record<string, string> = { staff: "users", job: "job_", "2024_prices": "n2024_prices_" };
const fieldNames: Record<string, string> = {
  "users.role": "role_",
  "job.createdAt": "createdAt_",
  "job._private": "private_",
};

export const newName = (collection: string): string => collectionNames[collection] ?? collection;
export const newField = (collection: string, field: string): string => fieldNames[`${collection}.${field}`] ?? field;

/** The collections with records, without system collections and views. */
export const moved = expected.collections.filter(({ name, type }) => !name.startsWith("_") && type !== "view");

export function isMany({ type, maxSelect = 0 }: PbField): boolean {
  return ["select", "relation", "file"].includes(type) && maxSelect > 1;
}

/** The values that are not as in PocketBase, as the report tells. */
const odd: Record<string, unknown> = {
  "specimens/spec00000000011/data": { big: "12345678901234567000", decimal: 1.1, float: 1 },
  "specimens/spec00000000013/data": { big: "12345678901234567890", decimal: 1.1, z: 1, a: 2 },
  "specimens/spec00000000014/title": "before\ufffdafter",
  "specimens/spec00000000017/data": `${"[".repeat(120)}${"]".repeat(120)}`,
};

const isoOf = (text: string): string | null => (text === "" ? null : new Date(text.replace(" ", "T")).toISOString());

/** @param idOf the new id of an old id of a collection; undefined for an id that no record has. */
export function wantedFor(
  at: { collection: string; id: string; field: PbField; value: unknown },
  idOf: (collectionId: string, id: string) => string | undefined,
): unknown {
  const { collection, id, field, value } = at;
  const place = `${collection}/${id}/${field.name}`;
  if (place in odd) return odd[place];
  const ids = (texts: string[]): unknown[] => texts.map((text) => idOf(field.collectionId ?? "", text) ?? "gone");
  switch (field.type) {
    case "relation":
      return isMany(field) ? ids(value as string[]) : value === "" ? null : ids([value as string])[0];
    case "date":
    case "autodate":
      return isoOf(value as string);
    case "select":
      return value === "" ? null : value;
    case "json":
      return JSON.parse(JSON.stringify(value ?? null), (_, each) => {
        const [hit] = moved.flatMap((pb) =>
          typeof each === "string" && each.length === 15 ? (idOf(pb.id, each) ?? []) : [],
        );
        return hit ?? each;
      });
    default:
      return value;
  }
}

/** The options that decide what the report asks. */
export const decisions = [
  ...["--dangling", "keep", "--issuer", "oidc=https://id.harbour.example"],
  ...["--email", "user00000000013=capitals@harbour.example", "--email", "user00000000009=kim@harbour.example"],
  ...["--email", "user00000000015=juergen@harbour.example", "--email", "staff0000000002=ida.staff@harbour.example"],
];
export const newEmails: Record<string, string> = {
  user00000000013: "capitals@harbour.example",
  user00000000009: "kim@harbour.example",
  user00000000015: "juergen@harbour.example",
  staff0000000002: "ida.staff@harbour.example",
};
const admin = { email: "root@harbour.example", password: "root of all harbours 7" };

export const move = (cwd: string, folder: string, more: readonly string[] = ["--yes", ...decisions]) =>
  socle(["move-in", "pocketbase", folder, ...more], { cwd });

export type Item = Values & { id: string; sourceId: string };

export async function tokenOf(
  url: string,
  email: string,
  password: string,
): Promise<{ status: number; token: string }> {
  const response = await post(`${url}/api/auth/login`, { email, password });
  const { accessToken = "" } = (await response.json()) as { accessToken?: string };
  return { status: response.status, token: accessToken };
}

export async function list(url: string, collection: string, token: string): Promise<Item[] | number> {
  const headers = token === "" ? undefined : { Authorization: `Bearer ${token}` };
  const response = await fetch(`${url}/api/${collection}`, headers && { headers });
  return response.ok ? ((await response.json()) as { items: Item[] }).items : response.status;
}

/** A moved project with a service, an admin, and the moved records. */
export interface MovedProject {
  cwd: string;
  server: Running;
  report: string;
  /** Of the admin. */
  token: string;
  /** The records by the old name of the collection. */
  items: Map<string, Item[]>;
  /** The new ids by the old id of the collection, and the old id of the record. */
  ids: Map<string, string>;
  fileOf(id: unknown, as?: string): Promise<{ status: number; headers: Headers; bytes: Uint8Array }>;
}

export async function movedProject(): Promise<MovedProject> {
  const cwd = await project();
  const done = await move(cwd, dataFolder());
  if (done.code !== 0 || done.stderr !== "") throw new Error(`The move has failed: ${done.stderr}`);
  await socle(["admin", "create", admin.email, "--password", admin.password], { cwd });
  const server = await serve(cwd);
  const { token } = await tokenOf(server.url, admin.email, admin.password);
  const items = new Map<string, Item[]>();
  for (const { name } of moved) {
    const found = await list(server.url, newName(name), token);
    if (typeof found === "number") throw new Error(`${name}: ${found}`);
    const own = found.filter(({ sourceId }) => sourceId !== null);
    items.set(name, newName(name) === "users" ? own.filter((each) => each["sourceCollection"] === name) : own);
  }
  const ids = new Map(
    moved.flatMap(({ id, name }) =>
      (items.get(name) ?? []).map((item) => [`${id}/${item.sourceId}`, item.id] as const),
    ),
  );
  const fileOf: MovedProject["fileOf"] = async (id, as = token) => {
    const headers = as === "" ? {} : { Authorization: `Bearer ${as}` };
    const response = await fetch(`${server.url}/api/storage/${id}`, { headers });
    return { status: response.status, headers: response.headers, bytes: await response.bytes() };
  };
  return { cwd, server, report: done.stdout, token, items, ids, fileOf };
}
