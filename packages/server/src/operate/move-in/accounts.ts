/** Accounts of the users of a source: addresses, each for one user alone, passwords, and links to providers. */
import { count } from "../../base/kernel/index.ts";
import { isForeignHash, issuerOf } from "../../people/auth/index.ts";
import { normaliseEmail } from "../../people/mail/index.ts";
import type { Choices, MovedAccount, ReportFinding } from "./source.ts";

/** A user as the source has the user. */
export interface OldUser {
  /** The old id, as in `--email`. */
  readonly id: string;
  /** The name in the report, which no other user has. */
  readonly name: string;
  /** Empty for a user without an address. */
  readonly email: string;
  /** The time of the proof of the address; null without a proof. */
  readonly verifiedAt: string | null;
  /** Empty for a user without a password. */
  readonly passwordHash: string;
  readonly links: readonly { readonly provider: string; readonly subject: string }[];
  /** The line of the report for users who do not sign in any more; null for other users. */
  readonly closed: string | null;
  /** Further lines of the report that name the user. */
  readonly lines: readonly string[];
}

/** The users that a line of the report names. */
const maxNamed = 50;

export class Accounts {
  readonly #choices: Choices;
  /** The address of each user by the name; null for a user without an address. */
  readonly #emails = new Map<string, string | null>();

  constructor(users: Iterable<OldUser>, { choices, report }: { choices: Choices; report: ReportFinding }) {
    this.#choices = choices;
    const holders = new Map<string, string>();
    const named = new Map<string, string[]>();
    const ofProviders = new Map<string, number>();
    for (const user of users) {
      const { id, name } = user;
      const tell = (line: string, text = name): void => void named.getOrInsertComputed(line, () => []).push(text);
      const given = this.#given(user);
      const email = normaliseEmail(given);
      const holder = email === null ? undefined : holders.get(email);
      const isFree = email !== null && holder === undefined;
      if (isFree) holders.set(email, name);
      this.#emails.set(name, isFree ? email : null);
      if (holder !== undefined && !choices.firstKeepsEmail)
        report(
          "decide",
          `${email} is the address of ${holder} and of ${name}: give another address with --email ${id}=ADDRESS, or leave the address to the first of each pair with --emails first`,
        );
      if (user.closed !== null) tell(user.closed);
      else if (!isFree)
        tell(
          "Users without an address that Socle takes, who sign in by email alone: give an address with --email ID=ADDRESS, or later as an admin",
          given === "" ? name : `${name} (${given})`,
        );
      if (user.closed === null && user.passwordHash !== "" && !isForeignHash(user.passwordHash))
        tell("Users whose password is no hash that Socle compares, and who move without a password");
      for (const line of user.lines) tell(line);
      for (const { provider } of user.links)
        if (this.#issuer(provider) === null) ofProviders.set(provider, (ofProviders.get(provider) ?? 0) + 1);
    }
    for (const [line, names] of named) report("other", `${line}: ${firstOf(names)}`);
    for (const [provider, links] of ofProviders)
      report(
        "left",
        `${count(links, "link")} of the provider ${provider}: name the issuer with --issuer ${provider}=URL, as the discovery document of the provider does`,
      );
  }

  #given({ id, name, email }: OldUser): string {
    const { emails } = this.#choices;
    return emails.get(id) ?? emails.get(name) ?? email;
  }

  #issuer(provider: string): string | null {
    return this.#choices.issuers.get(provider) ?? issuerOf(provider);
  }

  of(user: OldUser): MovedAccount {
    const { name, closed, passwordHash, links } = user;
    const email = this.#emails.get(name) ?? null;
    const kept = links.flatMap(({ provider, subject }) => {
      const issuer = this.#issuer(provider);
      return issuer === null ? [] : [{ provider, issuer, subject }];
    });
    return {
      email,
      passwordHash: closed === null && isForeignHash(passwordHash) ? passwordHash : "",
      // An address of an option is not proven.
      verifiedAt: email !== null && email === normaliseEmail(user.email) ? user.verifiedAt : null,
      links: closed === null ? kept : [],
    };
  }
}

/** The first names of a list, and how many more there are. */
function firstOf(names: readonly string[]): string {
  const more = names.length - maxNamed;
  return `${names.slice(0, maxNamed).join(", ")}${more > 0 ? `, and ${more} more` : ""}`;
}
