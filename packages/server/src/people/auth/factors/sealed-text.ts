/** Sealed texts: the form in which the database holds secrets that the service must read again (AES-256-GCM). */

const nonceBytes = 12;

/** @param secret 32 bytes in hexadecimal. */
async function keyOf(secret: string): Promise<CryptoKey> {
  return crypto.subtle.importKey("raw", Buffer.from(secret, "hex"), "AES-GCM", false, ["encrypt", "decrypt"]);
}

/** Seals bytes for an owner: the sealed text of one owner does not open for another owner. */
export async function seal(bytes: Uint8Array<ArrayBuffer>, owner: string, secret: string): Promise<string> {
  const nonce = crypto.getRandomValues(new Uint8Array(nonceBytes));
  const algorithm = { name: "AES-GCM", iv: nonce, additionalData: new TextEncoder().encode(owner) };
  const sealed = await crypto.subtle.encrypt(algorithm, await keyOf(secret), bytes);
  return Buffer.concat([nonce, new Uint8Array(sealed)]).toString("base64url");
}

/** The bytes of a sealed text; null for another owner, another secret, and a changed text. */
export async function unseal(sealed: string, owner: string, secret: string): Promise<Uint8Array | null> {
  const bytes = new Uint8Array(Buffer.from(sealed, "base64url"));
  const iv = bytes.subarray(0, nonceBytes);
  const algorithm = { name: "AES-GCM", iv, additionalData: new TextEncoder().encode(owner) };
  const opened = crypto.subtle.decrypt(algorithm, await keyOf(secret), bytes.subarray(nonceBytes));
  return opened.then(
    (plain) => new Uint8Array(plain),
    () => null,
  );
}
