/** Users of Supabase in the neutral form: rows of `auth.users`, with the identities at providers. */
import { isObject, parseDatetime } from "../../../base/kernel/index.ts";
import type { OldUser } from "../accounts.ts";
import type { StoredRow } from "../sql/work-rows.ts";
import type { CopiedTable, Dump } from "./dump.ts";

/** Providers of Supabase that are ways to sign in without a provider. */
const own = ["email", "phone"];

export class DumpUsers {
  readonly #dump: Dump;
  readonly #users: CopiedTable;
  readonly #identities: CopiedTable | undefined;
  readonly #now = new Date().toISOString();

  constructor(dump: Dump, users: CopiedTable) {
    this.#dump = dump;
    this.#users = users;
    this.#identities = dump.copied.get("auth.identities");
    if (this.#identities !== undefined)
      dump.rows.indexBy(this.#identities.id, [this.#identities.columns.indexOf("user_id")]);
  }

  cell({ cells }: StoredRow, name: string): string | null {
    return cells[this.#users.columns.indexOf(name)] ?? null;
  }

  *all(): Iterable<OldUser> {
    for (const row of this.#dump.rows.rows(this.#users.id)) yield this.of(row);
  }

  of(row: StoredRow): OldUser {
    const until = this.cell(row, "banned_until");
    // A ban without an end is "infinity".
    const isBanned = until !== null && (parseDatetime(until) ?? "9999") > this.#now;
    const isClosed = isBanned || this.cell(row, "deleted_at") !== null;
    const lines = [];
    if (this.cell(row, "phone"))
      lines.push("Users with a phone number, which is no way to sign in: the number is not moved");
    if (hasRights(this.cell(row, "raw_app_meta_data")))
      lines.push(
        "Users with own values in raw_app_meta_data, which are not moved: add a field to users that admins alone change",
      );
    return {
      ...{ id: row.key, name: row.key, lines, links: this.#links(row) },
      // A mail to the address would give a user who is banned a new password.
      email: isClosed ? "" : (this.cell(row, "email") ?? ""),
      verifiedAt: parseDatetime(this.cell(row, "email_confirmed_at") ?? ""),
      passwordHash: this.cell(row, "encrypted_password") ?? "",
      closed: isClosed
        ? "Users who are banned or deleted, and who move without an address, without a password and without links"
        : null,
    };
  }

  /** The identities of a user at providers; in older data, the id of the provider is the id of the row. */
  #links({ key }: StoredRow): OldUser["links"] {
    const table = this.#identities;
    if (table === undefined) return [];
    const at = (name: string): number => table.columns.indexOf(name);
    return this.#dump.rows.find(table.id, new Map([[at("user_id"), key]])).flatMap(({ cells }) => {
      const provider = cells[at("provider")] ?? "";
      const subject = cells[at("provider_id")] ?? cells[at("id")] ?? "";
      return own.includes(provider) || subject === "" ? [] : [{ provider, subject }];
    });
  }
}

/** Whether the metadata of the app has more than the names of providers. */
function hasRights(text: string | null): boolean {
  const found: unknown = JSON.parse(text ?? "{}");
  return isObject(found) && Object.keys(found).some((key) => key !== "provider" && key !== "providers");
}
