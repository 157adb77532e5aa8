/** Passkeys of users in a browser: `client.auth.passkeys`. */
import type {
  Passkey,
  PasskeyAssertion,
  PasskeyCreation,
  PasskeyRegistration,
  PasskeyRequest,
  User,
} from "@socle/protocol";
import type { Requests } from "./transport.ts";

/** The parts of `navigator.credentials` that the client uses; the types of server runtimes do not have the object. */
interface Credentials {
  create(options: { publicKey: object }): Promise<unknown>;
  get(options: { publicKey: object; mediation?: string; signal?: AbortSignal }): Promise<unknown>;
}

/** The answers of `navigator.credentials` (WebAuthn, 5.1); the browser answers null for no credential. */
interface Created {
  readonly id: string;
  readonly response: {
    readonly clientDataJSON: ArrayBuffer;
    readonly attestationObject: ArrayBuffer;
    getTransports?(): string[];
  };
}
interface Signed {
  readonly id: string;
  readonly response: {
    readonly clientDataJSON: ArrayBuffer;
    readonly authenticatorData: ArrayBuffer;
    readonly signature: ArrayBuffer;
    readonly userHandle: ArrayBuffer | null;
  };
}

export interface PasskeySignIn {
  /** `conditional`: the browser offers the passkeys in a field with `autocomplete="username webauthn"`, without a dialog. */
  mediation?: "conditional";
  /** Ends the wait for the person. */
  signal?: AbortSignal;
}

/**
 * Needs a browser and a page of the service's `publicUrl`. Every method throws `SocleError`, and the browser's own error if the
 * person refuses.
 */
export class PasskeysClient {
  readonly #transport: Requests;

  constructor(transport: Requests) {
    this.#transport = transport;
  }

  /** Makes a passkey for the signed-in user; needs a sign-in of the last ten minutes. */
  async register(name?: string): Promise<Passkey> {
    const options = await this.#transport.call<PasskeyCreation>("POST", "/api/auth/passkeys/options");
    const publicKey = {
      ...options,
      challenge: toBytes(options.challenge),
      user: { ...options.user, id: toBytes(options.user.id) },
      excludeCredentials: options.excludeCredentials.map(withBytes),
    };
    const { id, response } = (await credentials().create({ publicKey })) as Created;
    const passkey: PasskeyRegistration = {
      ...shared(id),
      response: {
        clientDataJSON: toText(response.clientDataJSON),
        attestationObject: toText(response.attestationObject),
        transports: response.getTransports?.() ?? [],
      },
    };
    return this.#transport.call("POST", "/api/auth/passkeys", {
      body: { passkey, ...(name !== undefined && { name }) },
    });
  }

  /** Signs in with a passkey instead of email and password. */
  async signIn(options: PasskeySignIn = {}): Promise<User> {
    return this.#transport.signIn("passkeys/login", { passkey: await this.#ask({}, options) });
  }

  /** Ends a sign-in that has thrown `SecondFactorRequired`, with a passkey. */
  async secondFactor(attempt: string): Promise<User> {
    return this.#transport.signIn("second-factor", { attempt, passkey: await this.#ask({ attempt }) });
  }

  /** The passkeys of the signed-in user, newest first. */
  async list(): Promise<Passkey[]> {
    return (await this.#transport.call<{ items: Passkey[] }>("GET", "/api/auth/passkeys")).items;
  }

  /** Needs a sign-in of the last ten minutes. */
  async delete(id: string): Promise<void> {
    await this.#transport.fetch("DELETE", `/api/auth/passkeys/${encodeURIComponent(id)}`);
  }

  async #ask(body: object, options: PasskeySignIn = {}): Promise<PasskeyAssertion> {
    const asked = await this.#transport.call<PasskeyRequest>("POST", "/api/auth/passkeys/login/options", { body });
    const publicKey = {
      ...asked,
      challenge: toBytes(asked.challenge),
      allowCredentials: asked.allowCredentials.map(withBytes),
    };
    const { id, response } = (await credentials().get({ ...options, publicKey })) as Signed;
    const { userHandle } = response;
    return {
      ...shared(id),
      response: {
        clientDataJSON: toText(response.clientDataJSON),
        authenticatorData: toText(response.authenticatorData),
        signature: toText(response.signature),
        ...(userHandle !== null && userHandle.byteLength > 0 && { userHandle: toText(userHandle) }),
      },
    };
  }
}

function credentials(): Credentials {
  const { navigator } = globalThis as { navigator?: { credentials?: Credentials } };
  if (navigator?.credentials === undefined)
    throw new Error("Passkeys need a browser, and a page over HTTPS or of localhost");
  return navigator.credentials;
}

function shared(id: string) {
  return { id, rawId: id, type: "public-key", clientExtensionResults: {} } as const;
}

function withBytes<T extends { id: string }>(descriptor: T) {
  return { ...descriptor, id: toBytes(descriptor.id) };
}

/** The bytes of base64url. */
function toBytes(text: string): Uint8Array {
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(binary, (letter) => letter.charCodeAt(0));
}

function toText(bytes: ArrayBuffer): string {
  const binary = Array.from(new Uint8Array(bytes), (byte) => String.fromCharCode(byte)).join("");
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
