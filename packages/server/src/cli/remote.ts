/** Remote service of a command: a running service, on this machine or elsewhere, reached over HTTP as an admin. */
import type { Credentials, LoginResponse, TokenResponse } from "@socle/protocol";
import { AppError, isObject, messageOf } from "../base/kernel/index.ts";
import { type CommandInvocation, type Settings, type Terminal, textOption, UsageError } from "./command.ts";

/** The options of commands that talk to another service. */
export const remoteOptions = {
  token: { value: "TOKEN", summary: "an admin's access token" },
  email: { value: "EMAIL", summary: "or an admin's email; the password is asked for, or read from standard input" },
};

/**
 * Sends a request to the service.
 * @throws AppError with the refusal of the service, Error when the service cannot be reached.
 */
export type Remote = (
  method: string,
  path: string,
  request?: { body?: object; headers?: Record<string, string> },
) => Promise<{ readonly body: unknown; readonly headers: Headers }>;

/**
 * Works with the service of the first argument, signed in with a token, or as the user with an email; by default, as the
 * admin of the configuration.
 * @throws UsageError without any credentials, AppError when the service refuses, Error when the service cannot be
 * reached.
 */
export async function withRemote(
  { args: [address = ""], options, terminal, load }: CommandInvocation,
  work: (remote: Remote, settings: Settings) => Promise<number>,
): Promise<number> {
  const settings = await load();
  const { config } = settings;
  const url = parseUrl(address);
  const token = textOption(options, "token");
  if (token !== undefined && !/^[\x21-\x7e]+$/.test(token)) throw new UsageError("--token is not an access token");
  if (token !== undefined) return work(remoteAt(url, { Authorization: `Bearer ${token}` }), settings);
  const own = config["admin.email"];
  const email = textOption(options, "email") ?? own;
  if (email === undefined) throw new UsageError("missing --token TOKEN or --email EMAIL: an admin of that service");
  // The password of the configuration is for this installation alone: a wrong address must not get the password.
  const known = email === own && isLoopback(url) ? config["admin.password"]?.reveal() : undefined;
  const password = known ?? (await terminal.askSecret(`Password of ${email} at ${url}: `));
  if (password === "") throw new UsageError("no password was given");
  const accessToken = await signIn(url, { email, password }, terminal);
  const remote = remoteAt(url, { Authorization: `Bearer ${accessToken}` });
  try {
    return await work(remote, settings);
  } finally {
    await remote("POST", "/api/auth/logout").catch(() => undefined);
  }
}

/** Signs in, and asks for the second factor of a user with a second factor. Answers the access token. */
async function signIn(url: string, credentials: Credentials, terminal: Terminal): Promise<string> {
  const send = remoteAt(url, {});
  const answer = (await send("POST", "/api/auth/login", { body: credentials })).body as LoginResponse;
  if (!("next" in answer)) return answer.accessToken;
  const typed = (await terminal.askSecret("Code of the authenticator app, or a recovery code: ")).trim();
  if (typed === "") throw new UsageError("no second factor was given");
  const factor = /^[\d ]{6,7}$/.test(typed) ? { code: typed } : { recoveryCode: typed };
  const { body } = await send("POST", "/api/auth/second-factor", { body: { attempt: answer.attempt, ...factor } });
  return (body as TokenResponse).accessToken;
}

/** @throws UsageError for a malformed address. */
export function parseUrl(address: string): string {
  const url = URL.canParse(address) ? new URL(address) : null;
  if (url === null || !["http:", "https:"].includes(url.protocol))
    throw new UsageError(`"${address}" is not the address of a service, such as https://api.example.com`);
  return `${url.origin}${url.pathname.replace(/\/+$/, "")}`;
}

export function isLoopback(url: string): boolean {
  return ["localhost", "127.0.0.1", "[::1]"].includes(new URL(url).hostname);
}

/**
 * Talks to the service of an address as the holder of an API key, or without a key as anybody.
 * @throws UsageError for a malformed address or key.
 */
export function keyRemote(address: string, key: string | undefined): Remote {
  const url = parseUrl(address);
  if (key === undefined || key === "") return remoteAt(url, {});
  if (!/^[\x21-\x7e]+$/.test(key)) throw new UsageError("SOCLE_KEY is not an API key");
  return remoteAt(url, { Authorization: `Bearer ${key}` });
}

/** @param own the headers of every request. */
function remoteAt(url: string, own: Record<string, string>): Remote {
  return async (method, path, { body, headers } = {}) => {
    let response: Response;
    let text: string;
    try {
      response = await fetch(url + path, {
        method,
        headers: { ...headers, ...own, ...(body && { "Content-Type": "application/json" }) },
        ...(body && { body: JSON.stringify(body) }),
      });
      text = await response.text();
    } catch (thrown) {
      throw new Error(`${url} cannot be reached: ${messageOf(thrown)}`);
    }
    const answer = parse(text);
    if (response.ok && (answer !== null || text === "")) return { body: answer, headers: response.headers };
    const error = isObject(answer) && isObject(answer["error"]) ? answer["error"] : null;
    if (error === null) throw new Error(`${url} does not answer like a Socle service (HTTP ${response.status})`);
    throw new AppError(response.status === 409 ? "conflict" : "bad_request", String(error["message"]));
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // A proxy, or a server other than Socle, has answered.
    return null;
  }
}
