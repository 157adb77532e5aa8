/** SQL of sign-ins at providers: the steps of sign-ins under way, and the links of users to identities at providers. */
import { randomToken } from "../../../base/kernel/index.ts";
import type { Reader, Transactor } from "../../../store/database/index.ts";
import type { CredentialKind, LinkKey } from "../credentials.ts";
import { expiringHashes } from "../expiring-table.ts";

/** A link of a user to an identity at a provider. */
export interface LinkRow extends LinkKey {
  readonly userId: string;
  /** The name of the provider in the configuration. */
  readonly provider: string;
  /** The email at the provider when the link was made. */
  readonly email: string | null;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
}

/**
 * The purposes of tokens: a signed-in user opens a `link` address; a browser comes back from a provider with a `state`; an
 * app exchanges a `code`.
 */
export type StepPurpose = "link" | "state" | "code";

/** The stored hash: a token of one purpose is no token of another purpose. */
function hashOf(purpose: StepPurpose, token: string): string {
  return Bun.SHA256.hash(`provider ${purpose}\0${token}`, "hex");
}

/** A step that is kept; the content is JSON. */
interface StepRow {
  readonly hash: string;
  readonly content: string;
}

/**
 * Adds a step. Answers the token, and whether an earlier step that is still good was forgotten.
 * @param step `most` is the number of steps that are kept, an eighth for a caller: with more, the oldest of the caller, or of all, is forgotten.
 */
export function addStep(
  tx: Transactor,
  purpose: StepPurpose,
  step: { content: object; ttlMs: number; most: number; caller: string },
): { token: string; hasForgotten: boolean } {
  const token = randomToken(32);
  const now = Date.now();
  const { caller, most } = step;
  tx.run(
    "INSERT INTO _provider_steps (hash, purpose, content, expiresAt, caller) VALUES (?, ?, ?, ?, ?)",
    hashOf(purpose, token),
    purpose,
    JSON.stringify(step.content),
    now + step.ttlMs,
    caller,
  );
  const own = tx.get<{ n: number }>("SELECT count(*) AS n FROM _provider_steps WHERE caller = ?", caller)?.n ?? 0;
  const ofCaller =
    "DELETE FROM _provider_steps WHERE _seq IN (SELECT _seq FROM _provider_steps WHERE caller = ? ORDER BY _seq LIMIT ?) RETURNING expiresAt";
  const forgotten = tx.all<{ expiresAt: number }>(ofCaller, caller, Math.max(0, own - Math.ceil(most / 8)));
  const all = tx.get<{ n: number }>("SELECT count(*) AS n FROM _provider_steps")?.n ?? 0;
  const ofAll =
    "DELETE FROM _provider_steps WHERE _seq IN (SELECT _seq FROM _provider_steps ORDER BY _seq LIMIT ?) RETURNING expiresAt";
  forgotten.push(...tx.all<{ expiresAt: number }>(ofAll, Math.max(0, all - most)));
  return { token, hasForgotten: forgotten.some(({ expiresAt }) => expiresAt > now) };
}

/** The step of a token that has not expired. */
export function findStep(reader: Reader, purpose: StepPurpose, token: string): StepRow | null {
  const sql = "SELECT hash, content FROM _provider_steps WHERE hash = ? AND purpose = ? AND expiresAt > ?";
  return reader.get<StepRow>(sql, hashOf(purpose, token), purpose, Date.now());
}

export function removeStep(tx: Transactor, hash: string): void {
  tx.run("DELETE FROM _provider_steps WHERE hash = ?", hash);
}

export const expiringSteps = expiringHashes("_provider_steps");

export function findLink(reader: Reader, { issuer, subject }: LinkKey): LinkRow | null {
  return reader.get<LinkRow>("SELECT * FROM _links WHERE issuer = ? AND subject = ?", issuer, subject);
}

/** The links of a user, the oldest first. */
export function linksOf(reader: Reader, userId: string): LinkRow[] {
  return reader.all<LinkRow>("SELECT * FROM _links WHERE userId = ? ORDER BY createdAt, provider", userId);
}

export function insertLink(tx: Transactor, link: LinkRow): void {
  const { issuer, subject, userId, provider, email, createdAt } = link;
  const sql = "INSERT INTO _links (issuer, subject, userId, provider, email, createdAt) VALUES (?, ?, ?, ?, ?, ?)";
  tx.run(sql, issuer, subject, userId, provider, email, createdAt);
}

export function removeLink(tx: Transactor, { issuer, subject }: LinkKey): void {
  tx.run("DELETE FROM _links WHERE issuer = ? AND subject = ?", issuer, subject);
}

/** The links of users as credentials. @param providers the names of the configured providers. */
export function linksTo(providers: ReadonlySet<string>): CredentialKind {
  const others = (reader: Reader, userId: string, kept: LinkKey | null): LinkRow[] =>
    linksOf(reader, userId).filter((link) => link.issuer !== kept?.issuer || link.subject !== kept.subject);
  return {
    name: "the links to accounts elsewhere",
    has: (reader, userId, kept) => others(reader, userId, kept).length > 0,
    remove(tx, userId, kept) {
      for (const link of others(tx, userId, kept)) removeLink(tx, link);
    },
    signsIn: (reader, userId) => linksOf(reader, userId).some(({ provider }) => providers.has(provider)),
  };
}
