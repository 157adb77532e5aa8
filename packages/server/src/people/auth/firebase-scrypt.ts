/**
 * Hashes of Firebase: scrypt with a key of the project, as `firebase/scrypt` describes. The derived key encrypts the signer key of the
 * project with AES-256-CTR, and the ciphertext is the hash. The stored text has the parameters of the project, too.
 */
/** The parameters of a project, under the names of the console of Firebase. Keys and separators are base64. */
export interface FirebaseParameters {
  readonly base64_signer_key: string;
  readonly base64_salt_separator: string;
  /** The block size: 1 to 8. */
  readonly rounds: number;
  /** The logarithm of the number of blocks: 1 to 14. */
  readonly mem_cost: number;
}

const base64 = "([A-Za-z0-9+/]*={0,2})";
const form = new RegExp(
  String.raw`^(\$firebase-scrypt\$(\d{1,2})\$(\d))\$${[1, 2, 3, 4].map(() => base64).join(String.raw`\$`)}$`,
);
const keyBytes = 32;
/** The ciphertext is as long as the signer key. */
const leastKey = 16;

interface Parsed {
  /** The algorithm and the work. */
  readonly kind: string;
  readonly cost: number;
  readonly blockSize: number;
  readonly signerKey: Buffer;
  readonly salt: Buffer;
  readonly hash: Buffer;
}

/** Null for a text of another form, and for parameters that Firebase does not take. */
export function parseFirebaseHash(text: string): Parsed | null {
  const [, kind = "", cost = "", blockSize = "", ...parts] = form.exec(text) ?? [];
  const [signerKey, separator, salt, hash] = parts.map((part) => Buffer.from(part, "base64"));
  if (signerKey === undefined || separator === undefined || salt === undefined || hash === undefined) return null;
  const parsed = { kind, cost: Number(cost), blockSize: Number(blockSize), signerKey, hash };
  const isTakable = parsed.cost >= 1 && parsed.cost <= 14 && parsed.blockSize >= 1 && parsed.blockSize <= 8;
  if (!isTakable || signerKey.length < leastKey || hash.length !== signerKey.length) return null;
  return { ...parsed, salt: Buffer.concat([salt, separator]) };
}

/** The text of a hash of an exported user: `$firebase-scrypt$COST$BLOCK$SIGNERKEY$SEPARATOR$SALT$HASH`. */
export function firebaseHash(parameters: FirebaseParameters, { salt, hash }: { salt: string; hash: string }): string {
  const { mem_cost, rounds, base64_signer_key, base64_salt_separator } = parameters;
  return ["", "firebase-scrypt", mem_cost, rounds, base64_signer_key, base64_salt_separator, salt, hash].join("$");
}

/** Whether a password has a hash. @throws Error for a text that is no hash of Firebase. */
export async function isFirebasePassword(password: string, text: string): Promise<boolean> {
  const parsed = parseFirebaseHash(text);
  if (parsed === null) throw new Error("the text is no hash of Firebase");
  const { cost, blockSize, signerKey, salt, hash } = parsed;
  // No start of a service loads the module.
  const { createCipheriv, scryptSync, timingSafeEqual } = await import("node:crypto");
  const N = 2 ** cost;
  const key = scryptSync(password, salt, keyBytes, { N, r: blockSize, p: 1, maxmem: 256 * N * blockSize });
  const cipher = createCipheriv("aes-256-ctr", key, Buffer.alloc(16));
  return timingSafeEqual(Buffer.concat([cipher.update(signerKey), cipher.final()]), hash);
}
