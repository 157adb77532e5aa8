/** The values of `auth.providers` and `auth.redirects`: services at which users sign in, and the addresses of apps that get the outcome. */
import { isObject, nearest, oneOf, quote, Secret, SetupError } from "../kernel/index.ts";
import { filledText, jsonFromText, listFromText, type ValueKind } from "./values.ts";

/** Providers that the service knows; a provider with another name is found by its `issuer` (OpenID Connect Discovery 1.0). */
export const PROVIDER_PRESETS = ["google", "github", "apple", "microsoft", "gitlab", "discord", "facebook"] as const;
export type ProviderPreset = (typeof PROVIDER_PRESETS)[number];

/** A provider as configured. The settings that a provider needs are present. */
export interface ProviderSettings {
  readonly name: string;
  readonly clientId: string;
  /** Empty for `apple`, which has a key instead. */
  readonly clientSecret: Secret;
  /** The address of the provider; null for the address of the preset. */
  readonly issuer: string | null;
  /** The name for people; null for the title of the preset, or the name. */
  readonly title: string | null;
  /** Null for the scopes of the preset, or `openid email`. */
  readonly scopes: readonly string[] | null;
  /** Whether an email of the provider counts as proven: always, never, or (null) if the provider says so. */
  readonly trustEmail: boolean | null;
  /** Whether the provider has a callback address of its own: `/api/auth/oauth/callback/{name}`. */
  readonly ownCallback: boolean;
  /** Microsoft: the directory whose users may sign in; null for all users. */
  readonly tenant: string | null;
  /** Apple: the key that signs the secrets of the client. */
  readonly appleKey: { readonly teamId: string; readonly keyId: string; readonly privateKey: Secret } | null;
}

const maxProviders = 32;
const maxRedirects = 100;
const namePattern = /^[a-z][a-z0-9-]{0,31}$/;
/** The names of paths below `/api/auth/oauth/`. */
const takenNames = ["callback", "token"];
const common = ["clientId", "clientSecret", "issuer", "title", "scopes", "trustEmail", "ownCallback"];
const appleSettings = ["teamId", "keyId", "privateKey"];

function settingNames(name: string): string[] {
  if (name === "apple") return [...common.filter((setting) => setting !== "clientSecret"), ...appleSettings];
  return name === "microsoft" ? [...common, "tenant"] : common;
}

/** The settings that a preset needs. */
export function neededSettings(preset: ProviderPreset): readonly string[] {
  return preset === "apple" ? ["clientId", ...appleSettings] : ["clientId", "clientSecret"];
}

/** Whether requests to an address stay on this machine. */
export function isLoopback({ hostname }: URL): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127(?:\.\d+){3}$/.test(hostname);
}

/** The address of an issuer: HTTPS, or HTTP on this machine. */
function issuerOf(text: string): string | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  const isSafe = url?.protocol === "https:" || (url?.protocol === "http:" && isLoopback(url));
  const isPlain = url?.username === "" && url.password === "" && !/[?#\s\\]/.test(text);
  return isSafe && isPlain ? text : null;
}

/** Reads the settings of a provider. Each error names the key. */
class SettingReader {
  readonly #name: string;
  readonly #entry: Record<string, unknown>;

  constructor(name: string, entry: Record<string, unknown>) {
    this.#name = name;
    this.#entry = entry;
  }

  refuse(setting: string, problem: string): never {
    throw new SetupError(`.${this.#name}.${setting} ${problem}`);
  }

  /** @param missing the problem of a provider without the setting; null for a setting that may be missing. */
  text(setting: string, missing: string | null = null): string | null {
    const value = this.#entry[setting] ?? null;
    const text = filledText(value);
    if (value !== null && text === undefined) this.refuse(setting, "is not valid; allowed: a text that is not empty");
    if (text === undefined && missing !== null) this.refuse(setting, `is missing: ${missing}`);
    return text ?? null;
  }

  flag(setting: string): boolean | null {
    const value = this.#entry[setting] ?? null;
    if (value !== null && typeof value !== "boolean") this.refuse(setting, "is not valid; allowed: true or false");
    return value;
  }

  scopes(): readonly string[] | null {
    const value = this.#entry["scopes"] ?? null;
    if (value === null) return null;
    const scopes = Array.isArray(value) ? value.map(filledText) : [];
    // The characters of a scope (RFC 6749, 3.3).
    const names = scopes.filter((scope) => scope !== undefined && /^[!#-[\]-~]+$/.test(scope));
    if (names.length === 0 || names.length !== scopes.length)
      this.refuse("scopes", 'is not valid; allowed: a list of scopes such as ["openid", "email"]');
    return names.filter((scope) => scope !== undefined);
  }
}

/** @throws SetupError that begins with the key, below `auth.providers`. */
function providerOf(name: string, entry: unknown): ProviderSettings {
  if (!namePattern.test(name) || takenNames.includes(name))
    throw new SetupError(
      `: ${quote(name)} is not a name of a provider; allowed: a-z, 0-9 and -, at most 32 characters, not ${oneOf(takenNames)}`,
    );
  const names = settingNames(name);
  if (!isObject(entry)) throw new SetupError(`.${name} is not valid; allowed: an object with ${names.join(", ")}`);
  const unknown = Object.keys(entry).find((setting) => !names.includes(setting));
  if (unknown !== undefined) {
    const near = nearest(unknown, names);
    const hint = near === null ? `allowed: ${oneOf(names)}` : `did you mean ${near}?`;
    throw new SetupError(`.${name}.${unknown} is unknown; ${hint}`);
  }
  const settings = new SettingReader(name, entry);
  const isPreset = PROVIDER_PRESETS.some((preset) => preset === name);
  const isApple = name === "apple";
  const clientId = settings.text("clientId", "the id that the provider gave this client") ?? "";
  const clientSecret = isApple ? null : settings.text("clientSecret", "the secret that the provider gave this client");
  const noIssuer = `the address of the provider, because no preset has this name (presets: ${PROVIDER_PRESETS.join(", ")})`;
  const issuer = settings.text("issuer", isPreset ? null : noIssuer);
  if (issuer !== null && issuerOf(issuer) === null)
    settings.refuse(
      "issuer",
      `is not valid: ${quote(issuer)}; allowed: an address such as https://id.example.com, without ? and #`,
    );
  const [trustEmail, tenant] = [settings.flag("trustEmail"), settings.text("tenant")];
  if (tenant !== null && !/^[\w.-]+$/.test(tenant))
    settings.refuse("tenant", `is not valid: ${quote(tenant)}; allowed: the id or the domain of a directory`);
  if (
    name === "microsoft" &&
    trustEmail === true &&
    ["common", "organizations", null].includes(tenant) &&
    issuer === null
  )
    settings.refuse("trustEmail", "needs tenant: the admins of any directory can give their users any email");
  return {
    name,
    clientId,
    clientSecret: new Secret(clientSecret ?? ""),
    issuer,
    title: settings.text("title"),
    scopes: settings.scopes(),
    trustEmail,
    ownCallback: settings.flag("ownCallback") ?? false,
    tenant,
    appleKey: isApple ? appleKeyOf(settings) : null,
  };
}

function appleKeyOf(settings: SettingReader): ProviderSettings["appleKey"] {
  const teamId = settings.text("teamId", "the id of the team at Apple") ?? "";
  const keyId = settings.text("keyId", "the id of the key at Apple") ?? "";
  const privateKey = settings.text("privateKey", "the content of the key's .p8 file") ?? "";
  if (!/^-----BEGIN PRIVATE KEY-----\s[\s\S]+-----END PRIVATE KEY-----\s*$/.test(privateKey))
    settings.refuse("privateKey", "is not valid; allowed: the content of a .p8 file, with -----BEGIN PRIVATE KEY-----");
  return { teamId, keyId, privateKey: new Secret(privateKey) };
}

export const authProviders: ValueKind<readonly ProviderSettings[]> = {
  parse(value) {
    if (!isObject(value) || Object.keys(value).length > maxProviders) return undefined;
    return Object.entries(value).map(([name, entry]) => providerOf(name, entry));
  },
  fromText: jsonFromText,
  isSecret: true,
  allowed: `an object of at most ${maxProviders} providers, such as { "google": { "clientId": "…", "clientSecret": "…" }, "my-oidc": { "issuer": "https://…", "clientId": "…", "clientSecret": "…" } } (in the environment: JSON)`,
};

/** Schemes that run or show content of the address itself. */
const unsafeSchemes = ["javascript:", "data:", "vbscript:", "file:", "blob:", "about:", "filesystem:"];

/** Addresses of apps: an origin with or without a path, or a scheme with or without a path. */
export const appAddresses: ValueKind<readonly string[]> = {
  parse(value) {
    if (!Array.isArray(value) || value.length > maxRedirects) return undefined;
    for (const [i, item] of value.entries()) {
      const url = typeof item === "string" && !/[\s\\*?#]/.test(item) && URL.canParse(item) ? new URL(item) : null;
      if (url === null || url.username !== "" || url.password !== "" || unsafeSchemes.includes(url.protocol))
        throw new SetupError(
          `[${i}]: ${quote(item)} is not valid; allowed: an address such as https://app.example.com/signed-in or my-app://signed-in, without *, ? and #`,
        );
    }
    return value;
  },
  fromText: listFromText,
  allowed: `a list of at most ${maxRedirects} addresses (in the environment: separated by commas)`,
};
