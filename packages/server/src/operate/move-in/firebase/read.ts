/** The reader of Firebase: a folder with the documents of Firestore and the users becomes a `MoveSource`. */
import { statSync } from "node:fs";
import { count, isObject, parseDatetime, SetupError } from "../../../base/kernel/index.ts";
import { Accounts } from "../accounts.ts";
import {
  type Choices,
  type MovedRow,
  type MoveFinding,
  type MoveSource,
  type MoveTable,
  movedId,
  sourceIdField,
} from "../source.ts";
import type { StoredRow } from "../sql/work-rows.ts";
import { timesOf } from "../values.ts";
import { detailsOf, type ExportedUser, FirebaseUsers, timeOf } from "./accounts.ts";
import { accountField, closed, commentsOf, definitionOf } from "./definitions.ts";
import { FirebaseExport } from "./export.ts";
import { typedOf } from "./typed.ts";
import { FirebaseValues } from "./values.ts";
import { FirebaseWorld, type MovedCollection } from "./world.ts";

interface FirebaseOptions {
  readonly choices: Choices;
  /** A folder for the rows of the export. */
  readonly work: string;
  /** The folder of the files: FOLDER/BUCKET/PATH. Null without files. */
  readonly files: string | null;
}

/** @throws SetupError for a folder that cannot be moved. The caller disposes of the source. */
export async function readFirebase(
  path: string,
  { choices, work, files }: FirebaseOptions,
): Promise<MoveSource & Disposable> {
  if (files !== null && statSync(files, { throwIfNoEntry: false })?.isDirectory() !== true)
    throw new SetupError(`${files}: is no folder of files, with a folder for each bucket`);
  const source = await FirebaseExport.open(path, work);
  try {
    return { ...new Reader(source, choices, files).source(), [Symbol.dispose]: () => source.rows.close() };
  } catch (thrown) {
    source.rows.close();
    throw thrown;
  }
}

class Reader {
  readonly #export: FirebaseExport;
  readonly #world: FirebaseWorld;
  readonly #values: FirebaseValues;
  readonly #findings: MoveFinding[] = [];
  readonly #users: FirebaseUsers;
  readonly #accounts: Accounts;
  readonly #hasFiles: boolean;
  readonly #now = new Date().toISOString();
  readonly #report = (kind: MoveFinding["kind"], text: string): void => void this.#findings.push({ kind, text });

  constructor(source: FirebaseExport, choices: Choices, files: string | null) {
    this.#export = source;
    this.#world = new FirebaseWorld(source);
    this.#values = new FirebaseValues(this.#world, choices, files);
    this.#hasFiles = files !== null;
    this.#users = new FirebaseUsers(this.#world);
    this.#accounts = new Accounts(this.#users.all(), { choices, report: this.#report });
  }

  source(): MoveSource {
    const hasUsers = this.#export.hasUsers || this.#world.users.documents !== null;
    const tables = this.#world.collections
      .filter(({ isUsers }) => hasUsers || !isUsers)
      .map((each) => this.#table(each));
    this.#tellRest();
    const files = this.#hasFiles ? [this.#files()] : [];
    return { label: "Firebase", tables: [...tables, ...files], findings: this.#findings, size: this.#export.size };
  }

  #table(placed: MovedCollection): MoveTable {
    const { rows, rules, uids } = this.#export;
    const { documents, from } = placed;
    const shared = {
      ...{ from, definition: definitionOf(placed, this.#world, this.#report), comments: commentsOf(rules, from) },
      has: (sourceId: string) => this.#world.has(placed, sourceId),
    };
    if (placed.isUsers) {
      const details = accountField(placed);
      const gone = documents === null ? 0 : documents.documents - documents.ofUsers;
      const users = this.#users;
      const read = (row: ExportedUser): MovedRow => this.#user(row, { placed, details });
      return {
        ...{ ...shared, count: uids.size + gone },
        *rows() {
          for (const row of users.rows()) yield read(row);
        },
      };
    }
    const id = documents?.id ?? -1;
    const read = (row: StoredRow): MovedRow => this.#document(row, placed);
    return {
      ...{ ...shared, count: rows.count(id) },
      *rows() {
        for (const row of rows.rows(id)) yield read(row);
      },
    };
  }

  #user(row: ExportedUser, { placed, details }: { placed: MovedCollection; details: string }): MovedRow {
    const { uid, account, document } = row;
    const id = placed.idFor(uid);
    const given = { created: timeOf(account?.["createdAt"]), updated: null };
    return {
      ...{
        sourceId: uid,
        id,
        owner: id,
        address: document === null ? `/accounts/${uid}` : addressOf(placed.from, uid),
        files: () => [],
      },
      ...timesOf(given, { now: this.#now, otherwise: this.#now }),
      values: (definition, note) => {
        const hasDetails = definition.fields.some(({ name }) => name === details);
        const own = document === null ? {} : this.#values.of(document, { placed, definition, note });
        const more = hasDetails
          ? { [details]: this.#values.json(detailsOf(account), (each) => note(each, details)) }
          : {};
        return { ...own, ...more, sourceId: uid };
      },
      account: this.#accounts.of(this.#users.of(row)),
    };
  }

  #document(row: StoredRow, placed: MovedCollection): MovedRow {
    const { key, cells } = row;
    const document: unknown = JSON.parse(cells[1] ?? "{}");
    const at = (to: string): string | null => {
      const field = placed.fields.find((each) => each.to === to);
      const time = field === undefined || !isObject(document) ? null : typedOf(document[field.from]).value;
      return typeof time === "string" ? time : parseDatetime(cells[to === "createdAt" ? 2 : 3] ?? "");
    };
    const owner = placed.fields.find(({ part, target }) => part !== "field" && target?.isUsers);
    const holder = owner?.part === "parent" ? key.slice(0, key.lastIndexOf("/")) : key;
    return {
      ...{ sourceId: key, id: placed.idFor(key), account: null, files: () => [] },
      ...timesOf({ created: at("createdAt"), updated: at("updatedAt") }, { now: this.#now, otherwise: this.#now }),
      values: (definition, note) => ({ ...this.#values.of(row, { placed, definition, note }), sourceId: key }),
      owner: owner === undefined ? null : (owner.target?.idFor(holder) ?? null),
      address: addressOf(placed.from, key),
    };
  }

  /** The files of storage as records. */
  #files(): MoveTable {
    const all = this.#values.keys();
    const keys = all.filter((key) => key.includes("/"));
    if (keys.length < all.length)
      this.#report(
        "left",
        `${count(all.length - keys.length, "file")} beside the folders of the buckets: put the files into a folder with the name of the bucket`,
      );
    const known = new Set(keys);
    const values = this.#values;
    const now = this.#now;
    const read = (key: string): MovedRow => {
      const file = values.file(key);
      const [bucket = "", ...path] = key.split("/");
      return {
        ...{ sourceId: key, id: movedId("rec", `storage/${key}`, 0), createdAt: now, updatedAt: now },
        values: (_, note) => ({
          ...{ bucket, path: path.join("/"), sourceId: key },
          file: values.file(key, (oddity) => note(oddity, "file"))?.id ?? null,
        }),
        files: () => (file === null ? [] : [file]),
        ...{
          account: null,
          owner: null,
          address: `/b/${encodeURIComponent(bucket)}/o/${encodeURIComponent(path.join("/"))}`,
        },
      };
    };
    this.#report(
      "other",
      "Files are for admins alone, also files with a download address: write the rules of the collection of files",
    );
    return {
      ...{ from: "Storage", comments: commentsOf(null, ""), count: keys.length, has: (key) => known.has(key) },
      definition: {
        ...{ name: this.#world.nameFor("storage_objects"), permissions: closed },
        fields: [
          ...(["bucket", "path"] as const).map((name) => ({ name, type: "string" as const, required: true })),
          { name: "file", type: "file" },
          sourceIdField,
        ],
      },
      rows: () => keys.values().map(read),
    };
  }

  /** Findings on all that is neither a collection nor a document. */
  #tellRest(): void {
    const { hasUsers, rules } = this.#export;
    this.#report(
      "closed",
      `Every collection: security rules are not translated${rules === null ? "; put firestore.rules into the folder to have each rule as a comment" : ", and stand as comments"}: write the rules`,
    );
    this.#report("other", "Times have milliseconds: finer digits are cut");
    if (this.#world.users.documents !== null)
      this.#report(
        "other",
        `${this.#world.users.from}: the ids are ids of users: the documents become fields of users`,
      );
    if (!hasUsers) this.#report("left", "Users: there is no users.json: firebase auth:export users.json --format=json");
    if (!this.#hasFiles)
      this.#report(
        "left",
        "Files of storage: download the buckets (gsutil -m cp -r gs://BUCKET FOLDER), and add --files FOLDER",
      );
    this.#report(
      "left",
      "Realtime Database, Cloud Functions, indexes, Remote Config, messaging, settings of sign-in and mail, sessions: users sign in anew; see docs/configuration.md and docs/functions.md",
    );
  }
}

/** The path of a document at the REST API, without the project. */
function addressOf(names: string, key: string): string {
  const ids = key.split("/");
  return `/documents/${names
    .split("/")
    .map((name, at) => `${name}/${ids[at]}`)
    .join("/")}`;
}
