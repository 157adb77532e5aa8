/** Accounts of Supabase: the address of each user, the password, and links to providers. */
import { count, isObject, parseDatetime } from "../../../base/kernel/index.ts";
import { isForeignHash, issuerOf } from "../../../people/auth/index.ts";
import { normaliseEmail } from "../../../people/mail/index.ts";
import type { Choices, MovedAccount, MoveFinding } from "../source.ts";
import type { CopiedTable, Dump } from "./dump.ts";
import type { StoredRow } from "./sql/work-rows.ts";

/** The users that a line of the report names. */
const maxNamed = 50;
/** Providers of Supabase that are ways to sign in without a provider. */
const own = ["email", "phone"];

export class SupabaseAccounts {
  readonly #dump: Dump;
  readonly #users: CopiedTable;
  readonly #identities: CopiedTable | undefined;
  readonly #choices: Choices;
  readonly #now = new Date().toISOString();
  /** The address of each user by the old id; null for a user without an address. */
  readonly #emails = new Map<string, string | null>();
  readonly hasMetadata: boolean;

  constructor(
    dump: Dump,
    users: CopiedTable,
    { choices, report }: { choices: Choices; report: (kind: MoveFinding["kind"], text: string) => void },
  ) {
    this.#dump = dump;
    this.#users = users;
    this.#choices = choices;
    this.#identities = dump.copied.get("auth.identities");
    if (this.#identities !== undefined)
      dump.rows.indexBy(this.#identities.id, [this.#identities.columns.indexOf("user_id")]);
    const holders = new Map<string, string>();
    const told = new Map<string, string[]>();
    const ofProviders = new Map<string, number>();
    const tell = (text: string, user: string): void => void told.getOrInsertComputed(text, () => []).push(user);
    let hasMetadata = false;
    for (const row of dump.rows.rows(users.id)) {
      const { key } = row;
      const given = choices.emails.get(key) ?? this.cell(row, "email") ?? "";
      const email = given === "" ? null : normaliseEmail(given);
      const holder = email === null ? undefined : holders.get(email);
      const isFree = email !== null && holder === undefined;
      if (isFree) holders.set(email, key);
      this.#emails.set(key, isFree ? email : null);
      if (holder !== undefined && !choices.firstKeepsEmail)
        report(
          "decide",
          `${email} is the address of ${holder} and of ${key}: give another address with --email ${key}=ADDRESS, or leave the address to the first of each pair with --emails first`,
        );
      if (!isFree)
        tell(
          "Users without an address that Socle takes, who sign in by email alone: give an address with --email ID=ADDRESS, or later as an admin",
          key,
        );
      if (this.#isClosed(row))
        tell("Users who are banned or deleted, and who move without a password and without links", key);
      const hash = this.cell(row, "encrypted_password") ?? "";
      if (hash !== "" && !isForeignHash(hash))
        tell("Users whose password is no hash of bcrypt, and who move without a password", key);
      if (this.cell(row, "phone"))
        tell("Users with a phone number, which is no way to sign in: the number is not moved", key);
      hasMetadata ||= (this.cell(row, "raw_user_meta_data") ?? "{}") !== "{}";
      if (hasRights(this.cell(row, "raw_app_meta_data")))
        tell(
          "Users with own values in raw_app_meta_data, which are not moved: add a field to users that admins alone change",
          key,
        );
      for (const { provider } of this.#links(row))
        if (this.#issuer(provider) === null) ofProviders.set(provider, (ofProviders.get(provider) ?? 0) + 1);
    }
    this.hasMetadata = hasMetadata;
    for (const [text, keys] of told) report("other", `${text}: ${named(keys)}`);
    for (const [provider, links] of ofProviders)
      report(
        "left",
        `${count(links, "link")} of the provider ${provider}: name the issuer with --issuer ${provider}=URL, as the discovery document of the provider does`,
      );
  }

  cell({ cells }: StoredRow, name: string): string | null {
    return cells[this.#users.columns.indexOf(name)] ?? null;
  }

  #isClosed(row: StoredRow): boolean {
    const until = this.cell(row, "banned_until");
    // A ban without an end is "infinity".
    const isBanned = until !== null && (parseDatetime(until) ?? "9999") > this.#now;
    return isBanned || this.cell(row, "deleted_at") !== null;
  }

  #issuer(provider: string): string | null {
    return this.#choices.issuers.get(provider) ?? issuerOf(provider);
  }

  /** The identities of a user at providers; in older data, the id of the provider is the id of the row. */
  #links({ key }: StoredRow): { provider: string; subject: string }[] {
    const table = this.#identities;
    if (table === undefined) return [];
    const at = (name: string): number => table.columns.indexOf(name);
    return this.#dump.rows.find(table.id, new Map([[at("user_id"), key]])).flatMap(({ cells }) => {
      const provider = cells[at("provider")] ?? "";
      const subject = cells[at("provider_id")] ?? cells[at("id")] ?? "";
      return own.includes(provider) || subject === "" ? [] : [{ provider, subject }];
    });
  }

  of(row: StoredRow): MovedAccount {
    const email = this.#emails.get(row.key) ?? null;
    const isClosed = this.#isClosed(row);
    const hash = this.cell(row, "encrypted_password") ?? "";
    const links = isClosed ? [] : this.#links(row);
    // An address of an option is not proven.
    const isOwn = email !== null && email === normaliseEmail(this.cell(row, "email") ?? "");
    return {
      email,
      passwordHash: !isClosed && isForeignHash(hash) ? hash : "",
      verifiedAt: isOwn ? parseDatetime(this.cell(row, "email_confirmed_at") ?? "") : null,
      links: links.flatMap(({ provider, subject }) => {
        const issuer = this.#issuer(provider);
        return issuer === null ? [] : [{ provider, issuer, subject }];
      }),
    };
  }
}

/** Whether the metadata of the app has more than the names of providers. */
function hasRights(text: string | null): boolean {
  const found: unknown = JSON.parse(text ?? "{}");
  return isObject(found) && Object.keys(found).some((key) => key !== "provider" && key !== "providers");
}

/** The first names of a list, and how many more there are. */
function named(names: readonly string[]): string {
  const more = names.length - maxNamed;
  return `${names.slice(0, maxNamed).join(", ")}${more > 0 ? `, and ${more} more` : ""}`;
}
