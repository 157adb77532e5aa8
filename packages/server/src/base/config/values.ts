/** Kinds of values of the configuration: how each kind is written, checked, and used. */
import { isObject, type Rate, Secret } from "../kernel/index.ts";

/** How the value of a key is written, in the file and in the environment. */
export interface ValueKind<T> {
  /**
   * The value as the service uses the value, from the value in the file; undefined for a value that is not allowed.
   * @throws SetupError that begins with the place inside the value, for a list with a wrong entry.
   */
  parse(value: unknown): T | undefined;
  /** Turns the text of an environment variable into the value that the file would have. By default, that is the text. */
  fromText?(text: string): unknown;
  /** The allowed values, as named in an error message. */
  readonly allowed: string;
  /** The unit in which the service counts; absent for values that are no amount. */
  readonly unit?: "bytes" | "milliseconds";
  /** Whether the value is a secret or has secrets: no message and no answer shows the value. */
  readonly isSecret?: true;
}

function numberFromText(text: string): unknown {
  return /^-?\d+(\.\d+)?$/.test(text.trim()) ? Number(text) : text;
}

function wholeFrom(value: unknown, min: number, max: number): number | undefined {
  return typeof value === "number" && Number.isInteger(value) && value >= min && value <= max ? value : undefined;
}

/** Text as JSON; text that is no JSON stays text, which no structured kind allows. */
export function jsonFromText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

export function filledText(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

export function wholeNumber(min: number, max: number): ValueKind<number> {
  return {
    parse: (value) => wholeFrom(value, min, max),
    fromText: numberFromText,
    allowed: `a whole number from ${min} to ${max}`,
  };
}

/** A number of processes; "auto" follows the machine. */
export const processCount: ValueKind<number | "auto"> = {
  parse: (value) => (value === "auto" ? value : wholeFrom(value, 1, 64)),
  fromText: (word) => (word.trim().toLowerCase() === "auto" ? "auto" : numberFromText(word)),
  allowed: 'a whole number from 1 to 64, or "auto" for one for each processor core, 8 at most',
};

const yes = ["true", "1", "yes", "on"];
const no = ["false", "0", "no", "off"];

export const boolean: ValueKind<boolean> = {
  parse: (value) => (typeof value === "boolean" ? value : undefined),
  fromText(text) {
    const word = text.trim().toLowerCase();
    return yes.includes(word) || (no.includes(word) ? false : text);
  },
  allowed: "true or false (in the environment also 1, 0, yes, no, on, off)",
};

export const text: ValueKind<string> = { parse: filledText, allowed: "a text that is not empty" };

/** The path that the paths of endpoints begin with: the usual path, or a path that the service does not use. */
export const pathPrefix: ValueKind<string> = {
  parse(value) {
    const isFree = typeof value === "string" && /^(?:\/(?!\.{1,2}(?:\/|$))[\w.~-]+)+$/.test(value);
    const isOwn = isFree && !/^\/(?:api|_)(?:\/|$)/.test(value);
    return isOwn || value === "/" || value === "/api/function" ? String(value) : undefined;
  },
  allowed:
    "/api/function, /, or a path such as /app outside /api and /_ (letters, digits and . _ ~ -, no slash at the end)",
};

/** A folder, or a bucket with an optional prefix. */
export const storagePlace: ValueKind<string> = {
  parse(value) {
    const place = filledText(value);
    const isGood = place?.startsWith("s3:") !== true || /^s3:\/\/[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](\/.*)?$/.test(place);
    return isGood ? place : undefined;
  },
  allowed:
    "a folder, or s3://BUCKET or s3://BUCKET/PREFIX (a bucket's name has 3 to 63 lower-case letters, digits, dots and dashes)",
};

export const httpUrl: ValueKind<string> = {
  parse: (value) => (typeof value === "string" && /^https?:\/\/[^\s/]/.test(value) ? value : undefined),
  allowed: "an address such as https://s3.example.com",
};

/** An address that may hold a secret in the path or in the query. */
export const webhookAddress: ValueKind<Secret> = {
  parse(value) {
    const url = urlOf(value);
    const isGood = url !== null && /^https?:$/.test(url.protocol) && `${url.username}${url.password}${url.hash}` === "";
    return isGood ? new Secret(url.href) : undefined;
  },
  allowed: "an address such as https://example.com/hook, without a user",
  isSecret: true,
};

export function textOf<const T extends string>(values: readonly T[]): ValueKind<T> {
  return {
    parse: (value) => values.find((candidate) => candidate === value),
    fromText: (word) => values.find((candidate) => candidate.toLowerCase() === word.trim().toLowerCase()) ?? word,
    allowed: values.join(", "),
  };
}

export const email: ValueKind<string> = {
  parse: (value) =>
    typeof value === "string" && /^\s*[^\s@]+@[^\s@]+\s*$/.test(value) ? value.trim().toLowerCase() : undefined,
  allowed: "an email address",
};

export const secret: ValueKind<Secret> = {
  parse(value) {
    const filled = filledText(value);
    return filled === undefined ? undefined : new Secret(filled);
  },
  isSecret: true,
  allowed: "a text that is not empty",
};

function urlOf(value: unknown): URL | null {
  return typeof value === "string" ? URL.parse(value) : null;
}

/** An address of HTTP without a slash at the end, so that paths can follow. */
export const publicAddress: ValueKind<string> = {
  parse(value) {
    const url = urlOf(value);
    const isGood = url !== null && /^https?:$/.test(url.protocol) && `${url.username}${url.search}${url.hash}` === "";
    return isGood ? `${url.origin}${url.pathname.replace(/\/+$/, "")}` : undefined;
  },
  allowed: "an address such as https://example.com, without a query",
};

/** The address of a collector without a slash at the end; the path of traces, which the exporter adds, may stand at the end. */
export const collectorAddress: ValueKind<string> = {
  ...publicAddress,
  parse: (value) => publicAddress.parse(value)?.replace(/\/v1\/traces$/, ""),
  allowed: "an address such as http://localhost:4318, without a query",
};

/** Names and values of headers, kept as JSON; in the environment as in `OTEL_EXPORTER_OTLP_HEADERS`: separated by commas. */
export const headerList: ValueKind<Secret> = {
  parse(value) {
    const pairs = Object.entries(isObject(value) ? value : {});
    const isGood = pairs.every(([name, text]) => /^[\w!#$%&'*+.^`|~-]+$/.test(name) && isHeaderValue(text));
    return pairs.length > 0 && isGood ? new Secret(JSON.stringify(value)) : undefined;
  },
  fromText: (list) =>
    Object.fromEntries(
      listFromText(list).map((pair) => {
        const [, name = pair, text] = /^([^=]*?)\s*=\s*(.*)$/.exec(pair) ?? [];
        return [name, text];
      }),
    ),
  allowed:
    'an object such as { "authorization": "Bearer TOKEN" } (in the environment: authorization=Bearer TOKEN, separated by commas)',
  isSecret: true,
};

function isHeaderValue(value: unknown): boolean {
  return typeof value === "string" && /^[\x20-\x7e]+$/.test(value);
}

/**
 * An origin as a browser sends the origin (RFC 6454, 6.2): a default port goes, a domain is in its ASCII form. `*.` before
 * the host stands for all subdomains; `*` alone for every origin.
 */
function originOf(item: unknown): string | undefined {
  if (item === "*" || item === "null") return item;
  const [, scheme = "", star = "", host = ""] =
    /^([a-z][a-z0-9+.-]*:\/\/)(\*\.)?([^\s/?#@*]+)\/?$/i.exec(String(item)) ?? [];
  const url = URL.parse(`${scheme}${host}`);
  return url === null || url.host === "" ? undefined : `${url.protocol}//${star}${url.host}`.toLowerCase();
}

/** Origins of pages; in the environment the origins are separated by commas. */
export const originList: ValueKind<string[]> = {
  parse(value) {
    const origins = Array.isArray(value) ? value.map(originOf) : [undefined];
    return origins.includes(undefined) ? undefined : origins.filter((origin) => origin !== undefined);
  },
  fromText: listFromText,
  allowed:
    'a list of "*" or of origins such as "https://app.example.com", "http://localhost:5173", or "https://*.example.com" for all subdomains: scheme, host, and the port unless the port is the usual one, without a path (in the environment: separated by commas)',
};

/** The address of an SMTP server, with user and password. */
export const smtpAddress: ValueKind<Secret> = {
  parse(value) {
    const url = urlOf(value);
    const isGood = url !== null && /^smtps?:$/.test(url.protocol) && url.hostname !== "" && /^\/?$/.test(url.pathname);
    const isWhole = isGood && `${url.search}${url.hash}` === "" && !/%(?![0-9a-f]{2})/i.test(url.href);
    return isWhole ? new Secret(url.href) : undefined;
  },
  allowed: "smtps://USER:PASSWORD@HOST:PORT, or smtp:// for STARTTLS; special characters as in %40",
  isSecret: true,
};

/** An address, or a name with an address in angle brackets. */
export const mailbox: ValueKind<string> = {
  parse(value) {
    const text = typeof value === "string" ? value.trim() : "";
    const [, , address = text] = /^([^<>"\p{C}]{0,100}|"(?:[^<>"\\\p{C}]|\\["\\]){0,100}"\s*)<(.*)>$/u.exec(text) ?? [];
    return /^[^<>\s@\p{C}]+@[^<>\s@\p{C}]+$/u.test(address) ? text : undefined;
  },
  allowed:
    'an email address, or a name and an address such as "Example <hello@example.com>", also with the name in quotation marks',
};

export function listFromText(list: string): string[] {
  return list
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");
}

/** A list; in the environment the items are separated by commas. */
export const textList: ValueKind<string[]> = {
  parse(value) {
    if (!Array.isArray(value)) return undefined;
    const items = value.map(filledText);
    return items.includes(undefined) ? undefined : items.filter((item) => item !== undefined);
  },
  fromText: listFromText,
  allowed: "a list of texts (in the environment: separated by commas)",
};

/** The processes of the user's code get the names on the command line, so the number of names is bounded. */
const maxVariables = 200;
/** Variables that configure the service are not passed on. */
const variablePattern = /^(?!SERVICE_)[A-Za-z_][A-Za-z0-9_]{0,99}\??$/;

/** Names of variables of the environment; a name with `?` at the end stands for a variable that may be missing. */
export const variableNames: ValueKind<string[]> = {
  parse(value) {
    const names = textList.parse(value);
    if (names === undefined || names.length > maxVariables) return undefined;
    const isValid = names.every((name) => variablePattern.test(name));
    const different = new Set(names.map((name) => name.replace("?", "")));
    return isValid && different.size === names.length ? names : undefined;
  },
  fromText: listFromText,
  allowed: `a list of names, ${maxVariables} at most, each once, none of SERVICE_… (in the environment: separated by commas)`,
};

const durationUnits: { readonly [unit: string]: number } = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};
const durationPattern = /^(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)$/;
/** A hundred years, in milliseconds. */
const longestDuration = 3_153_600_000_000;

function millisecondsOf(value: unknown): number {
  if (typeof value === "number") return value * 1_000;
  const [, amount, unit] = durationPattern.exec(String(value).trim()) ?? [];
  return Number(amount) * (durationUnits[unit ?? ""] ?? Number.NaN);
}

/** A span of time from `min` to `max` milliseconds; the service uses milliseconds. A bare number counts seconds. */
export function duration(min: number, max: number = longestDuration): ValueKind<number> {
  const least = min > 0 ? `, at least ${min / 1_000}s` : ", or 0";
  const longest = max % 3_600_000 === 0 ? `${max / 3_600_000}h` : `${max / 1_000}s`;
  const most = max < longestDuration ? `, at most ${longest}` : "";
  return {
    parse(value) {
      const milliseconds = millisecondsOf(value);
      return milliseconds >= min && milliseconds <= max ? milliseconds : undefined;
    },
    fromText: numberFromText,
    unit: "milliseconds",
    allowed: `a time like "500ms", "90s", "15m", "1h" or "30d"${least}${most}`,
  };
}

/** The time for which moments of a continuous backup stay, when `backup.keep` is a number of backups. */
const usualKeepMs = 7 * 86_400_000;

/** How many backups are kept, or for how long; 0 keeps all. */
export const backupKeep: ValueKind<number | string> = {
  parse(value) {
    if (typeof value === "number") return wholeFrom(value, 0, 100_000);
    return millisecondsOf(value) >= 1_000 ? String(value).trim() : undefined;
  },
  fromText: numberFromText,
  allowed: 'a whole number from 0 to 100000, or a time like "7d" or "36h", at least 1s',
};

/** The meaning of `backup.keep`: the number of backups that stay, and the age of backups and moments that stay, in milliseconds. */
export function keptBackups(value: number | string): { readonly count: number; readonly ms: number } {
  if (typeof value === "string") return { count: 0, ms: millisecondsOf(value) };
  return { count: value, ms: usualKeepMs };
}

const sizeUnits: { readonly [unit: string]: number } = { kib: 1024, mib: 1024 ** 2, gib: 1024 ** 3 };
const sizePattern = /^(\d+)\s*(KiB|MiB|GiB)$/i;

function bytesOf(value: unknown): unknown {
  if (typeof value !== "string") return value;
  const [, amount, unit] = sizePattern.exec(value.trim()) ?? [];
  return Number(amount) * (sizeUnits[(unit ?? "").toLowerCase()] ?? Number.NaN);
}

/** A size; the service uses bytes. */
export function size(min: number, max: number): ValueKind<number> {
  return {
    parse: (value) => wholeFrom(bytesOf(value), min, max),
    fromText: numberFromText,
    unit: "bytes",
    allowed: `a number of bytes from ${min} to ${max}, or a text like "512KiB" or "2MiB"`,
  };
}

const ratePattern = /^(\d{1,6})\s*\/\s*(s|m|h)$/;

/** A rate like "10/s"; null for "off". The burst of a rate per second is ten seconds' worth, the burst of any other rate is the count. */
export const rate: ValueKind<Rate | null> = {
  parse(value) {
    if (value === "off" || value === 0) return null;
    const [, amount, unit] = (typeof value === "string" && ratePattern.exec(value.trim())) || [];
    const [count, perMs] = [Number(amount), durationUnits[unit ?? ""]];
    return count > 0 && perMs !== undefined ? { count, perMs } : undefined;
  },
  fromText: (word) => (word.trim().toLowerCase() === "off" ? "off" : numberFromText(word)),
  allowed: 'a rate like "10/s", "600/m" or "1000/h", or "off"',
};

/** A rate as in the configuration file: the inverse of `rate.parse`. */
export function rateText(value: unknown): string {
  if (!isObject(value)) return "off";
  const [unit] = Object.entries(durationUnits).find(([, ms]) => ms === value["perMs"]) ?? ["s"];
  return `${String(value["count"])}/${unit}`;
}

/** The address of a PostgreSQL server, with user, password and database. */
export const journalAddress: ValueKind<Secret> = {
  parse(value) {
    const url = typeof value === "string" ? URL.parse(value) : null;
    const isGood = url !== null && /^postgres(?:ql)?:$/.test(url.protocol) && url.hostname !== "" && url.hash === "";
    return isGood ? new Secret(url.href) : undefined;
  },
  allowed: "postgres://USER:PASSWORD@HOST:PORT/DATABASE; special characters as in %40",
  isSecret: true,
};

export const clusterName: ValueKind<string> = {
  parse: (value) => (typeof value === "string" && /^[a-z0-9][a-z0-9-]{0,62}$/.test(value) ? value : undefined),
  allowed: "1 to 63 lower-case letters, digits and dashes",
};

/** The shortest secret between instances, in characters. */
const leastSecret = 16;

export const clusterSecret: ValueKind<Secret> = {
  ...secret,
  parse: (value) => (typeof value === "string" && value.length >= leastSecret ? new Secret(value) : undefined),
  allowed: `a text of at least ${leastSecret} characters`,
};

export const instanceAddress: ValueKind<string> = {
  parse: (value) => (value === "auto" ? value : publicAddress.parse(value)),
  allowed: 'an address such as http://10.0.0.5:8080, or "auto" for the host and the port that this instance listens on',
};
