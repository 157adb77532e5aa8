/**
 * Seeds: the users and records of a JSON file, made in a single transaction, all or nothing. The format: `{ "users": [{
 * "$as", email, password }], "posts": [{ "$as", "$owner", … }] }`: the users first, and then the records in the order of the file. `"$as"` names a user
 * or a record, and `{ "$ref": name }` as a value is the id of the named user or record, which may stand later; a user's email is a name, too.
 * `"$owner"` is the email of a record's owner. A collection that has records is left alone, so that a second run
 * changes nothing.
 */
import type { Credentials, ErrorDetail } from "@socle/protocol";
import {
  AppError,
  count,
  isObject,
  LoopTurns,
  newId,
  oneOf,
  type Principal,
  quote,
  readJsonFile,
  reasonsOf,
  SetupError,
  system,
  systemFor,
} from "../base/kernel/index.ts";
import type { TakesTarget } from "../data/records/index.ts";
import { type NewUser, readCredentials } from "../people/auth/index.ts";
import type { Transactor } from "../store/database/index.ts";
import type { Service } from "./service.ts";

/** A user or a record of the file. */
interface Item {
  /** The place in the file, for messages: `posts[3]`. */
  readonly where: string;
  /** The name, for references. */
  readonly alias: string | null;
  readonly owner: string | null;
  readonly fields: Readonly<Record<string, unknown>>;
}

const keysOfUsers = ["$as", "email", "password"];
const keysOfRecords = ["$as", "$owner"];

/** The outcome for each list of the file, in words. */
export type SeedReport = readonly { readonly name: string; readonly outcome: string }[];

/** @throws SetupError with the file, the place in the file, and the cause; nothing is made then. */
export async function seedFrom(file: string, service: Service): Promise<SeedReport> {
  const lists = parse(file, await readJsonFile(file), service.records.users.isOn);
  const seeder = new Seeder(service);
  for (const [name, items] of lists)
    if (name !== "users" && service.collections.get(name) === undefined)
      throw new SetupError(`${file}: there is no collection ${quote(name)} for its records`);
    else if (name === "users") for (const item of items) await at(file, item, () => seeder.prepareUser(item));
  return service.database.transactLong("seed", async (tx) => {
    const isLeft = (name: string): boolean => name !== "users" && service.records.newest(tx, name) !== null;
    const outcomes = new Map(lists.map(([name]) => [name, "has records already, nothing added"]));
    const open = lists.filter(([name]) => !isLeft(name));
    for (const [name, items] of open)
      if (name !== "users") for (const item of items) await at(file, item, () => seeder.name(item));
    for (const [name, items] of open.toSorted(([a], [b]) => Number(b === "users") - Number(a === "users"))) {
      let added = 0;
      for (const item of items)
        added += await at(file, item, () =>
          name === "users" ? seeder.addUser(tx, item) : seeder.addRecord(tx, name, item),
        );
      outcomes.set(name, `${count(added, name === "users" ? "user" : "record")} added`);
    }
    for (const { item, problem } of seeder.ahead) await at(file, item, () => refuseProblem(problem()));
    return [...outcomes].map(([name, outcome]) => ({ name, outcome }));
  });
}

/** @throws AppError `validation_error`. */
function refuseProblem(problem: ErrorDetail | null): void {
  if (problem !== null) throw AppError.validation([problem]);
}

async function at<T>(file: string, { where }: Item, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    if (!(thrown instanceof AppError) || thrown.code === "unavailable") throw thrown;
    throw new SetupError(`${file}: ${where}: ${reasonsOf(thrown)}`);
  }
}

/** The lists of a file. Keys without a meaning are refused: the author of this key expects an effect. */
function parse(file: string, content: unknown, haveUsersFields: boolean): [string, Item[]][] {
  if (!isObject(content)) throw new SetupError(`${file}: must hold a JSON object, collection → records`);
  return Object.entries(content).map(([name, items]): [string, Item[]] => {
    if (!Array.isArray(items)) throw new SetupError(`${file}: "${name}" must be an array, not ${quote(items)}`);
    const known = name !== "users" ? keysOfRecords : haveUsersFields ? null : keysOfUsers;
    return [name, items.map((item: unknown, i) => parseItem(file, { item, where: `${name}[${i}]`, known }))];
  });
}

/** @param at `known`: the keys with a meaning, beside the fields of records; null for users with fields. */
function parseItem(file: string, at: { item: unknown; where: string; known: readonly string[] | null }): Item {
  const { item, where, known } = at;
  const refuse = (problem: string): never => {
    throw new SetupError(`${file}: ${where}: ${problem}`);
  };
  if (!isObject(item)) return refuse(`must be an object, not ${quote(item)}`);
  const words = known ?? keysOfUsers;
  const unknown = Object.keys(item).find(
    (key) => (known === keysOfUsers || key.startsWith("$")) && !words.includes(key),
  );
  if (unknown !== undefined) refuse(`${quote(unknown)} means nothing here; allowed: ${oneOf(words)}`);
  const { $as: alias = null, $owner: owner = null, ...fields } = item;
  if (alias !== null && typeof alias !== "string") return refuse(`"$as" must be a text, not ${quote(alias)}`);
  if (owner !== null && typeof owner !== "string") return refuse(`"$owner" must be an email, not ${quote(owner)}`);
  return { where, alias, owner, fields };
}

class Seeder {
  readonly #service: Service;
  readonly #turns = new LoopTurns();
  /** Ids by name. */
  readonly #names = new Map<string, string>();
  /** The ids of named records. */
  readonly #chosen = new Map<Item, string>();
  /** The relations to records that did not exist yet. */
  readonly ahead: { readonly item: Item; problem(): ErrorDetail | null }[] = [];
  readonly #owners = new Map<string, Principal>();
  readonly #prepared = new Map<Item, Awaited<ReturnType<Service["auth"]["users"]["prepare"]>>>();
  readonly #credentials = new Map<Item, Credentials>();

  constructor(service: Service) {
    this.#service = service;
  }

  /** Passwords are hashed before the transaction, which would keep others waiting. */
  async prepareUser(item: Item): Promise<void> {
    const { users } = this.#service.auth;
    const credentials = readCredentials(item.fields);
    this.#credentials.set(item, credentials);
    if (users.findByEmail(credentials.email) === null) this.#prepared.set(item, await users.prepare(credentials));
  }

  /** Gives a named record its id: items before the record may point to the record. */
  name(item: Item): void {
    if (item.alias === null) return;
    const id = newId("rec", Date.now());
    this.#chosen.set(item, id);
    this.#call(item.alias, id);
  }

  #takes(item: Item): TakesTarget {
    const ids = new Set(this.#chosen.values());
    return (id, problem) => ids.has(id) && this.ahead.push({ item, problem }) > 0;
  }

  /** Answers how many users were added. */
  addUser(tx: Transactor, item: Item): 0 | 1 {
    const { users } = this.#service.auth;
    const email = (this.#credentials.get(item)?.email ?? "").toLowerCase();
    const prepared = this.#prepared.get(item);
    const user =
      prepared === undefined
        ? users.findByEmail(email)
        : users.create(tx, { ...prepared, ...this.#newUser(item), role: "authenticated" }, system);
    if (user === null) throw new AppError("conflict", `the user ${quote(email)} was deleted meanwhile`);
    this.#owners.set(email, systemFor(user.id));
    this.#call(email, user.id);
    if (item.alias !== null) this.#call(item.alias, user.id);
    return prepared === undefined ? 0 : 1;
  }

  async addRecord(tx: Transactor, collection: string, item: Item): Promise<1> {
    const { owner, fields } = item;
    const principal = owner === null ? system : this.#owners.get(owner.trim().toLowerCase());
    if (principal === undefined)
      throw new AppError("bad_request", `"$owner" ${quote(owner)} is not one of the "users"`);
    const body = this.#fieldsOf(collection, fields);
    const id = this.#chosen.get(item);
    const takes = this.#takes(item);
    this.#service.records.createIn(tx, principal, { collection, body, takes, ...(id !== undefined && { id }) });
    if (this.#turns.isDue()) await this.#turns.next();
    return 1;
  }

  #newUser(item: Item): Pick<NewUser, "fields" | "takes"> {
    const { email: _, password: __, ...fields } = item.fields;
    return { fields: this.#fieldsOf("users", fields), takes: this.#takes(item) };
  }

  /** The fields of an item, with ids in the place of names. */
  #fieldsOf(collection: string, fields: Item["fields"]): Record<string, unknown> {
    const pointing = this.#pointing(collection);
    return Object.fromEntries(
      Object.entries(fields).map(([name, value]) => [name, pointing.has(name) ? this.#resolve(value) : value]),
    );
  }

  /** The fields with ids as values. In JSON, an object with `$ref` is a value. */
  #pointing(collection: string): ReadonlySet<string> {
    const fields = this.#service.collections.get(collection)?.definition.fields ?? [];
    return new Set(fields.filter(({ type }) => type === "relation" || type === "file").map(({ name }) => name));
  }

  #call(name: string, id: string): void {
    const before = this.#names.get(name);
    if (before !== undefined && before !== id)
      throw new AppError("bad_request", `"$as": ${quote(name)} is the name of an earlier one`);
    this.#names.set(name, id);
  }

  /** References stand for ids, also in arrays. */
  #resolve(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((each) => this.#resolve(each));
    if (!isObject(value) || !("$ref" in value)) return value;
    const { $ref: name, ...others } = value;
    const [stranger] = Object.keys(others);
    if (stranger !== undefined) throw new AppError("bad_request", `${quote(stranger)} means nothing beside "$ref"`);
    const id = this.#names.get(String(name));
    if (id === undefined) throw new AppError("bad_request", `no user or record is called ${quote(name)}`);
    return id;
  }
}
