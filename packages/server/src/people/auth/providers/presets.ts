/** Presets of providers: addresses, scopes, and the way to the identity of a person, for each provider that the service knows. */
import type { ProviderPreset, ProviderSettings } from "../../../base/config/index.ts";
import { AppError, isObject, quote } from "../../../base/kernel/index.ts";

/** A person as a provider tells. Issuer and subject together never stand for another person. */
export interface ProviderIdentity {
  readonly issuer: string;
  readonly subject: string;
  /** As the provider writes the email; null for no email. */
  readonly email: string | null;
  /** Whether the provider says that the email is the person's. */
  readonly isVerified: boolean;
}

/** Facts of a person, as an ID token or an API of the provider has the facts. */
export type Claims = Readonly<Record<string, unknown>>;

/** Addresses of a provider that has no discovery. */
interface ProviderAddresses {
  readonly authorization_endpoint: string;
  readonly token_endpoint: string;
  readonly jwks_uri?: string;
}

/** Reads a resource of the provider with the person's access token. @throws AppError. */
type Resource = (address: string) => Promise<unknown>;

export interface Preset {
  readonly title: string;
  /** The address of the provider, without a slash at the end. */
  readonly issuer: (settings: ProviderSettings) => string;
  readonly scopes: readonly string[];
  /** Parameters of the authorization request beside the usual parameters. */
  readonly parameters?: Readonly<Record<string, string>>;
  /** The addresses below an issuer; absent for a provider with discovery. */
  readonly endpoints?: (issuer: string) => ProviderAddresses;
  /** The identity by the claims of an ID token, for a provider of OpenID Connect. */
  readonly ofClaims?: (claims: Claims, issuer: string) => ProviderIdentity;
  /** The identity by an API of the provider, for a provider of OAuth 2.0 alone. */
  readonly ofResource?: (resource: Resource, issuer: string) => Promise<ProviderIdentity>;
}

/** The provider's answer has not the form that the preset expects. */
export function oddAnswer(reason: string): AppError {
  return new AppError("unauthorized", "The answer of the provider was not accepted.", { cause: new Error(reason) });
}

function textOf(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

/** The email of a person; null without an email. @throws AppError for an email that is no text. */
function emailOf(object: unknown): string | null {
  const email = isObject(object) ? (object["email"] ?? "") : "";
  if (typeof email !== "string") throw oddAnswer(`the email of the person is ${quote(email)}, which is no text`);
  return textOf(email);
}

/** Some providers write a truth value as a text. */
function isTrue(value: unknown): boolean {
  return value === true || value === "true";
}

/** An id of a provider: a text or a whole number. */
function idOf(object: unknown): string {
  const id = isObject(object) ? object["id"] : null;
  if (typeof id === "number" && Number.isSafeInteger(id)) return String(id);
  if (typeof id === "string" && id !== "") return id;
  throw oddAnswer("the user of the provider has no id");
}

/** The identity of OpenID Connect Core 1.0, 5.1. */
export function standardIdentity(claims: Claims, issuer: string): ProviderIdentity {
  const subject = textOf(claims["sub"]);
  if (subject === null) throw oddAnswer("the ID token has no sub");
  const email = emailOf(claims);
  return { issuer, subject, email, isVerified: email !== null && isTrue(claims["email_verified"]) };
}

/**
 * The identity at Microsoft: `sub` differs between clients, so directory (`tid`) and user (`oid`) are the subject. Admins of a
 * directory may give a user any email; only `xms_edov` says that the directory owns the email's domain.
 */
function microsoftIdentity(claims: Claims): ProviderIdentity {
  const [issuer, tid, oid] = ["iss", "tid", "oid"].map((name) => textOf(claims[name]));
  if (!issuer || !tid || !oid) throw oddAnswer("the ID token has no iss, tid or oid");
  const email = emailOf(claims);
  const isOwned = isTrue(claims["xms_edov"]) || claims["xms_edov"] === 1 || claims["xms_edov"] === "1";
  return { issuer, subject: `${tid}.${oid}`, email, isVerified: email !== null && isOwned };
}

/** The identity at GitHub: the primary email counts only if GitHub has verified the email. */
async function githubIdentity(resource: Resource, issuer: string): Promise<ProviderIdentity> {
  const api = issuer === "https://github.com" ? "https://api.github.com" : `${issuer}/api/v3`;
  const subject = idOf(await resource(`${api}/user`));
  const emails = await resource(`${api}/user/emails`);
  if (!Array.isArray(emails)) throw oddAnswer("GitHub answered no list of emails");
  const primary = emails.filter(isObject).find((each) => each["primary"] === true && each["verified"] === true);
  const email = emailOf(primary);
  return { issuer, subject, email, isVerified: email !== null };
}

async function discordIdentity(resource: Resource, issuer: string): Promise<ProviderIdentity> {
  const user = await resource(`${issuer}/api/users/@me`);
  const [email, isVerified] = [emailOf(user), isObject(user) && user["verified"] === true];
  return { issuer, subject: idOf(user), email, isVerified: email !== null && isVerified };
}

const facebook = "https://www.facebook.com";

/** The host of Facebook's API; another issuer has the API at the same host. */
function graphOf(issuer: string): string {
  return issuer === facebook ? "https://graph.facebook.com" : issuer;
}

/** The identity at Facebook, which does not promise that the email is the person's. */
async function facebookIdentity(resource: Resource, issuer: string): Promise<ProviderIdentity> {
  const user = await resource(`${graphOf(issuer)}/me?fields=id,email`);
  return { issuer, subject: idOf(user), email: emailOf(user), isVerified: false };
}

const openid = ["openid", "email"];

const presets: { readonly [name in ProviderPreset]: Preset } = {
  google: { title: "Google", issuer: () => "https://accounts.google.com", scopes: openid },
  github: {
    title: "GitHub",
    issuer: () => "https://github.com",
    scopes: ["read:user", "user:email"],
    endpoints: (issuer) => ({
      authorization_endpoint: `${issuer}/login/oauth/authorize`,
      token_endpoint: `${issuer}/login/oauth/access_token`,
    }),
    ofResource: githubIdentity,
  },
  apple: {
    title: "Apple",
    issuer: () => "https://appleid.apple.com",
    scopes: openid,
    // Apple refuses another mode with the scope `email`.
    parameters: { response_mode: "form_post" },
    endpoints: (issuer) => ({
      authorization_endpoint: `${issuer}/auth/authorize`,
      token_endpoint: `${issuer}/auth/token`,
      jwks_uri: `${issuer}/auth/keys`,
    }),
  },
  microsoft: {
    title: "Microsoft",
    issuer: ({ tenant }) => `https://login.microsoftonline.com/${tenant ?? "common"}/v2.0`,
    scopes: openid,
    ofClaims: microsoftIdentity,
  },
  gitlab: { title: "GitLab", issuer: () => "https://gitlab.com", scopes: openid },
  discord: {
    title: "Discord",
    issuer: () => "https://discord.com",
    scopes: ["identify", "email"],
    endpoints: (issuer) => ({
      authorization_endpoint: `${issuer}/oauth2/authorize`,
      token_endpoint: `${issuer}/api/oauth2/token`,
    }),
    ofResource: discordIdentity,
  },
  facebook: {
    title: "Facebook",
    issuer: () => facebook,
    scopes: ["public_profile", "email"],
    endpoints: (issuer) => ({
      authorization_endpoint: `${issuer}/dialog/oauth`,
      token_endpoint: `${graphOf(issuer)}/oauth/access_token`,
    }),
    ofResource: facebookIdentity,
  },
};

/**
 * The issuer at which a provider gives each person the id that other services keep, too; null for an unknown provider, and for
 * Microsoft, whose ids other services keep without the directory.
 */
export function issuerOf(name: string): string | null {
  return name === "microsoft" ? null : (presetOf(name)?.issuer({} as ProviderSettings) ?? null);
}

/** The preset of a name; null for a provider that the service does not know. */
export function presetOf(name: string): Preset | null {
  return Object.entries(presets).find(([preset]) => preset === name)?.[1] ?? null;
}
