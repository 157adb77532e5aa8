/** Accounts: users, sign-ins, sessions, factors, passkeys, invitations, providers and links. */
import { ROLES } from "../auth.ts";
import {
  about,
  arrayOf,
  boolean,
  constant,
  count,
  either,
  enumOf,
  freeObject,
  integer,
  named,
  object,
  optional,
  orNull,
  string,
  type TypeOf,
  text,
  textOf,
  time,
} from "./shape.ts";

export const email = about(text, "Trimmed and in lower case; unique.");
export const password = about(text, "Between auth.passwordMinLength and 1,000 characters.");
const base64url = textOf({ pattern: "^[\\w-]+$" }, (value) => /^[\w-]+$/.test(value), "must be base64url");

const userMembers = {
  /** `usr_` and a UUIDv7. */
  id: string,
  /** Null for an anonymous user. */
  email: orNull(string),
  role: enumOf(ROLES),
  createdAt: time,
  /** Whether the user has proven the address, for example by a link of a mail. Absent if the service has neither mail nor providers. */
  verified: optional(boolean),
  /** Whether the user has no email and may claim an account. Absent unless the service has anonymous users. */
  anonymous: optional(boolean),
};

const sessionMembers = {
  id: string,
  /** The time of the sign-in. */
  createdAt: time,
  /** The time of the sign-in or of the last refresh. A client refreshes at most once in the life of an access token. */
  lastUsedAt: time,
  /** The time at which the session ends without a refresh. */
  expiresAt: time,
  /** The address of the sign-in; an IPv6 address as the /64. Null for a session that no request opened. */
  address: orNull(string),
  /** The `User-Agent` of the sign-in, cut after 300 characters. */
  userAgent: orNull(string),
};

const credentialMembers = {
  id: base64url,
  rawId: base64url,
  type: constant("public-key"),
  clientExtensionResults: freeObject,
};

/** Credentials that an authenticator may know. */
const descriptors = arrayOf(object({ type: constant("public-key"), id: base64url, transports: arrayOf(string) }));

export const user = named("User", () => object(userMembers));
export type User = TypeOf<typeof user>;

/** The body of a register or login request. */
export const credentials = named("Credentials", () => object({ email, password }));
export type Credentials = TypeOf<typeof credentials>;

/** The answer of register and refresh, and of a sign-in of a user without a second factor. */
export const tokenResponse = named("TokenResponse", () =>
  object({
    /** A JWT for `Authorization: Bearer …`. */
    accessToken: about(string, "For the header Authorization: Bearer …."),
    /** The same as `accessToken`. */
    token: about(string, "The same as accessToken."),
    /** Works once; the answer to the use carries the next. */
    refreshToken: about(string, "Works once."),
    tokenType: constant("Bearer"),
    /** Seconds until the access token expires. */
    expiresIn: about(integer, "Seconds until the access token expires."),
    user,
  }),
);
export type TokenResponse = TypeOf<typeof tokenResponse>;

/** The answer of a sign-in of a user with a second factor: no tokens yet. */
export const secondFactorResponse = named("SecondFactorResponse", () =>
  object({
    next: constant("second_factor"),
    /** For `POST /api/auth/second-factor`; works once, for ten minutes. */
    attempt: string,
    methods: arrayOf(enumOf(["code", "recoveryCode", "passkey"])),
  }),
);
export type SecondFactorResponse = TypeOf<typeof secondFactorResponse>;

/** The answer of a sign-in. */
export const loginResponse = named("LoginResponse", () => either(tokenResponse, secondFactorResponse));
export type LoginResponse = TypeOf<typeof loginResponse>;

/** The answer of a registration whose user proves the address first: no tokens, and the same for a known address. */
export const verificationRequired = named("VerificationRequired", () => object({ next: constant("verify") }));
export type VerificationRequired = TypeOf<typeof verificationRequired>;

/** The answer of a request for a code. */
export const codeRequested = named("CodeRequested", () =>
  object({
    /** For `POST /api/auth/code`, with the code of the mail. */
    attempt: string,
  }),
);
export type CodeRequested = TypeOf<typeof codeRequested>;

/** The answer of `GET /api/auth/setup` without a token: `open` while the service waits for the first admin. */
export const setupStatus = named("SetupStatus", () =>
  object({
    status: enumOf(["open", "over"]),
    expiresAt: optional(time),
    passwordMinLength: optional(integer),
    next: optional(string),
  }),
);
export type SetupStatus = TypeOf<typeof setupStatus>;

/** A session that has not expired. */
export const sessionEntry = named("SessionEntry", () => object(sessionMembers));
export type SessionEntry = TypeOf<typeof sessionEntry>;

/** A session of the caller. */
export const ownSession = named("OwnSession", () =>
  object({
    ...sessionMembers,
    /** Whether the request came from this session. */
    current: about(boolean, "Whether the request is of this session."),
  }),
);
export type OwnSession = TypeOf<typeof ownSession>;

export const userEntry = named("UserEntry", () => object({ ...userMembers, sessions: arrayOf(sessionEntry) }));
export type UserEntry = TypeOf<typeof userEntry>;

/** The answer of `POST /api/auth/totp`: both are for the authenticator app alone. */
export const totpSetup = named("TotpSetup", () =>
  object({
    /** The secret in base32, for people who type. */
    secret: string,
    /** The secret as an `otpauth:` address, for a QR code. */
    uri: string,
  }),
);
export type TotpSetup = TypeOf<typeof totpSetup>;

/** Six digits of an authenticator app, with spaces for the eye. */
export const factorCode = textOf(
  { pattern: "^[0-9 ]{6,7}$" },
  (code) => /^[0-9 ]{6,7}$/.test(code),
  "code must be six digits",
);

/** New recovery codes; the answer is the only place that shows the codes. */
export const recoveryCodes = named("RecoveryCodes", () => object({ recoveryCodes: arrayOf(string) }));
export type RecoveryCodes = TypeOf<typeof recoveryCodes>;

/** A passkey of a user, without the key. */
export const passkey = named("Passkey", () =>
  object({
    /** `psk_` and a UUIDv7. */
    id: string,
    name: string,
    /** Whether the user's devices share the passkey, so that the passkey survives the loss of a device. */
    isBackedUp: boolean,
    createdAt: time,
    lastUsedAt: orNull(time),
  }),
);
export type Passkey = TypeOf<typeof passkey>;

/** The answer of `GET /api/auth/factors`. */
export const userFactors = named("UserFactors", () =>
  object({
    /** Whether sign-ins need the second factor: an authenticator app is confirmed. */
    totp: boolean,
    /** The recovery codes that are left. */
    recoveryCodes: count,
    /** A passkey alone does not turn the second factor on. */
    passkeys: arrayOf(passkey),
  }),
);
export type UserFactors = TypeOf<typeof userFactors>;

/** The options of `navigator.credentials.create` as JSON (WebAuthn, 5.1.8); bytes are base64url. */
export const passkeyCreation = named("PasskeyCreation", () =>
  object({
    rp: object({ id: string, name: string }),
    user: object({ id: base64url, name: string, displayName: string }),
    challenge: base64url,
    pubKeyCredParams: arrayOf(object({ type: constant("public-key"), alg: integer })),
    timeout: integer,
    excludeCredentials: descriptors,
    authenticatorSelection: object({
      residentKey: constant("required"),
      userVerification: constant("preferred"),
    }),
    attestation: constant("none"),
  }),
);
export type PasskeyCreation = TypeOf<typeof passkeyCreation>;

/** The options of `navigator.credentials.get` as JSON (WebAuthn, 5.1.9). */
export const passkeyRequest = named("PasskeyRequest", () =>
  object({
    rpId: string,
    challenge: base64url,
    timeout: integer,
    allowCredentials: descriptors,
    userVerification: enumOf(["required", "preferred"]),
  }),
);
export type PasskeyRequest = TypeOf<typeof passkeyRequest>;

/** The answer of `navigator.credentials.create` as JSON. */
export const passkeyRegistration = named("PasskeyRegistration", () =>
  object({
    ...credentialMembers,
    response: object({
      clientDataJSON: base64url,
      attestationObject: base64url,
      transports: arrayOf(string),
    }),
  }),
);
export type PasskeyRegistration = TypeOf<typeof passkeyRegistration>;

/** The answer of `navigator.credentials.get` as JSON. */
export const passkeyAssertion = named("PasskeyAssertion", () =>
  object({
    ...credentialMembers,
    response: object({
      clientDataJSON: base64url,
      authenticatorData: base64url,
      signature: base64url,
      userHandle: optional(base64url),
    }),
  }),
);
export type PasskeyAssertion = TypeOf<typeof passkeyAssertion>;

/** A way to show the second factor. */
export type SecondFactorMethod = SecondFactorResponse["methods"][number];

/** The body of `POST /api/auth/second-factor`: an attempt, and a factor. */
export type SecondFactorProof = { attempt: string } & (
  | { /** Six digits of the authenticator app. */ code: string }
  | { recoveryCode: string }
  | { passkey: PasskeyAssertion }
);

/** The members of a `SecondFactorProof`. */
export const secondFactorProof = object({
  attempt: string,
  code: optional(factorCode),
  recoveryCode: optional(string),
  passkey: optional(passkeyAssertion),
});

/** An invitation that was mailed. */
export const invitation = named("Invitation", () =>
  object({
    email: string,
    /** The role of the future user. */
    role: enumOf(ROLES),
    expiresAt: time,
  }),
);
export type Invitation = TypeOf<typeof invitation>;

/** A provider at which users sign in. */
export const providerEntry = named("ProviderEntry", () =>
  object({
    /** The name in addresses. */
    name: string,
    /** The name for people. */
    title: string,
  }),
);
export type ProviderEntry = TypeOf<typeof providerEntry>;

/** A provider in the form for admins (`GET /api/admin/providers`), never with a secret. */
export const providerSetup = named("ProviderSetup", () =>
  object({
    name: string,
    title: string,
    /** False for a preset that the configuration does not name. */
    isConfigured: boolean,
    clientId: orNull(string),
    /** The address of the provider; null for a preset that is not configured. */
    issuer: orNull(string),
    /** The address of this service that the provider has to know; null without `publicUrl`. */
    callback: orNull(string),
    /** Keys of the configuration that a sign-in at this provider still needs. */
    missing: arrayOf(string),
  }),
);
export type ProviderSetup = TypeOf<typeof providerSetup>;

/** The link of a user to an account at a provider. */
export const link = named("Link", () =>
  object({
    /** The name of the provider. */
    name: string,
    /** The email at the provider when the link was made. */
    email: orNull(string),
    createdAt: time,
  }),
);
export type Link = TypeOf<typeof link>;

/** The answer to the exchange of a code when a signed-in user adds a link. */
export const linkResponse = named("LinkResponse", () => object({ link: link }));
export type LinkResponse = TypeOf<typeof linkResponse>;
