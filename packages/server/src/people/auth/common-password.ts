/** The check of a password against the list of the most common passwords. */

/** The list, read with the first check of a thread. */
let common: string | null = null;

/** Whether a password is one of the most common passwords, in any case of the letters. */
export async function isCommonPassword(password: string): Promise<boolean> {
  if (common === null) {
    const { packedCommonPasswords } = await import("./common-passwords.ts");
    common = Bun.zstdDecompressSync(Buffer.from(packedCommonPasswords, "base64")).toString("latin1");
  }
  return !password.includes("\n") && common.includes(`\n${password.toLowerCase()}\n`);
}
