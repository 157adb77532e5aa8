/** A key of age for tests of encrypted backups: the identity, which restores, and the recipient, for which backups are encrypted. */
import { generateX25519Identity, identityToRecipient } from "age-encryption";

export async function newAgeKey(): Promise<{ identity: string; recipient: string }> {
  const identity = await generateX25519Identity();
  return { identity, recipient: await identityToRecipient(identity) };
}
