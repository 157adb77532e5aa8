/** Accounts of PocketBase: the address of each user, the password, and links to providers. */

import { count } from "../../../base/kernel/index.ts";
import { isForeignHash, issuerOf } from "../../../people/auth/index.ts";
import { normaliseEmail } from "../../../people/mail/index.ts";
import type { Choices, MovedAccount, MoveFinding } from "../source.ts";
import { parseFilter } from "./filter.ts";
import type { DataFolder, PbRow } from "./sql/data-folder.ts";
import { timeOf } from "./values.ts";
import type { PlacedCollection, World } from "./world.ts";

/** The users that a line of the report names. */
const maxNamed = 50;

export class Accounts {
  readonly #folder: DataFolder;
  readonly #choices: Choices;
  /** The address of each user by the new id; null for a user without an address. */
  readonly #emails = new Map<string, string | null>();
  readonly #closed: ReadonlyMap<PlacedCollection, (row: PbRow) => boolean>;

  constructor(
    folder: DataFolder,
    world: World,
    { choices, report }: { choices: Choices; report: (finding: MoveFinding) => void },
  ) {
    this.#folder = folder;
    this.#choices = choices;
    const decide = (text: string): void => report({ kind: "decide", text });
    const other = (text: string): void => report({ kind: "other", text });
    this.#closed = new Map(world.users.map((each) => [each, refusalOf(each, other)]));
    const holders = new Map<string, string>();
    /** Users by the sentence of the report. */
    const told = new Map<string, string[]>();
    const tell = (text: string, user: string): void => void told.getOrInsertComputed(text, () => []).push(user);
    const how = "sign in by email alone: give an address with --email ID=ADDRESS, or later as an admin";
    const ofProviders = new Map<string, number>();
    for (const collection of world.users)
      for (const row of folder.rows(collection.pb.name)) {
        const id = String(row["id"]);
        const named = `${collection.pb.name}/${id}`;
        const given = choices.emails.get(id) ?? choices.emails.get(named) ?? String(row["email"] ?? "");
        const email = given === "" ? null : normaliseEmail(given);
        const holder = email === null ? undefined : holders.get(email);
        const isFree = email !== null && holder === undefined;
        if (isFree) holders.set(email, named);
        this.#emails.set(collection.idFor(id), isFree ? email : null);
        if (holder !== undefined && !choices.firstKeepsEmail)
          decide(
            `${email} is the address of ${holder} and of ${named}: give another address with --email ${id}=ADDRESS, or leave the address to the first of each pair with --emails first`,
          );
        if (given !== "" && email === null)
          tell(`Users whose address has no form that Socle takes, and who ${how}`, `${named} (${given})`);
        else if (!isFree) tell(`Users without an address, who ${how}`, named);
        const hash = String(row["password"] ?? "");
        if (this.#isClosed(collection, row))
          tell("Users whom the authRule refuses, and who move without a password", named);
        else if (hash !== "" && !isForeignHash(hash))
          tell("Users whose password is no hash of bcrypt, and who move without a password", named);
        for (const { provider } of folder.links(collection.pb.id, id))
          if (this.#issuer(provider) === null) ofProviders.set(provider, (ofProviders.get(provider) ?? 0) + 1);
      }
    for (const [text, users] of told) other(`${text}: ${named(users)}`);
    for (const [provider, links] of ofProviders)
      report({
        kind: "left",
        text: `${count(links, "link")} of the provider ${provider}: PocketBase does not know the issuer; name it with --issuer ${provider}=URL, as the discovery document of the provider does`,
      });
  }

  #isClosed(collection: PlacedCollection, row: PbRow): boolean {
    return this.#closed.get(collection)?.(row) === true;
  }

  #issuer(provider: string): string | null {
    return this.#choices.issuers.get(provider) ?? issuerOf(provider);
  }

  of(row: PbRow, collection: PlacedCollection): MovedAccount {
    const id = String(row["id"]);
    const email = this.#emails.get(collection.idFor(id)) ?? null;
    const isClosed = this.#isClosed(collection, row);
    const hash = String(row["password"] ?? "");
    const links = this.#folder.links(collection.pb.id, id).flatMap(({ provider, providerId: subject }) => {
      const issuer = this.#issuer(provider);
      return issuer === null || isClosed ? [] : [{ provider, issuer, subject }];
    });
    // An address of an option is not proven.
    const isProven = email !== null && email === normaliseEmail(String(row["email"])) && Boolean(row["verified"]);
    const since = timeOf(String(row["updated"])) ?? timeOf(collection.pb.created) ?? new Date(0).toISOString();
    return {
      email,
      passwordHash: !isClosed && isForeignHash(hash) ? hash : "",
      verifiedAt: isProven ? since : null,
      links,
    };
  }
}

/** The first names of a list, and how many more there are. */
function named(names: readonly string[]): string {
  const more = names.length - maxNamed;
  return `${names.slice(0, maxNamed).join(", ")}${more > 0 ? `, and ${more} more` : ""}`;
}

/** Whether the `authRule` refuses a user to sign in. A rule that is more than truth values of the user refuses everybody. */
function refusalOf({ pb }: PlacedCollection, tell: (text: string) => void): (row: PbRow) => boolean {
  const rule = pb.options["authRule"];
  if (rule === "") return () => false;
  if (typeof rule !== "string") return () => true;
  tell(
    `${pb.name}.authRule: ${rule}: users whom the rule refuses now move without a password; for later, write a beforeLogin hook`,
  );
  const node = parseFilter(rule);
  const parts = "and" in node ? node.and : [node];
  return (row) =>
    !parts.every((part) => {
      if (!("left" in part) || part.operator !== "=" || !/^(true|false)$/.test(part.right.text)) return false;
      return part.left.text in row && Boolean(row[part.left.text]) === (part.right.text === "true");
    });
}
