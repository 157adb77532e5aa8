/** An authenticator in software, for tests: answers as `navigator.credentials` does, also with any part wrong. */
import { createHash, createSign, generateKeyPairSync, randomBytes } from "node:crypto";
import type { PasskeyAssertion, PasskeyCreation, PasskeyRegistration, PasskeyRequest } from "@socle/protocol";

const present = 0x01;
const verified = 0x04;
const attested = 0x40;

interface Signing {
  readonly origin: string;
  /** By default, the name of the options. */
  readonly rpId?: string;
  /** Whether the authenticator has verified the user; true by default. */
  readonly isUserVerified?: boolean;
  /** By default, the next count. */
  readonly counter?: number;
  /** By default, the handle of the registration; null for no handle. */
  readonly userHandle?: string | null;
  readonly type?: string;
}

function sha256(text: string | Buffer): Buffer {
  return createHash("sha256").update(text).digest();
}

/** CBOR: a text of at most 23 bytes. */
function cborText(text: string): Buffer {
  return Buffer.concat([Buffer.from([0x60 + text.length]), Buffer.from(text)]);
}

/** CBOR: bytes. */
function cborBytes(bytes: Buffer): Buffer {
  const head = Buffer.from([0x59, 0, 0]);
  head.writeUInt16BE(bytes.length, 1);
  return Buffer.concat([head, bytes]);
}

function clientData(type: string, challenge: string, origin: string): Buffer {
  return Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false }));
}

/** A passkey: a key pair, a count of uses, and the user of the registration. */
export class SoftPasskey {
  readonly id: string = randomBytes(16).toString("base64url");
  counter = 0;
  #userHandle = "";
  readonly #keys = generateKeyPairSync("ec", { namedCurve: "P-256" });

  register(options: PasskeyCreation, signing: Signing): PasskeyRegistration {
    this.#userHandle = options.user.id;
    const { x = "", y = "" } = this.#keys.publicKey.export({ format: "jwk" });
    // COSE: { 1: 2, 3: -7, -1: 1, -2: x, -3: y }.
    const key = Buffer.concat([
      Buffer.from("a5010203262001215820", "hex"),
      Buffer.from(x, "base64url"),
      Buffer.from("225820", "hex"),
      Buffer.from(y, "base64url"),
    ]);
    const id = Buffer.from(this.id, "base64url");
    const length = Buffer.from([0, id.length]);
    const data = this.#data(options.rp.id, attested, signing);
    const attestation = Buffer.concat([
      Buffer.from([0xa3]),
      cborText("fmt"),
      cborText("none"),
      cborText("attStmt"),
      Buffer.from([0xa0]),
      cborText("authData"),
      cborBytes(Buffer.concat([data, Buffer.alloc(16), length, id, key])),
    ]);
    const client = clientData(signing.type ?? "webauthn.create", options.challenge, signing.origin);
    const response = {
      clientDataJSON: client.toString("base64url"),
      attestationObject: attestation.toString("base64url"),
      transports: ["internal"],
    };
    return { id: this.id, rawId: this.id, type: "public-key", clientExtensionResults: {}, response };
  }

  sign(options: PasskeyRequest, signing: Signing): PasskeyAssertion {
    this.counter = signing.counter ?? this.counter + 1;
    const data = this.#data(options.rpId, 0, { counter: this.counter, ...signing });
    const client = clientData(signing.type ?? "webauthn.get", options.challenge, signing.origin);
    const signature = createSign("sha256").update(data).update(sha256(client)).sign(this.#keys.privateKey);
    const handle = signing.userHandle === undefined ? this.#userHandle : signing.userHandle;
    const response = {
      clientDataJSON: client.toString("base64url"),
      authenticatorData: data.toString("base64url"),
      signature: signature.toString("base64url"),
      ...(handle !== null && { userHandle: handle }),
    };
    return { id: this.id, rawId: this.id, type: "public-key", clientExtensionResults: {}, response };
  }

  #data(rpId: string, flags: number, { rpId: other, isUserVerified = true, counter = 0 }: Signing): Buffer {
    const rest = Buffer.alloc(5);
    rest.writeUInt8(present | flags | (isUserVerified ? verified : 0));
    rest.writeUInt32BE(counter, 1);
    return Buffer.concat([sha256(other ?? rpId), rest]);
  }
}
