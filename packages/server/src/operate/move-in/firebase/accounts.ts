/** Users of Firebase in the neutral form: the users of `users.json`, and documents of users whose account is gone. */
import type { JsonValue } from "@socle/protocol";
import { isObject } from "../../../base/kernel/index.ts";
import { firebaseHash } from "../../../people/auth/index.ts";
import type { OldUser } from "../accounts.ts";
import type { StoredRow } from "../sql/work-rows.ts";
import { accountsTable } from "./export.ts";
import { typedOf } from "./typed.ts";
import type { FirebaseWorld } from "./world.ts";

type Values = Readonly<Record<string, unknown>>;

/** The stored row of a user: the account of `users.json`, and the document; one of both may be absent. */
export interface ExportedUser {
  readonly uid: string;
  readonly account: Values | null;
  readonly document: StoredRow | null;
}

export class FirebaseUsers {
  readonly #world: FirebaseWorld;

  constructor(world: FirebaseWorld) {
    this.#world = world;
  }

  *rows(): Iterable<ExportedUser> {
    const { source, users } = this.#world;
    const own = users.documents?.id;
    for (const { key: uid, cells } of source.hasUsers ? source.rows.rows(accountsTable) : [])
      yield {
        uid,
        account: JSON.parse(cells[1] ?? "{}"),
        document: own === undefined ? null : source.rows.get(own, uid),
      };
    for (const document of own === undefined ? [] : source.rows.rows(own))
      if (!source.uids.has(document.key)) yield { uid: document.key, account: null, document };
  }

  *all(): Iterable<OldUser> {
    for (const row of this.rows()) yield this.of(row);
  }

  of({ uid, account }: ExportedUser): OldUser {
    const { parameters } = this.#world.source;
    const text = (name: string): string => String(account?.[name] ?? "");
    const infos = account?.["providerUserInfo"];
    const links = (Array.isArray(infos) ? infos.filter(isObject) : []).flatMap(({ providerId, rawId }) =>
      providerId === "phone" || providerId === "password" || !rawId
        ? []
        : [{ provider: String(providerId).replace(/\.com$/, ""), subject: String(rawId) }],
    );
    const [hash, salt] = [text("passwordHash"), text("salt")];
    const isAnonymous = text("email") === "" && text("phoneNumber") === "" && links.length === 0;
    const lines = [];
    if (hash !== "" && parameters === null)
      lines.push(
        "Users who must reset the password, because there is no hash-config.json to compare the password with",
      );
    if (text("phoneNumber") !== "")
      lines.push("Users with a phone number, which is no way to sign in: the number is in the field of the account");
    if (Array.isArray(account?.["mfaInfo"]) && account["mfaInfo"].length > 0)
      lines.push(
        "Users with a second factor, which is not moved: ask these users to add an authenticator app or a passkey",
      );
    if (claimsOf(account) !== null)
      lines.push(
        "Users with custom claims, which give no rights here: the claims are in the field of the account, and socle admin create ADDRESS makes an admin",
      );
    return {
      ...{ id: uid, name: uid, lines, links },
      email: account?.["disabled"] === true ? "" : text("email"),
      verifiedAt:
        account?.["emailVerified"] === true ? (timeOf(account["createdAt"]) ?? new Date(0).toISOString()) : null,
      passwordHash: hash === "" || parameters === null ? "" : firebaseHash(parameters, { salt, hash }),
      closed:
        account === null
          ? "Documents of users whose account is gone: users without an address"
          : account["disabled"] === true
            ? "Users who are disabled, and who move without an address, without a password and without links"
            : isAnonymous
              ? "Anonymous users, whose sign-in was on one device alone: users without an address"
              : null,
    };
  }
}

/** A time in milliseconds since 1970, as a text. */
export function timeOf(milliseconds: unknown): string | null {
  const time = typedOf({ _seconds: Number(milliseconds) / 1_000, _nanoseconds: 0 }).value;
  return milliseconds === undefined || typeof time !== "string" ? null : time;
}

function claimsOf(account: Values | null): JsonValue {
  const text = account?.["customAttributes"];
  if (typeof text !== "string" || text === "" || text === "{}") return null;
  try {
    return JSON.parse(text);
  } catch {
    // Claims that are no JSON stay a text.
    return text;
  }
}

/** The parts of an account beside an address and a password; null without such a part. */
export function detailsOf(account: Values | null): JsonValue {
  const { displayName, photoUrl, phoneNumber, lastSignedInAt } = account ?? {};
  const found = {
    displayName,
    photoUrl,
    phoneNumber,
    customClaims: claimsOf(account),
    lastSignedInAt: timeOf(lastSignedInAt),
  };
  const given = Object.entries(found).flatMap(([name, value]) => (value ? [[name, value as JsonValue] as const] : []));
  return given.length === 0 ? null : Object.fromEntries(given);
}
