/** The authenticator app of the signed-in user: `client.auth.totp`. */
import type { RecoveryCodes, TotpSetup } from "@socle/protocol";
import type { Requests } from "./transport.ts";

/** Every method throws `SocleError`; a change needs a sign-in of the last ten minutes. */
export class TotpClient {
  readonly #transport: Requests;

  constructor(transport: Requests) {
    this.#transport = transport;
  }

  /** Makes a secret for the app, as a text and as the address for a QR code. `confirm` turns the second factor on. */
  create(): Promise<TotpSetup> {
    return this.#transport.call("POST", "/api/auth/totp");
  }

  /** Turns the second factor on with a code of the app. The answer alone shows the recovery codes. */
  confirm(code: string): Promise<RecoveryCodes> {
    return this.#transport.call("POST", "/api/auth/totp/confirm", { body: { code } });
  }

  /** Turns the second factor off, and deletes the recovery codes. */
  async delete(): Promise<void> {
    await this.#transport.fetch("DELETE", "/api/auth/totp");
  }

  /** Replaces the recovery codes. */
  renewRecoveryCodes(): Promise<RecoveryCodes> {
    return this.#transport.call("POST", "/api/auth/recovery-codes");
  }
}
