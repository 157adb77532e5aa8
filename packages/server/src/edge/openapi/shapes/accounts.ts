/** Schemas of accounts: users, sign-ins, sessions, factors, passkeys, providers and API keys. */
import {
  type ApiKey,
  type CodeRequested,
  type CreatedApiKey,
  type Credentials,
  type Invitation,
  type Link,
  type LinkResponse,
  type NewApiKey,
  type OwnSession,
  type Passkey,
  type PasskeyAssertion,
  type PasskeyCreation,
  type PasskeyRegistration,
  type PasskeyRequest,
  type ProviderEntry,
  type ProviderSetup,
  type RecoveryCodes,
  ROLES,
  type SecondFactorResponse,
  type SessionEntry,
  type SetupInvitation,
  type SetupStatus,
  type TokenResponse,
  type TotpSetup,
  type User,
  type UserFactors,
  type VerificationRequired,
} from "@socle/protocol";
import {
  about,
  arrayOf,
  boolean,
  closed,
  constant,
  count,
  enumOf,
  freeObject,
  integer,
  objectOf,
  optional,
  orNull,
  ref,
  type Schema,
  string,
  time,
} from "../schema.ts";

export const email = about(string, "Trimmed and in lower case; unique.");
export const password = about(string, "Between auth.passwordMinLength and 1,000 characters.");
const base64url: Schema = { type: "string", pattern: "^[\\w-]+$" };

export const user = { id: string, email: string, role: enumOf(ROLES), createdAt: time, verified: optional(boolean) };

const session = {
  id: string,
  createdAt: time,
  lastUsedAt: time,
  expiresAt: time,
  address: orNull(string),
  userAgent: orNull(string),
};

const key = {
  id: string,
  name: string,
  scopes: arrayOf(string),
  createdAt: time,
  expiresAt: orNull(time),
  lastUsedAt: orNull(time),
};

const credential = {
  id: base64url,
  rawId: base64url,
  type: constant("public-key"),
  clientExtensionResults: freeObject,
};

const descriptors = arrayOf(
  objectOf<PasskeyRequest["allowCredentials"][number]>({
    type: constant("public-key"),
    id: base64url,
    transports: arrayOf(string),
  }),
);

const signIns: { readonly [name: string]: Schema } = {
  Credentials: objectOf<Credentials>({ email, password }),
  TokenResponse: objectOf<TokenResponse>({
    accessToken: about(string, "For the header Authorization: Bearer …."),
    token: about(string, "The same as accessToken."),
    refreshToken: about(string, "Works once."),
    tokenType: constant("Bearer"),
    expiresIn: about(integer, "Seconds until the access token expires."),
    user: ref("User"),
  }),
  SecondFactorResponse: objectOf<SecondFactorResponse>({
    next: constant("second_factor"),
    attempt: string,
    methods: arrayOf(enumOf(["code", "recoveryCode", "passkey"])),
  }),
  LoginResponse: { anyOf: [ref("TokenResponse"), ref("SecondFactorResponse")] },
  VerificationRequired: objectOf<VerificationRequired>({ next: constant("verify") }),
  CodeRequested: objectOf<CodeRequested>({ attempt: string }),
  SetupStatus: objectOf<SetupStatus & Partial<SetupInvitation> & { next?: string }>({
    status: enumOf(["open", "over"]),
    expiresAt: optional(time),
    passwordMinLength: optional(integer),
    next: optional(string),
  }),
};

const factors: { readonly [name: string]: Schema } = {
  TotpSetup: objectOf<TotpSetup>({ secret: string, uri: string }),
  RecoveryCodes: objectOf<RecoveryCodes>({ recoveryCodes: arrayOf(string) }),
  Passkey: objectOf<Passkey>({
    id: string,
    name: string,
    isBackedUp: boolean,
    createdAt: time,
    lastUsedAt: orNull(time),
  }),
  UserFactors: objectOf<UserFactors>({ totp: boolean, recoveryCodes: count, passkeys: arrayOf(ref("Passkey")) }),
  PasskeyCreation: objectOf<PasskeyCreation>({
    rp: objectOf<PasskeyCreation["rp"]>({ id: string, name: string }),
    user: objectOf<PasskeyCreation["user"]>({ id: base64url, name: string, displayName: string }),
    challenge: base64url,
    pubKeyCredParams: arrayOf(
      objectOf<PasskeyCreation["pubKeyCredParams"][number]>({ type: constant("public-key"), alg: integer }),
    ),
    timeout: integer,
    excludeCredentials: descriptors,
    authenticatorSelection: objectOf<PasskeyCreation["authenticatorSelection"]>({
      residentKey: constant("required"),
      userVerification: constant("preferred"),
    }),
    attestation: constant("none"),
  }),
  PasskeyRequest: objectOf<PasskeyRequest>({
    rpId: string,
    challenge: base64url,
    timeout: integer,
    allowCredentials: descriptors,
    userVerification: enumOf(["required", "preferred"]),
  }),
  PasskeyRegistration: objectOf<PasskeyRegistration>({
    ...credential,
    response: objectOf<PasskeyRegistration["response"]>({
      clientDataJSON: base64url,
      attestationObject: base64url,
      transports: arrayOf(string),
    }),
  }),
  PasskeyAssertion: objectOf<PasskeyAssertion>({
    ...credential,
    response: objectOf<PasskeyAssertion["response"]>({
      clientDataJSON: base64url,
      authenticatorData: base64url,
      signature: base64url,
      userHandle: optional(base64url),
    }),
  }),
};

/** By name in the components of the document. */
export const accountSchemas: { readonly [name: string]: Schema } = {
  User: objectOf<User>(user),
  ...signIns,
  SessionEntry: objectOf<SessionEntry>(session),
  OwnSession: objectOf<OwnSession>({ ...session, current: about(boolean, "Whether the request is of this session.") }),
  ...factors,
  Invitation: objectOf<Invitation>({ email: string, role: enumOf(ROLES), expiresAt: time }),
  ProviderEntry: objectOf<ProviderEntry>({ name: string, title: string }),
  ProviderSetup: objectOf<ProviderSetup>({
    name: string,
    title: string,
    isConfigured: boolean,
    clientId: orNull(string),
    issuer: orNull(string),
    callback: orNull(string),
    missing: arrayOf(string),
  }),
  Link: objectOf<Link>({ name: string, email: orNull(string), createdAt: time }),
  LinkResponse: objectOf<LinkResponse>({ link: ref("Link") }),
  NewApiKey: closed(
    objectOf<NewApiKey>({
      name: { type: "string", minLength: 1, maxLength: 100 },
      scopes: { type: "array", items: string, minItems: 1, maxItems: 50 },
      expiresAt: optional(orNull(time)),
    }),
  ),
  ApiKey: objectOf<ApiKey>(key),
  CreatedApiKey: objectOf<CreatedApiKey>({ ...key, key: about(string, "The only answer that has the key.") }),
};
