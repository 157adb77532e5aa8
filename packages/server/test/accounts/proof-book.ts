/** The proofs of addresses in the model of accounts: tokens and codes that were mailed, and that work until their end. */
import { type Account, type Expected, type Proof, type Purpose, proofRules } from "./account-state.ts";

export class ProofBook {
  readonly #proofs: Proof[] = [];

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

  end(account: Account, isEnded: (purpose: Purpose) => boolean): void {
    for (const proof of this.#proofs) if (proof.account === account && isEnded(proof.purpose)) proof.isOver = true;
  }
}
