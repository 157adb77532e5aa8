/** Bodies of the authentication API: users, roles, credentials and tokens. */

export const ROLES = ["admin", "authenticated", "public"] as const;
export type Role = (typeof ROLES)[number];

export interface User {
  /** `usr_` and a UUIDv7. */
  id: string;
  email: string;
  role: Role;
  createdAt: string;
  /** Whether the user has proven the address, for example by a link of a mail. Absent if the service has neither mail nor providers. */
  verified?: boolean;
}

/** The body of a register or login request. */
export interface Credentials {
  email: string;
  password: string;
}

/** The answer of register and refresh, and of a sign-in of a user without a second factor. */
export interface TokenResponse {
  /** A JWT for `Authorization: Bearer …`. */
  accessToken: string;
  /** The same as `accessToken`. */
  token: string;
  /** Works once; the answer to the use carries the next. */
  refreshToken: string;
  tokenType: "Bearer";
  /** Seconds until the access token expires. */
  expiresIn: number;
  user: User;
}

/** A way to show the second factor. */
export type SecondFactorMethod = "code" | "recoveryCode" | "passkey";

/** The answer of a sign-in of a user with a second factor: no tokens yet. */
export interface SecondFactorResponse {
  next: "second_factor";
  /** For `POST /api/auth/second-factor`; works once, for ten minutes. */
  attempt: string;
  methods: SecondFactorMethod[];
}

/** The body of `POST /api/auth/second-factor`: an attempt, and a factor. */
export type SecondFactorProof = { attempt: string } & (
  | { /** Six digits of the authenticator app. */ code: string }
  | { recoveryCode: string }
  | { passkey: PasskeyAssertion }
);

/** The answer of `POST /api/auth/totp`: both are for the authenticator app alone. */
export interface TotpSetup {
  /** The secret in base32, for people who type. */
  secret: string;
  /** The secret as an `otpauth:` address, for a QR code. */
  uri: string;
}

/** New recovery codes; the answer is the only place that shows the codes. */
export interface RecoveryCodes {
  recoveryCodes: string[];
}

/** The answer of `GET /api/auth/factors`. */
export interface UserFactors {
  /** Whether sign-ins need the second factor: an authenticator app is confirmed. */
  totp: boolean;
  /** The recovery codes that are left. */
  recoveryCodes: number;
  /** A passkey alone does not turn the second factor on. */
  passkeys: Passkey[];
}

/** A passkey of a user, without the key. */
export interface Passkey {
  /** `psk_` and a UUIDv7. */
  id: string;
  name: string;
  /** Whether the user's devices share the passkey, so that the passkey survives the loss of a device. */
  isBackedUp: boolean;
  createdAt: string;
  lastUsedAt: string | null;
}

/** A credential that an authenticator may know. */
interface PasskeyDescriptor {
  type: "public-key";
  id: string;
  transports: string[];
}

/** The options of `navigator.credentials.create` as JSON (WebAuthn, 5.1.8); bytes are base64url. */
export interface PasskeyCreation {
  rp: { id: string; name: string };
  user: { id: string; name: string; displayName: string };
  challenge: string;
  pubKeyCredParams: { type: "public-key"; alg: number }[];
  timeout: number;
  excludeCredentials: PasskeyDescriptor[];
  authenticatorSelection: { residentKey: "required"; userVerification: "preferred" };
  attestation: "none";
}

/** The options of `navigator.credentials.get` as JSON (WebAuthn, 5.1.9). */
export interface PasskeyRequest {
  rpId: string;
  challenge: string;
  timeout: number;
  allowCredentials: PasskeyDescriptor[];
  userVerification: "required" | "preferred";
}

/** The answer of `navigator.credentials.create` as JSON. */
export interface PasskeyRegistration {
  id: string;
  rawId: string;
  type: "public-key";
  clientExtensionResults: object;
  response: { clientDataJSON: string; attestationObject: string; transports: string[] };
}

/** The answer of `navigator.credentials.get` as JSON. */
export interface PasskeyAssertion {
  id: string;
  rawId: string;
  type: "public-key";
  clientExtensionResults: object;
  response: { clientDataJSON: string; authenticatorData: string; signature: string; userHandle?: string };
}

/** The answer of a registration whose user proves the address first: no tokens, and the same for a known address. */
export interface VerificationRequired {
  next: "verify";
}

/** An invitation that was mailed. */
export interface Invitation {
  email: string;
  /** The role of the future user. */
  role: Role;
  expiresAt: string;
}

/** The answer of a request for a code. */
export interface CodeRequested {
  /** For `POST /api/auth/code`, with the code of the mail. */
  attempt: string;
}

/** The answer of a sign-in. */
export type LoginResponse = TokenResponse | SecondFactorResponse;

/** A session that has not expired. */
export interface SessionEntry {
  id: string;
  /** The time of the sign-in. */
  createdAt: string;
  /** The time of the sign-in or of the last refresh. A client refreshes at most once in the life of an access token. */
  lastUsedAt: string;
  /** The time at which the session ends without a refresh. */
  expiresAt: string;
  /** The address of the sign-in; an IPv6 address as the /64. Null for a session that no request opened. */
  address: string | null;
  /** The `User-Agent` of the sign-in, cut after 300 characters. */
  userAgent: string | null;
}

/** A session of the caller. */
export interface OwnSession extends SessionEntry {
  /** Whether the request came from this session. */
  current: boolean;
}

/** The answer of `GET /api/auth/setup` without a token: `open` while the service waits for the first admin. */
export interface SetupStatus {
  status: "open" | "over";
}

/** The answer of `GET /api/auth/setup` with the token: how long the set-up link works. */
export interface SetupInvitation {
  expiresAt: string;
  /** Characters that a password has at least. */
  passwordMinLength: number;
}

/** A provider at which users sign in. */
export interface ProviderEntry {
  /** The name in addresses. */
  name: string;
  /** The name for people. */
  title: string;
}

/** A provider in the form for admins (`GET /api/admin/providers`), never with a secret. */
export interface ProviderSetup extends ProviderEntry {
  /** False for a preset that the configuration does not name. */
  isConfigured: boolean;
  clientId: string | null;
  /** The address of the provider; null for a preset that is not configured. */
  issuer: string | null;
  /** The address of this service that the provider has to know; null without `publicUrl`. */
  callback: string | null;
  /** Keys of the configuration that a sign-in at this provider still needs. */
  missing: string[];
}

/** The link of a user to an account at a provider. */
export interface Link {
  /** The name of the provider. */
  name: string;
  /** The email at the provider when the link was made. */
  email: string | null;
  createdAt: string;
}

/** The answer to the exchange of a code when a signed-in user adds a link. */
export interface LinkResponse {
  link: Link;
}
