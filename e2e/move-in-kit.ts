/** Kit of the tests of moves: a data folder of PocketBase, the answers of PocketBase about the folder, and the values that Socle must have. */

import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { root, temporaryFolder } from "./kit.ts";

type Values = Record<string, unknown>;

export interface PbField {
  name: string;
  type: string;
  collectionId?: string;
  maxSelect?: number;
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
