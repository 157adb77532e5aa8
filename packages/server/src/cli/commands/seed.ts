/** `socle seed`: creates the users and records of a JSON file. */
import type { Credentials, User } from "@socle/protocol";
import { openService, type Service } from "../../app/index.ts";
import { readCredentials } from "../../auth/index.ts";
import {
  AppError,
  count,
  isObject,
  messageOf,
  type Principal,
  quote,
  readJsonFile,
  SetupError,
  system,
  systemFor,
} from "../../kernel/index.ts";
import { type Command, withoutLog } from "../command.ts";
import { configOption, loadSettings } from "../settings.ts";

/**
 * Reads records from a file, in the order in which they stand: `{ "users": [{ email, password }], "posts": [{ … }] }`.
 * In a record, `"$owner"` is the email of its owner, `"$as"` a name by which a later one's relation can point to it:
 * `{ "$ref": "name" }`. A collection that has records is left alone, so that a second run changes nothing.
 */
export const seed: Command = {
  name: "seed",
  args: ["FILE"],
  summary: "Fill empty collections with the users and records of a JSON file",
  options: configOption,
  async run({ args: [file = ""], options, terminal }) {
    const { config, logger } = await loadSettings(options, withoutLog(terminal));
    const content = await readJsonFile(file);
    if (!isObject(content)) throw new SetupError(`${file}: must hold a JSON object, collection → records`);
    const service = await openService({
      config,
      logger,
      onFatal: (error) => terminal.err(`The disk refused a write: ${messageOf(error)}\n`),
    });
    try {
      const seeder = new Seeder(service, file);
      for (const [name, items] of Object.entries(content)) terminal.out(`${name}: ${await seeder.fill(name, items)}\n`);
    } finally {
      await service.close();
    }
    return 0;
  },
};

class Seeder {
  readonly #service: Service;
  readonly #file: string;
  readonly #names = new Map<string, string>();
  readonly #users = new Map<string, Principal>();

  constructor(service: Service, file: string) {
    this.#service = service;
    this.#file = file;
  }

  /** Answers a summary in words. */
  async fill(name: string, items: unknown): Promise<string> {
    if (!Array.isArray(items)) throw new SetupError(`${this.#file}: "${name}" must be an array, not ${quote(items)}`);
    const isUsers = name === "users";
    if (!isUsers && this.#service.collections.get(name) === undefined)
      throw new SetupError(`${this.#file}: there is no collection ${quote(name)} for its records`);
    if (!isUsers && (await this.#hasRecords(name))) return "has records already, nothing added";
    let added = 0;
    for (const [position, item] of items.entries()) {
      const where = `${this.#file}: ${name}[${position}]`;
      if (!isObject(item)) throw new SetupError(`${where}: must be an object, not ${quote(item)}`);
      try {
        if (isUsers) added += (await this.#addUser(item)) ? 1 : 0;
        else added += await this.#addRecord(name, item);
      } catch (thrown) {
        if (!(thrown instanceof AppError)) throw thrown;
        throw new SetupError(
          `${where}: ${thrown.details?.map((detail) => detail.message).join("; ") ?? thrown.message}`,
        );
      }
    }
    return `${count(added, isUsers ? "user" : "record")} added`;
  }

  async #hasRecords(name: string): Promise<boolean> {
    const { records, queries } = this.#service;
    const pages = await queries.whole(records.collection(name), system);
    await pages.rest?.return();
    return pages.first.length > 0;
  }

  async #addUser(item: Record<string, unknown>): Promise<boolean> {
    const credentials = readCredentials(item);
    const { users } = this.#service.auth;
    const found = await users.findByEmail(credentials.email);
    const user = found ?? (await this.#makeUser(credentials));
    this.#users.set(credentials.email, systemFor(user.id));
    return found === null;
  }

  async #makeUser(credentials: Credentials): Promise<User> {
    const { auth, database } = this.#service;
    const values = await auth.users.prepare(credentials);
    return database.transact((tx) => auth.users.create(tx, values, "authenticated", system));
  }

  async #addRecord(name: string, item: Record<string, unknown>): Promise<number> {
    const { $as: alias, $owner: owner, ...fields } = item;
    let principal: Principal = system;
    if (owner !== undefined) {
      principal = this.#users.get(String(owner)) ?? null;
      if (principal === null) throw new AppError("bad_request", `"$owner" ${quote(owner)} is not one of the "users"`);
    }
    const body = Object.fromEntries(Object.entries(fields).map(([field, value]) => [field, this.#resolve(value)]));
    const { record } = await this.#service.records.create(name, principal, body);
    if (alias !== undefined) this.#names.set(String(alias), record.id);
    return 1;
  }

  #resolve(value: unknown): unknown {
    if (!isObject(value) || !("$ref" in value)) return value;
    const id = this.#names.get(String(value["$ref"]));
    if (id === undefined) throw new AppError("bad_request", `no earlier record has "$as": ${quote(value["$ref"])}`);
    return id;
  }
}
