/**
 * Challenges for passkeys: signed by the service and bound to a purpose, so that a stranger who asks for challenges fills no
 * table. The database holds the challenges that were used, until the challenges expire.
 */
import { isSameSecret } from "../../../base/kernel/index.ts";

/** How long a person may take with the authenticator. */
export const challengeMs = 5 * 60_000;

const randomBytes = 16;
const timeBytes = 8;
const signatureBytes = 32;

/** Where a challenge counts: for a step, and for the user or the attempt of the step. */
export interface ChallengePurpose {
  readonly step: "register" | "sign in" | "second factor";
  /** The id of the user, or the attempt; "" for a sign-in. */
  readonly subject: string;
}

export class Challenges {
  readonly #key: () => string;

  /** @param key a secret of the service, available once auth has started. */
  constructor(key: () => string) {
    this.#key = key;
  }

  make(purpose: ChallengePurpose): Uint8Array<ArrayBuffer> {
    const time = Buffer.alloc(timeBytes);
    time.writeBigUInt64BE(BigInt(Date.now() + challengeMs));
    const head = Buffer.concat([crypto.getRandomValues(new Uint8Array(randomBytes)), time]);
    return new Uint8Array(Buffer.concat([head, this.#sign(head, purpose)]));
  }

  /** The end of a challenge of this purpose; null for another text, another purpose, and an expired challenge. */
  read(challenge: string, purpose: ChallengePurpose): { hash: string; expiresAt: number } | null {
    const bytes = Buffer.from(challenge, "base64url");
    if (bytes.length !== randomBytes + timeBytes + signatureBytes) return null;
    const head = bytes.subarray(0, -signatureBytes);
    const signature = bytes.subarray(-signatureBytes).toString("hex");
    if (!isSameSecret(signature, this.#sign(head, purpose).toString("hex"))) return null;
    const expiresAt = Number(head.readBigUInt64BE(randomBytes));
    const now = Date.now();
    // A clock that was set back makes no challenge last longer.
    const isInTime = expiresAt > now && expiresAt <= now + challengeMs;
    return isInTime ? { hash: Bun.SHA256.hash(head, "hex"), expiresAt } : null;
  }

  #sign(head: Buffer, { step, subject }: ChallengePurpose): Buffer {
    return new Bun.CryptoHasher("sha256", this.#key()).update(`${step}\0${subject}\0`).update(head).digest();
  }
}
