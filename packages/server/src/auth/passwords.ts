/** OWASP's first recommendation for argon2id: 19 MiB, two passes. */
const parameters = { algorithm: "argon2id", memoryCost: 19_456, timeCost: 2 } as const;

/** The hash of a password that nobody knows, so that a login of an unknown user takes as long as any other. */
const nobody =
  "$argon2id$v=19$m=19456,t=2,p=1$g56WsHMxHOMjDcmU6ZRNsiV4a+T3zp0a1KpyABaEBeo$4o0nsEbr38IykssB/I/LTRAa3NLojbJe+DewyUWQRGs";

/** Both run on Bun's thread pool, never on the event loop. */
export function hashPassword(password: string): Promise<string> {
  return Bun.password.hash(password, parameters);
}

/** `hash` is null when there is no such user: the work is done all the same, and the answer is false. */
export async function verifyPassword(password: string, hash: string | null): Promise<boolean> {
  const isRight = await Bun.password.verify(password, hash ?? nobody);
  return isRight && hash !== null;
}
