/** Proofs of an address by links and codes from mails, and what a proof changes: a part of `client.auth`. */
import type { CodeRequested, User } from "@socle/protocol";
import type { Requests } from "./transport.ts";

/** A token of a mail. The password, or the tokens of this client, keep the credentials that were made before the first proof. */
export interface MailedProof {
  token: string;
  password?: string;
}

/** Every method throws `SocleError`. A request for a mail is answered alike for known and unknown addresses. */
export class ProofsClient {
  readonly #transport: Requests;

  constructor(transport: Requests) {
    this.#transport = transport;
  }

  /** Asks for a mail with a link that proves the address of an account; by default, of the signed-in user. */
  requestVerification(email?: string): Promise<void> {
    return this.#post("verify/request", email === undefined ? {} : { email });
  }

  /** Proves the address. */
  verify(proof: MailedProof): Promise<void> {
    return this.#post("verify", proof);
  }

  /** Asks for a mail with a link that sets a new password. */
  forgotPassword(email: string): Promise<void> {
    return this.#post("password/forgot", { email });
  }

  /** Sets a new password. All sessions end, and nobody is signed in. */
  resetPassword(proof: { token: string; password: string }): Promise<void> {
    return this.#post("password/reset", proof);
  }

  /** Asks for a mail to a new address of the signed-in user. The present address counts until `confirmEmail`. */
  changeEmail(change: { email: string; password?: string }): Promise<void> {
    return this.#post("email", change);
  }

  confirmEmail(proof: MailedProof): Promise<void> {
    return this.#post("email/confirm", proof);
  }

  /** Asks for a mail with a code that signs in. Answers the attempt that the code is for. */
  async requestCode(email: string): Promise<string> {
    const body = { email };
    return (await this.#transport.call<CodeRequested>("POST", "/api/auth/code/request", { body })).attempt;
  }

  /** @throws SecondFactorRequired for a user with a second factor. */
  signInWithCode(proof: { attempt: string; code: string }): Promise<User> {
    return this.#transport.signIn("code", proof);
  }

  /** Makes the account of an invitation, and signs in. */
  acceptInvitation(proof: { token: string; password: string }): Promise<User> {
    return this.#transport.signIn("invitation", proof);
  }

  async #post(route: string, body: object): Promise<void> {
    await this.#transport.fetch("POST", `/api/auth/${route}`, { body });
  }
}
