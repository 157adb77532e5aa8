/** API keys: made, listed, deleted, and the caller of a key, who is looked up in memory after the first use. */
import type { ApiKey, CreatedApiKey, NewApiKey } from "@socle/protocol";
import {
  AppError,
  type Bearer,
  BoundedMap,
  type Clock,
  isAdmin,
  newId,
  randomToken,
  type SignedIn,
  toTimestamp,
} from "../../../base/kernel/index.ts";
import { adminScope } from "../../../data/permissions/index.ts";
import type { Database, Reader, Transactor } from "../../../store/database/index.ts";
import { invalidToken } from "../access-tokens.ts";
import type { Notices } from "../notices.ts";
import { checkRecent } from "../own-change.ts";
import type { PasswordCaller } from "../passwords.ts";
import type { Sessions } from "../sessions.ts";
import type { Users } from "../users.ts";
import type { Uses } from "../uses.ts";
import {
  endKey,
  findIdOfHash,
  findKey,
  insertKey,
  type KeyRow,
  keyIdPrefix,
  keysOf,
  type OwnedKeyRow,
  roleWith,
} from "./key-table.ts";

/** The beginning of each key: scanners of source code find keys by the beginning. */
const keyPrefix = "sk_";
const keyForm = /^sk_[\w-]{43}$/;
/** The most keys in memory. */
const capacity = 20_000;

/** A key in force. */
interface KeyInForce {
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
  /** The caller, with the role of this moment. */
  readonly caller: Bearer;
}

interface KeysOptions {
  database: Database;
  clock: Clock;
  sessions: Sessions;
  users: Users;
  notices: Notices;
  uses: Uses;
  /** The most keys of a user, and the most service keys. */
  maxPerUser: number;
}

/** A change of a key, as the owner is told. */
interface KeyNotice {
  readonly change: "made" | "deleted";
  readonly by: PasswordCaller | "an administrator";
}

/** The end of a key, and a new role of the owner, are told as for sessions: `Sessions.listen` hears the id of the key. */
export class Keys {
  readonly #options: KeysOptions;
  /** The ids of keys, by the text of the key. */
  readonly #ids = new BoundedMap<string, string>(capacity);
  readonly #live = new BoundedMap<string, KeyInForce>(capacity);

  constructor(options: KeysOptions) {
    this.#options = options;
    // The first listener: every later listener finds the key as changed.
    options.sessions.listen(({ sessionId }) => this.#live.delete(sessionId));
  }

  /** Whether a token has the beginning of a key. */
  static isKey(token: string): boolean {
    return token.startsWith(keyPrefix);
  }

  /** Whether the id of a caller is the id of a key, and not of a session. */
  static isId(id: string): boolean {
    return id.startsWith(keyIdPrefix);
  }

  /** The caller of a key. @throws AppError `unauthorized` for an unknown, expired or deleted key. */
  authenticate(text: string): Bearer {
    const id = this.#ids.get(text) ?? this.#idOf(text);
    const key = id === null ? null : this.find(id);
    if (id === null || key === null) throw invalidToken(null);
    this.#options.uses.note(id);
    return key.caller;
  }

  #idOf(text: string): string | null {
    const id = keyForm.test(text) ? findIdOfHash(this.#options.database.reader, hashOf(text)) : null;
    if (id !== null) this.#ids.set(text, id);
    return id;
  }

  /** A key in force; null for an ended key. */
  find(id: string, reader: Reader = this.#options.database.reader): KeyInForce | null {
    let key = this.#live.get(id);
    if (key === undefined) {
      const row = findKey(reader, id);
      if (row === null) return null;
      key = { expiresAt: row.expiresAt ?? Number.POSITIVE_INFINITY, caller: callerOf(row) };
      this.#live.set(id, key);
    }
    return key.expiresAt <= this.#options.clock.ofLeader() ? null : key;
  }

  /**
   * @param owner null for a service key.
   * @throws AppError `forbidden` for the scope `admin` without an admin, `conflict` for too many keys.
   */
  create(tx: Transactor, owner: { userId: string; isAdmin: boolean } | null, values: NewApiKey): CreatedApiKey {
    const { maxPerUser } = this.#options;
    const { name, scopes, expiresAt = null } = values;
    const now = Date.now();
    if (scopes.includes(adminScope) && owner?.isAdmin !== true)
      throw new AppError("forbidden", `Only a key of an admin may have the scope "${adminScope}".`);
    const userId = owner?.userId ?? null;
    if (keysOf(tx, userId, now).length >= maxPerUser)
      throw new AppError("conflict", `There are ${maxPerUser} keys already (limits.keysPerUser); delete a key first.`, {
        limit: "keysPerUser",
      });
    const key = `${keyPrefix}${randomToken(32)}`;
    const row: KeyRow = {
      id: newId("key", now),
      userId,
      name,
      scopes: JSON.stringify(scopes),
      createdAt: now,
      expiresAt: expiresAt === null ? null : Date.parse(expiresAt),
      lastUsedAt: null,
    };
    insertKey(tx, row, hashOf(key));
    return { ...entryOf(row), key };
  }

  /**
   * Makes a key of the signed-in user, who gets a notice.
   * @throws AppError as `create` and `checkRecent`.
   */
  createOwn(user: SignedIn, values: NewApiKey, by: PasswordCaller): Promise<CreatedApiKey> {
    return this.#options.database.transactFor(user, (tx, caller) => {
      checkRecent(tx, user);
      const created = this.create(tx, { userId: user.userId, isAdmin: isAdmin(caller) }, values);
      this.tell(tx, user.userId, { change: "made", by });
      return created;
    });
  }

  /** Deletes a key of the signed-in user, who gets a notice. @throws AppError `not_found`, and as `checkRecent`. */
  async deleteOwn(user: SignedIn, id: string, by: PasswordCaller): Promise<void> {
    await this.#options.database.transactFor(user, (tx) => {
      checkRecent(tx, user);
      this.delete(tx, user.userId, id);
      this.tell(tx, user.userId, { change: "deleted", by });
    });
  }

  /** Mails a notice about a key to the owner. The name of the key stays out: a stranger may have chosen the name for the owner to read. */
  tell(tx: Transactor, userId: string, { change, by }: KeyNotice): void {
    const { users, notices } = this.#options;
    notices.tell(tx, users.get(userId, tx), { change: `An API key was ${change}.`, by });
  }

  /** The keys of a user, or the service keys, newest first. */
  list(userId: string | null, reader: Reader = this.#options.database.reader): ApiKey[] {
    return keysOf(reader, userId, Date.now()).map((row) =>
      entryOf({ ...row, lastUsedAt: this.#options.uses.at(row.id) ?? row.lastUsedAt }),
    );
  }

  /** Deletes a key of a user, or a service key. @throws AppError `not_found`. */
  delete(tx: Transactor, userId: string | null, id: string): ApiKey {
    const key = this.list(userId, tx).find((each) => each.id === id);
    if (key === undefined) throw new AppError("not_found", "The API key does not exist.");
    endKey(tx, id);
    return key;
  }
}

/** The stored hash of a key: 256 random bits need no slow hash. */
function hashOf(key: string): string {
  return Bun.SHA256.hash(`api key\0${key}`, "hex");
}

function callerOf({ id: sessionId, userId, scopes: stored, role }: OwnedKeyRow): Bearer {
  const scopes = JSON.parse(stored) as readonly string[];
  if (userId === null || role === null) return { userId: null, role: "authenticated", sessionId, scopes };
  return { userId, role: roleWith(scopes, role), sessionId, scopes };
}

function entryOf({ id, name, scopes, createdAt, expiresAt, lastUsedAt }: KeyRow): ApiKey {
  const timestamp = (time: number | null): string | null => (time === null ? null : toTimestamp(time));
  return {
    id,
    name,
    scopes: JSON.parse(scopes),
    createdAt: toTimestamp(createdAt),
    expiresAt: timestamp(expiresAt),
    lastUsedAt: timestamp(lastUsedAt),
  };
}
