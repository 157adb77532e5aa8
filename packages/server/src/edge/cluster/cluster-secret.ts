/** ClusterSecret: the secret that the instances of a cluster share, and the bound on guesses of the secret. */
import { isOwnMachine, isSameSecret, TokenBuckets } from "../../base/kernel/index.ts";

/** Wrong secrets of an address. */
const guessRate = { count: 10, perMs: 60_000 };

export class ClusterSecret {
  readonly #secret: string;
  readonly #guesses = new TokenBuckets(guessRate);

  constructor(secret: string) {
    this.#secret = secret;
  }

  /** The header by which another instance knows an instance of the cluster. */
  get header(): Record<string, string> {
    return { "Socle-Instance-Secret": this.#secret };
  }

  /**
   * Whether a text is the secret. After ten wrong texts, every text of the address counts as wrong until the address has waited; the
   * right text takes nothing from the ten. Instances of this machine share the address with everything else on this machine.
   * @param now milliseconds that never run backwards.
   */
  isRight(given: string, address: string, now: number): boolean {
    const isCounted = !isOwnMachine(address);
    if (isCounted && this.#guesses.take(address, now) > 0) return false;
    const isRight = isSameSecret(given, this.#secret);
    if (isCounted && isRight) this.#guesses.charge(address, -1);
    return isRight;
  }
}
