/** `socle health`: asks a service whether the service is ready, for a container or a script without `curl`. */
import { isSecure, loadConfig } from "../../base/config/index.ts";
import { isObject, messageOf } from "../../base/kernel/index.ts";
import { type Command, type CommandInvocation, textOption, UsageError } from "../command.ts";
import { isLoopback, parseUrl } from "../remote.ts";

/** The longest that a question may take; that of the service takes two seconds at most. */
const withinMs = 5_000;
const proxyVariables = ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"];

export const health: Command = {
  name: "health",
  args: ["[URL]"],
  summary: "Check whether a service is ready; exit code 1 when the service is not",
  async run(invocation) {
    const { args, terminal } = invocation;
    const [address] = args;
    const url = parseUrl(address ?? (await ownAddress(invocation)));
    const isOwn = address === undefined || isLoopback(url);
    // A proxy is for other machines.
    if (isOwn) for (const name of proxyVariables) terminal.forget(name);
    const problem = await problemOf(url, isOwn);
    if (problem === null) terminal.out("ready\n");
    else terminal.err(`socle: ${url} is not ready: ${problem}\n`);
    return problem === null ? 0 : 1;
  },
};

/** The address of this configuration's service. The log is not opened: only the answer is printed. */
async function ownAddress({ options, terminal }: CommandInvocation): Promise<string> {
  const file = textOption(options, "config") ?? null;
  const { config } = await loadConfig({ file, environment: terminal.environment });
  const { host, port } = config;
  if (port === 0) throw new UsageError("the port of the configuration is 0 (any free port); give the URL");
  const scheme = isSecure(config) ? "https" : "http";
  const name = host.replace(/^\[(.*)\]$/, "$1");
  if (name === "0.0.0.0") return `${scheme}://127.0.0.1:${port}`;
  if (name === "::") return `${scheme}://[::1]:${port}`;
  return `${scheme}://${name.includes(":") ? `[${name}]` : name}:${port}`;
}

/**
 * Why the service is not ready, in a line; null for a ready service.
 * @param isOwn whether the service is on this machine.
 */
async function problemOf(url: string, isOwn: boolean): Promise<string | null> {
  try {
    const answer = await fetch(`${url}/health/ready`, {
      signal: AbortSignal.timeout(withinMs),
      redirect: "error",
      // The certificate is for the public name of the service.
      tls: { rejectUnauthorized: !isOwn },
    });
    if (answer.ok) return null;
    const body: unknown = await answer.json().catch(() => null);
    const error = isObject(body) ? body["error"] : null;
    const message = isObject(error) ? error["message"] : null;
    return typeof message === "string" ? message.replace(/^Not ready: /, "") : `it answers ${answer.status}`;
  } catch (thrown) {
    return messageOf(thrown);
  }
}
