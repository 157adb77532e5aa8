/**
 * Takeover rules: the user to whom an identity at a provider leads. An email alone leads to a user only if both sides have
 * proven the email: otherwise whoever registers somebody's email, here or at a provider, would take over the other account.
 */
import type { User } from "@socle/protocol";
import { AppError, isAscii } from "../../../base/kernel/index.ts";
import type { Reader } from "../../../store/database/index.ts";
import { normaliseEmail } from "../../mail/index.ts";
import { findByEmail, findUser } from "../user-table.ts";
import type { ProviderIdentity } from "./presets.ts";
import { findLink, linksOf } from "./provider-table.ts";

/** An email in the stored form. */
export interface ProviderAddress {
  readonly email: string;
  /** Whether the provider has proven the email. */
  readonly isProven: boolean;
}

/** The user of an identity. */
export type Match =
  | { readonly kind: "linked"; readonly user: User }
  /** The email is proven on both sides: the link is to be made. */
  | { readonly kind: "same-email"; readonly user: User }
  | { readonly kind: "new"; readonly address: ProviderAddress };

/**
 * The email of an identity; null without an email. The stored form of two emails may be the same, and the mailboxes may
 * differ: the provider's proof counts only for a name that the provider writes in the stored form, but for ASCII letters. The
 * spellings of a domain with one ASCII form are one domain.
 */
export function addressOf({ email: written, isVerified }: ProviderIdentity): ProviderAddress | null {
  const email = written === null ? null : normaliseEmail(written);
  if (written === null || email === null) return null;
  const [name, stored] = [written, email].map((text) => text.slice(0, text.lastIndexOf("@"))) as [string, string];
  const isSame = name === stored || (isAscii(name) && name.toLowerCase() === stored);
  return { email, isProven: isVerified && isSame };
}

/**
 * The user to whom an identity leads.
 * @throws AppError `conflict` when the email is a user's and not proven on both sides, `forbidden` without an email.
 */
export function matchOf(reader: Reader, identity: ProviderIdentity, provider: { name: string; title: string }): Match {
  const link = findLink(reader, identity);
  if (link !== null) {
    const user = findUser(reader, link.userId);
    if (user === null) throw new Error(`The link of ${link.userId} has no user`);
    return { kind: "linked", user };
  }
  const address = addressOf(identity);
  if (address === null)
    throw new AppError("forbidden", `${provider.title} told no email address, which a new account here needs.`);
  const user = findByEmail(reader, address.email)?.user ?? null;
  if (user === null) return { kind: "new", address };
  // An email may have another owner at the provider by now: a second account there does not lead to the same user here.
  const hasAnother = linksOf(reader, user.id).some((each) => each.provider === provider.name);
  if (address.isProven && user.verified && !hasAnother) return { kind: "same-email", user };
  throw new AppError(
    "conflict",
    `An account has this email address already. Sign in to the account first, and link ${provider.title} then.`,
  );
}

/** @throws AppError `conflict` when the identity is another user's, or the user has another link of the provider. */
export function checkLink(
  reader: Reader,
  identity: ProviderIdentity,
  { userId, provider }: { userId: string; provider: { name: string; title: string } },
): void {
  const link = findLink(reader, identity);
  if (link !== null && link.userId !== userId)
    throw new AppError("conflict", `This account at ${provider.title} is linked to another user.`);
  if (link === null && linksOf(reader, userId).some((each) => each.provider === provider.name))
    throw new AppError("conflict", `Another account at ${provider.title} is linked already; remove that link first.`);
}
