/** Encryption of backups in the age format (age-encryption.org/v1), as streams. */
import { messageOf, SetupError } from "../../base/kernel/index.ts";

export type Encryption = { readonly passphrase: string } | { readonly recipient: string };

/** A passphrase goes before the recipient of the configuration; null without either. */
export function encryptionFor(recipient: string | undefined, passphrase: string | null): Encryption | null {
  if (passphrase !== null) return { passphrase };
  return recipient === undefined ? null : { recipient };
}

/** Bytes that no other thread shares: the runtime's streams take no others. */
export type Bytes = ReadableStream<Uint8Array<ArrayBuffer>>;

const ageStart = "age-encryption.org/v1\n";

export function isEncrypted(head: Uint8Array): boolean {
  return new TextDecoder().decode(head.subarray(0, ageStart.length)) === ageStart;
}

/** Whether a text is the public key of an age identity. */
export async function isRecipient(text: string): Promise<boolean> {
  const { Encrypter } = await import("age-encryption");
  try {
    new Encrypter().addRecipient(text);
    return true;
  } catch {
    return false;
  }
}

export async function encrypt(bytes: Bytes, encryption: Encryption): Promise<ReadableStream<Uint8Array>> {
  const { Encrypter } = await import("age-encryption");
  const encrypter = new Encrypter();
  if ("passphrase" in encryption) encrypter.setPassphrase(encryption.passphrase);
  else encrypter.addRecipient(encryption.recipient);
  return encrypter.encrypt(bytes);
}

/** How an encrypted backup is opened: a passphrase, or the identity that belongs to the recipient. */
export type Identity = { readonly passphrase: string } | { readonly identity: string };

/** @throws Error for a wrong passphrase or identity. */
export async function decrypt(bytes: Bytes, identity: Identity): Promise<Bytes> {
  const { Decrypter } = await import("age-encryption");
  const decrypter = new Decrypter();
  if ("passphrase" in identity) decrypter.addPassphrase(identity.passphrase);
  else decrypter.addIdentity(identity.identity);
  try {
    return (await decrypter.decrypt(bytes)).pipeThrough(
      new TransformStream<Uint8Array, Uint8Array<ArrayBuffer>>({
        transform: (piece, controller) => controller.enqueue(new Uint8Array(piece)),
      }),
    );
  } catch (thrown) {
    const which = "passphrase" in identity ? "passphrase" : "identity";
    throw new Error(`the ${which} does not open it (${messageOf(thrown)})`);
  }
}

/**
 * The identity in the text of a key file, as `age-keygen` writes the file.
 * @throws SetupError for a file without an identity.
 */
export function backupIdentity(text: string, file: string): string {
  const line = text.split(/\r?\n/).find((each) => each.startsWith("AGE-SECRET-KEY-"));
  if (line === undefined)
    throw new SetupError(`${file}: holds no identity; a line of it must begin with AGE-SECRET-KEY-`);
  return line.trim();
}
