/** An export of Firebase: a folder with documents, users and the parameters of hashes. Documents and users go into a work file. */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { freeBytes, isObject, messageOf, SetupError } from "../../../base/kernel/index.ts";
import type { FirebaseParameters } from "../../../people/auth/index.ts";
import { WorkRows } from "../sql/work-rows.ts";
import { documentsOf, howToExport } from "./documents.ts";
import { placeOf } from "./typed.ts";

const howToExportUsers = "firebase auth:export users.json --format=json";
/** Bytes of a file of JSON, which is parsed as a whole: Node.js writes no longer text. */
const maxBytes = 512 * 1024 * 1024;
/** The characters of an id by which a text counts as an id: a shorter text may be a word. */
const leastId = 16;

/** The table of the users of `users.json`. */
export const accountsTable = 0;

/** Documents of one collection, also of many parents. */
export interface ExportedCollection {
  readonly id: number;
  /** `posts`, `posts/comments`. */
  readonly names: string;
  documents: number;
  /** Documents whose id is the id of a user. */
  ofUsers: number;
}

export class FirebaseExport {
  readonly rows: WorkRows;
  readonly collections = new Map<string, ExportedCollection>();
  readonly uids = new Set<string>();
  readonly hasUsers: boolean;
  readonly parameters: FirebaseParameters | null;
  /** The text of `firestore.rules`; null without the file. */
  readonly rules: string | null;
  readonly size: number;

  /** @param work a folder for the rows, which `rows.close` removes. @throws SetupError for a folder that cannot be moved. */
  static async open(folder: string, work: string): Promise<FirebaseExport> {
    checkFolder(folder);
    const rows = new WorkRows(work);
    try {
      const size = ["users.json", "firestore.json"].reduce((sum, name) => sum + sizeOf(join(folder, name)), 0);
      const free = await freeBytes(work);
      // The rows and the index of the rows.
      if (free < 3 * size) throw new SetupError(`${work}: the rows need ${3 * size} bytes, and ${free} are free`);
      return new FirebaseExport(folder, rows, size);
    } catch (thrown) {
      rows.close();
      throw thrown instanceof SetupError ? thrown : new SetupError(`${folder}: cannot be read: ${messageOf(thrown)}`);
    }
  }

  private constructor(folder: string, rows: WorkRows, size: number) {
    this.rows = rows;
    this.size = size;
    this.parameters = parametersIn(textIn(folder, "hash-config.json"));
    this.rules = textIn(folder, "firestore.rules");
    const users = jsonIn(folder, "users.json", howToExportUsers);
    this.hasUsers = users !== undefined;
    if (this.hasUsers) this.#addUsers(users);
    this.#addDocuments(jsonIn(folder, "firestore.json", howToExport));
    const tables = [accountsTable, ...this.collections.values().map(({ id }) => id)];
    rows.end(new Map(tables.map((id) => [id, [0]])));
  }

  /** Whether a text is the id of a user, and no word by chance. */
  isUserId(text: string): boolean {
    return text.length >= leastId && this.uids.has(text);
  }

  #addUsers(json: unknown): void {
    const users = isObject(json) ? json["users"] : undefined;
    if (!Array.isArray(users)) throw new SetupError(`users.json: has no list "users". Export so: ${howToExportUsers}`);
    for (const [at, user] of users.entries()) {
      const uid = isObject(user) ? user["localId"] : undefined;
      if (typeof uid !== "string" || uid === "") throw new SetupError(`users.json: user ${at} has no "localId"`);
      if (this.uids.has(uid)) throw new SetupError(`users.json: the user ${uid} stands twice`);
      this.uids.add(uid);
      this.rows.add(accountsTable, [uid, JSON.stringify(user)]);
    }
  }

  #addDocuments(json: unknown): void {
    const seen = new Set<string>();
    const parents = new Set<string>();
    for (const { path, fields, createTime, updateTime } of documentsOf(json)) {
      if (seen.size === seen.add(path.join("/")).size)
        throw new SetupError(`firestore.json: the document ${path.join("/")} stands twice`);
      for (let end = path.length - 2; end > 0; end -= 2) parents.add(path.slice(0, end).join("/"));
      this.#add(path, [JSON.stringify(fields), createTime, updateTime]);
    }
    // A document of Firestore may have documents below, and not be there.
    for (const parent of parents) if (!seen.has(parent)) this.#add(parent.split("/"), ["{}", "", ""]);
  }

  #add(path: readonly string[], cells: readonly string[]): void {
    const { names, key } = placeOf(path);
    const next = this.collections.size + 1;
    const found = this.collections.getOrInsertComputed(names, () => ({ id: next, names, documents: 0, ofUsers: 0 }));
    found.documents += 1;
    if (this.uids.has(key)) found.ofUsers += 1;
    this.rows.add(found.id, [key, ...cells]);
  }
}

function checkFolder(folder: string): void {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true)
    throw new SetupError(`${folder}: is no folder with firestore.json and users.json`);
  if (existsSync(join(folder, "firestore.json"))) return;
  const isLevelDb = readdirSync(folder).some(
    (name) => name === "all_namespaces" || /^output-\d+$|\.(?:overall_)?export_metadata$/.test(name),
  );
  throw new SetupError(
    isLevelDb
      ? `${folder}: is an export of gcloud, whose files are LevelDB and cannot be read. Export as JSON: ${howToExport}`
      : `${folder}: has no firestore.json. Export so: ${howToExport}`,
  );
}

/** The bytes of a file; 0 without the file. */
function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

function textIn(folder: string, name: string): string | null {
  const path = join(folder, name);
  if (!existsSync(path)) return null;
  if (sizeOf(path) > maxBytes)
    throw new SetupError(
      `${path}: has ${sizeOf(path)} bytes, and may have ${maxBytes}: export without collections that are not needed`,
    );
  return readFileSync(path, "utf8");
}

/** Undefined without the file. */
function jsonIn(folder: string, name: string, how: string): unknown {
  const text = textIn(folder, name);
  if (text === null) return undefined;
  try {
    return JSON.parse(text);
  } catch (thrown) {
    throw new SetupError(`${join(folder, name)}: is cut, or no JSON (${messageOf(thrown)}). Export again: ${how}`);
  }
}

/** The parameters as JSON, or as the console of Firebase shows the parameters. @throws SetupError for other parameters. */
function parametersIn(text: string | null): FirebaseParameters | null {
  if (text === null) return null;
  const member = (name: string): string =>
    new RegExp(String.raw`\b${name}"?\s*[:=]\s*"?([^\s",}]+)`).exec(text)?.[1] ?? "";
  const algorithm = member("algorithm");
  const found = {
    ...{ base64_signer_key: member("base64_signer_key"), base64_salt_separator: member("base64_salt_separator") },
    ...{ rounds: Number(member("rounds")), mem_cost: Number(member("mem_cost")) },
  };
  const isIn = (value: number, most: number): boolean => Number.isInteger(value) && value >= 1 && value <= most;
  if (
    !/^(?:SCRYPT)?$/.test(algorithm) ||
    found.base64_signer_key === "" ||
    !isIn(found.rounds, 8) ||
    !isIn(found.mem_cost, 14)
  )
    throw new SetupError(
      "hash-config.json: needs the algorithm SCRYPT, base64_signer_key, base64_salt_separator, rounds (1 to 8) and mem_cost (1 to 14), as the console of Firebase shows them",
    );
  return found;
}
