/**
 * The keys of releases: a pair of Ed25519 keys (RFC 8032). The private key is a PEM file outside the repository; the public key is a module
 * of the executable, which checks signatures of releases with the key (`socle upgrade`).
 */
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { messageOf } from "../../packages/server/src/base/kernel/index.ts";

/** The module of the executable with the public key. */
export const keyModule = "packages/server/src/cli/release-key.ts";

/** Writes the module with the public key. @param publicKey 32 bytes in base64url, as `x` of a JSON Web Key. */
export async function writeKeyModule(path: string, publicKey: string): Promise<void> {
  const text = `/** The public key that releases are signed with: Ed25519, 32 bytes in base64url. Written by \`npm run release -- --new-key FILE\`. */
export const releaseKey = "${publicKey}";
`;
  await writeFile(path, text);
}

/** The public half of a key, in base64url. */
export function publicKeyOf(key: KeyObject): string {
  return createPublicKey(key).export({ format: "jwk" }).x ?? "";
}

/** Makes a private key in a file that only this user reads; answers the public key. @throws Error when the file exists. */
export function makeKey(path: string): string {
  const { privateKey } = generateKeyPairSync("ed25519");
  writeFileSync(path, privateKey.export({ format: "pem", type: "pkcs8" }), { mode: 0o600, flag: "wx" });
  return publicKeyOf(privateKey);
}

/** @throws Error for a file that is no private Ed25519 key in PEM. */
export function readKey(path: string): KeyObject {
  try {
    const key = createPrivateKey(readFileSync(path));
    if (key.asymmetricKeyType === "ed25519") return key;
    throw new Error(`the key is of the type ${key.asymmetricKeyType}`);
  } catch (thrown) {
    throw new Error(`${path} is no private Ed25519 key in PEM: ${messageOf(thrown)}`);
  }
}

/** The signature of a text, in base64 and with a line end. */
export function signatureOf(text: string, key: KeyObject): string {
  return `${sign(null, Buffer.from(text), key).toString("base64")}\n`;
}
