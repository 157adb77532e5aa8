/** The proofs of addresses in the model of accounts: tokens and codes that were mailed, and that work until their end. */
import { type Account, type Expected, type Proof, type Purpose, proofRules } from "./account-state.ts";

export class ProofBook {
  readonly #proofs: Proof[] = [];
  readonly #wrongCodes = new Map<string, number[]>();
  readonly #strayCodes: number[];

  constructor(strayCodes: number[]) {
    this.#strayCodes = strayCodes;
  }

  /** Adds a proof; the oldest proofs of the address end. @param secret `text` is "" for a proof that nobody holds. */
  add(
    { purpose, to: email, account }: NonNullable<Expected["mail"]>,
    { text, code, now }: { text: string; code?: string | undefined; now: number },
  ): void {
    const { lifeMs, kept } = proofRules[purpose];
    const endsAt = now + lifeMs;
    this.#proofs.push({ purpose, text, email, account, endsAt, isOver: false, ...(code !== undefined && { code }) });
    const all = this.#proofs.filter((proof) => proof.purpose === purpose && proof.email === email && !proof.isOver);
    for (const proof of all.slice(0, -kept)) proof.isOver = true;
  }

  /** The proof of a token that works now. */
  find(purpose: Purpose, text: string, now: number): Proof | null {
    const isIt = (proof: Proof): boolean =>
      proof.purpose === purpose && proof.text === text && text !== "" && !proof.isOver && proof.endsAt > now;
    return this.#proofs.find(isIt) ?? null;
  }

  /** The address and the account of a token, whether the token works or not. */
  ownerOf(text: string): { email: string; account: Account | null } {
    const proof = this.#proofs.find((each) => each.text === text);
    return { email: proof?.email ?? "", account: proof?.account ?? null };
  }

  /** The times of wrong codes: of the email of an attempt, and together of all texts that are no attempts of the service. */
  wrongCodesOf(text: string): number[] {
    const attempt = this.#proofs.find((each) => each.purpose === "code" && each.text === text && text !== "");
    if (attempt === undefined) return this.#strayCodes;
    const found = this.#wrongCodes.get(attempt.email) ?? [];
    this.#wrongCodes.set(attempt.email, found);
    return found;
  }

  end(account: Account, isEnded: (purpose: Purpose) => boolean): void {
    for (const proof of this.#proofs) if (proof.account === account && isEnded(proof.purpose)) proof.isOver = true;
  }
}
