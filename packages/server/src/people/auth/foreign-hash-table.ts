/** Hashes of other services (bcrypt, scrypt of Firebase): the first sign-in with the password replaces the hash. */
import type { Reader } from "../../store/database/index.ts";
import { parseFirebaseHash } from "./firebase-scrypt.ts";

/** The algorithm and the work of a hash of another service: `$2a$10`, `$firebase-scrypt$14$8`. Argon2id, of this service, is the kind "". */
export function kindOf(hash: string): string {
  const isBcrypt = /^\$2[abxy]\$(?:0[4-9]|[12]\d|3[01])\$[./A-Za-z0-9]{53}$/.test(hash);
  return isBcrypt ? hash.slice(0, 6) : (parseFirebaseHash(hash)?.kind ?? "");
}

/** Whether another service made a hash. A text of another form is no hash that `Passwords` compares. */
export function isForeignHash(text: string): boolean {
  return kindOf(text) !== "";
}

/** A hash of each kind that another service made; empty once every user has signed in. */
export function foreignHashes(reader: Reader): string[] {
  const sql =
    "SELECT passwordHash FROM _users WHERE passwordHash > ? AND passwordHash < '$g' AND passwordHash <> '' AND substr(passwordHash, 1, 10) <> '$argon2id$' ORDER BY passwordHash LIMIT 1";
  const next = (after: string) => reader.get<{ passwordHash: string }>(sql, after)?.passwordHash;
  const found: string[] = [];
  for (let hash = next("$2"); hash !== undefined; ) {
    const kind = kindOf(hash);
    if (kind !== "") found.push(hash);
    // "%" follows "$": the next hash is of another kind.
    hash = next(kind === "" ? hash : `${kind}%`);
  }
  return found;
}
