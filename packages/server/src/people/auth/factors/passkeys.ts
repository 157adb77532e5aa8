/** Passkeys: registration, sign-in without a password, and the use as a second factor (WebAuthn, Level 3). */
import type { Passkey, PasskeyCreation, PasskeyRequest, TokenResponse, User } from "@socle/protocol";
import type { Config } from "../../../base/config/index.ts";
import { AppError, isObject, messageOf, type SignedIn } from "../../../base/kernel/index.ts";
import type { Logger } from "../../../base/logging/index.ts";
import type { Database, Reader, Transactor } from "../../../store/database/index.ts";
import { userOfAttempt } from "../attempt-table.ts";
import type { Notices } from "../notices.ts";
import { changeOwn, checkRecent } from "../own-change.ts";
import type { PasswordCaller } from "../passwords.ts";
import type { SignIns } from "../sign-ins.ts";
import type { Users } from "../users.ts";
import { type ChallengePurpose, Challenges, challengeMs } from "./challenges.ts";
import {
  findPasskey,
  insertPasskey,
  listPasskeys,
  passkeysOf,
  removePasskey,
  type StoredPasskey,
  useChallenge,
  usePasskey,
} from "./passkey-table.ts";
import { readAssertion, readName, readRegistration } from "./read-passkey.ts";

/** The relying party: the host name and the origin for which the passkeys of this service count. */
interface RelyingParty {
  /** The host name: authenticators use a passkey for this name alone. */
  readonly id: string;
  /** The origin of the pages that may use the passkeys. */
  readonly origin: string;
}

interface PasskeysOptions {
  database: Database;
  logger: Logger;
  signIns: SignIns;
  users: Users;
  notices: Notices;
  config: Config;
  /** A secret of the service for a purpose, available once auth has started. */
  secretFor: (purpose: string) => string;
}

/** A passkey that has signed a challenge of this service. */
interface Verified {
  readonly userId: string;
  /** Whether the authenticator has verified the user, by a PIN or a finger. */
  readonly isUserVerified: boolean;
  /** Uses challenge and passkey up, in the transaction of the sign-in. @throws AppError `unauthorized` for a second use, and for a copy. */
  readonly spend: (tx: Transactor) => void;
}

/** EdDSA, ES256, RS256: every authenticator has one of these. */
const algorithms = [-8, -7, -257];
/** Bytes of a public key: RSA with 8,192 bits has about 1,100. */
const maxPublicKey = 2_048;
const signInPurpose: ChallengePurpose = { step: "sign in", subject: "" };

export class Passkeys {
  readonly #options: PasskeysOptions;
  readonly #challenges: Challenges;

  constructor(options: PasskeysOptions) {
    this.#options = options;
    this.#challenges = new Challenges(() => options.secretFor("passkeys"));
  }

  /** Whether pages of this origin can use passkeys, as far as the service knows. */
  countFor(origin: string): boolean {
    return relyingParty(this.#options.config.publicUrl, origin) !== null;
  }

  /** The passkeys of a user, newest first. */
  list(userId: string): Passkey[] {
    return listPasskeys(this.#options.database.reader, userId);
  }

  /**
   * The options of `navigator.credentials.create`.
   * @param by the sender of the request, here and below.
   * @throws AppError `forbidden` without a recent sign-in, `conflict` for a user with too many passkeys, `unavailable`.
   */
  creation(caller: SignedIn, by: PasswordCaller): PasskeyCreation {
    const { reader } = this.#options.database;
    checkRecent(reader, caller);
    const { userId: id } = caller;
    const name = this.#options.users.emailOf(id);
    const party = this.#party(by);
    return {
      rp: { id: party.id, name: party.id },
      user: { id: handleOf(id), name, displayName: name },
      challenge: this.#challenge({ step: "register", subject: id }),
      pubKeyCredParams: algorithms.map((alg) => ({ type: "public-key", alg })),
      timeout: challengeMs,
      // An authenticator has one passkey of a user.
      excludeCredentials: this.#checkRoom(reader, id).map(descriptorOf),
      authenticatorSelection: { residentKey: "required", userVerification: "preferred" },
      attestation: "none",
    };
  }

  /**
   * Registers a passkey.
   * @throws AppError `validation_error`, `bad_request` for a passkey that is not for this user and service, and as `creation`.
   */
  async register(caller: SignedIn, body: Record<string, unknown>, by: PasswordCaller): Promise<Passkey> {
    const { userId } = caller;
    const name = readName(body);
    const response = readRegistration(body);
    const party = this.#party(by);
    const { challenge, ...signed } = readClientData(response.response.clientDataJSON);
    const found = this.#challenges.read(challenge, { step: "register", subject: userId });
    if (found === null) throw refused("the options are too old, or were for another user: ask for new options");
    checkOrigin(signed.origin, party, "bad_request");
    const { verifyRegistrationResponse } = await import("@simplewebauthn/server");
    const { registrationInfo: info } = await verifyRegistrationResponse({
      response,
      expectedChallenge: challenge,
      expectedOrigin: party.origin,
      expectedRPID: party.id,
      requireUserVerification: false,
      supportedAlgorithmIDs: algorithms,
    }).catch((thrown: unknown) => {
      throw refused(messageOf(thrown));
    });
    if (info === undefined) throw refused("the signature is wrong");
    if (info.credential.publicKey.length > maxPublicKey) throw refused("the public key is too long");
    return changeOwn(this.#options, { caller, by, change: "A passkey was added." }, (tx) => {
      this.#checkRoom(tx, userId);
      if (!useChallenge(tx, found.hash, found.expiresAt)) throw refused("the options were used before");
      const passkey = insertPasskey(tx, {
        userId,
        name,
        credentialId: info.credential.id,
        publicKey: Buffer.from(info.credential.publicKey).toString("base64url"),
        counter: info.credential.counter,
        transports: JSON.stringify(response.response.transports),
        isBackedUp: info.credentialBackedUp,
      });
      if (passkey === null) throw new AppError("conflict", "This passkey is registered already.");
      return passkey;
    });
  }

  /** @throws AppError `not_found`, `forbidden` without a recent sign-in, `bad_request` for the last way to sign in. */
  async remove(caller: SignedIn, id: string, by: PasswordCaller): Promise<void> {
    await changeOwn(this.#options, { caller, by, change: "A passkey was deleted." }, (tx) => {
      if (!removePasskey(tx, caller.userId, id)) throw new AppError("not_found", "The passkey does not exist.");
      this.#options.users.credentials.requireSignInMethod(tx, caller.userId);
    });
  }

  /**
   * The options of `navigator.credentials.get`: for a sign-in with any passkey, or for the second factor of an attempt.
   * @throws AppError `bad_request` for an attempt that is unknown, used or expired; `unavailable`.
   */
  request(attempt: string | null, by: PasswordCaller): PasskeyRequest {
    const { reader } = this.#options.database;
    const { id: rpId } = this.#party(by);
    const options = { rpId, timeout: challengeMs };
    if (attempt === null)
      return {
        ...options,
        challenge: this.#challenge(signInPurpose),
        allowCredentials: [],
        userVerification: "required",
      };
    return {
      ...options,
      challenge: this.#challenge({ step: "second factor", subject: attempt }),
      allowCredentials: passkeysOf(reader, userOfAttempt(reader, attempt)).map(descriptorOf),
      userVerification: "preferred",
    };
  }

  /**
   * Signs a user in without a password. A passkey that has verified the user is two factors: the authenticator, and a PIN or a
   * finger. So no second factor is asked for.
   * @throws AppError `validation_error`, `unauthorized`, `unavailable`, the refusal of a hook.
   */
  async signIn(body: Record<string, unknown>, by: PasswordCaller): Promise<TokenResponse> {
    const { users, signIns } = this.#options;
    const { userId, isUserVerified, spend } = await this.verify(body, signInPurpose, by);
    if (!isUserVerified)
      throw new AppError("unauthorized", "A sign-in without a password needs a passkey with a PIN or a fingerprint.");
    const user = users.find(userId);
    if (user === null) throw wrongPasskey();
    const prove = (tx: Transactor): User => {
      spend(tx);
      const current = users.find(userId, tx);
      if (current === null) throw wrongPasskey();
      return current;
    };
    return signIns.signInWhole({ user, caller: by, prove });
  }

  /**
   * Checks the answer of `navigator.credentials.get` for a purpose. The result counts with `spend`.
   * @throws AppError `validation_error`, `unauthorized`, `unavailable`.
   */
  async verify(body: Record<string, unknown>, purpose: ChallengePurpose, by: PasswordCaller): Promise<Verified> {
    const { database, logger } = this.#options;
    const response = readAssertion(body);
    const party = this.#party(by);
    const { challenge, ...signed } = readClientData(response.response.clientDataJSON);
    const found = this.#challenges.read(challenge, purpose);
    const passkey = findPasskey(database.reader, response.id);
    if (found === null || passkey === null) throw wrongPasskey();
    checkOrigin(signed.origin, party, "unauthorized");
    const { userHandle } = response.response;
    // Without an account before, the authenticator names the account (WebAuthn, 7.2).
    const isNamed = userHandle === undefined ? purpose.step !== "sign in" : userHandle === handleOf(passkey.userId);
    if (!isNamed) throw wrongPasskey();
    const { verifyAuthenticationResponse } = await import("@simplewebauthn/server");
    const { verified, authenticationInfo: info } = await verifyAuthenticationResponse({
      response,
      expectedChallenge: challenge,
      expectedOrigin: party.origin,
      expectedRPID: party.id,
      requireUserVerification: false,
      // The transaction compares the counter: two uses at the same moment must not have the same count.
      credential: { id: passkey.credentialId, publicKey: bytesOf(passkey.publicKey), counter: 0 },
    }).catch((thrown: unknown) => {
      logger.debug("A passkey was refused", { reason: messageOf(thrown), userId: passkey.userId });
      throw wrongPasskey();
    });
    if (!verified) throw wrongPasskey();
    const use = { id: passkey.id, counter: info.newCounter, isBackedUp: info.credentialBackedUp };
    return {
      userId: passkey.userId,
      isUserVerified: info.userVerified,
      spend: (tx) => {
        if (!useChallenge(tx, found.hash, found.expiresAt)) throw wrongPasskey();
        if (usePasskey(tx, use)) return;
        const { userId, counter } = passkey;
        const counters = { given: info.newCounter, stored: counter };
        logger.often("A passkey was refused: its counter has not grown, so there may be a copy", {
          userId,
          ...counters,
        });
        throw wrongPasskey();
      },
    };
  }

  #challenge(purpose: ChallengePurpose): string {
    return Buffer.from(this.#challenges.make(purpose)).toString("base64url");
  }

  /** The passkeys of a user who has room for another passkey. @throws AppError `conflict`. */
  #checkRoom(reader: Reader, userId: string): StoredPasskey[] {
    const most = this.#options.config["limits.passkeysPerUser"];
    const passkeys = passkeysOf(reader, userId);
    if (passkeys.length < most) return passkeys;
    throw new AppError("conflict", `A user has at most ${most} passkeys: delete a passkey first.`, {
      limit: "passkeysPerUser",
    });
  }

  /** @throws AppError `unavailable`, with the reason in the log. */
  #party({ headers }: PasswordCaller): RelyingParty {
    const { logger } = this.#options;
    const { publicUrl } = this.#options.config;
    const origin = headers?.get("origin") ?? null;
    const party = relyingParty(publicUrl, origin);
    if (party !== null) return party;
    logger.often(
      "Passkeys need publicUrl with a host name; without publicUrl, only pages of http://localhost can use passkeys",
      { publicUrl: publicUrl ?? null, origin: origin?.slice(0, 200) ?? null },
    );
    throw new AppError("unavailable", "This service is not set up for passkeys; its log has the reason.");
  }
}

function handleOf(userId: string): string {
  return Buffer.from(userId).toString("base64url");
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.from(base64, "base64url"));
}

function descriptorOf({ credentialId, transports }: StoredPasskey): PasskeyRequest["allowCredentials"][number] {
  return { type: "public-key", id: credentialId, transports: JSON.parse(transports) };
}

/** Challenge and origin that the browser has signed; empty texts for anything else. */
function readClientData(clientDataJSON: string): { challenge: string; origin: string } {
  const text = Buffer.from(clientDataJSON, "base64url").toString();
  let data: unknown = null;
  try {
    data = JSON.parse(text);
  } catch {
    // Not from a browser: no challenge is empty, so the caller refuses the passkey.
  }
  const textOf = (name: string): string => (isObject(data) && typeof data[name] === "string" ? data[name] : "");
  return { challenge: textOf("challenge"), origin: textOf("origin") };
}

/** Tells a developer the right origin, which is no secret. @throws AppError for another origin. */
function checkOrigin(origin: string, party: RelyingParty, code: "bad_request" | "unauthorized"): void {
  if (origin === party.origin) return;
  throw new AppError(code, `Passkeys of this service are for pages of ${party.origin} (publicUrl), not of this page.`);
}

function refused(reason: string): AppError {
  return new AppError("bad_request", `The passkey was refused: ${reason}.`);
}

function wrongPasskey(): AppError {
  return new AppError("unauthorized", "The passkey is unknown, was refused, or was used for an older request.");
}

/** Authenticators take names, not addresses of machines. */
const machine = /^[\d.]+$|^\[/;

/**
 * The relying party of `publicUrl`; null for an address without a name. Without `publicUrl`, a page on localhost may use
 * passkeys, for development: an authenticator uses these passkeys for pages of the user's own machine alone, so nobody gains from
 * a false `Origin`.
 * @param origin the header `Origin` of the request.
 */
function relyingParty(publicUrl: string | undefined, origin: string | null): RelyingParty | null {
  const address = publicUrl ?? origin ?? "";
  if (!URL.canParse(address)) return null;
  const url = new URL(address);
  const isGood = publicUrl === undefined ? url.hostname === "localhost" : !machine.test(url.hostname);
  return isGood ? { id: url.hostname, origin: url.origin } : null;
}
