/** `socle mcp`: a service for AI agents, by the Model Context Protocol on standard input and output. */
import { version } from "../../app/index.ts";
import { type Command, type CommandInvocation, textOption, UsageError } from "../command.ts";
import { parseUrl } from "../remote.ts";

/** The variable with the API key. An argument would be shown to other users of the machine. */
const variable = "SOCLE_KEY";

/** The address of `--url`, or of the service of the configuration on this machine. */
async function urlOf({ options, load }: CommandInvocation): Promise<string> {
  const given = textOption(options, "url");
  if (given !== undefined) return parseUrl(given);
  const { config } = await load();
  if (config.port === 0) throw new UsageError("missing --url URL: the configuration leaves the port open");
  const scheme = config["tls.cert"] === undefined && config["tls.acme.domains"] === undefined ? "http" : "https";
  return `${scheme}://localhost:${config.port}`;
}

export const mcp: Command = {
  name: "mcp",
  summary: `Let an AI agent read records, by the Model Context Protocol, with the API key in ${variable}`,
  options: {
    url: { value: "URL", summary: "the service (default: the service of the configuration, on this machine)" },
    write: { summary: "the agent may also create, change and delete records, as far as the key may" },
  },
  async run(invocation) {
    const { options, terminal } = invocation;
    const key = terminal.environment[variable] ?? "";
    if (!/^sk_[\w-]+$/.test(key))
      throw new UsageError(`the environment variable ${variable} must hold an API key (sk_…); see docs/keys.md`);
    const url = await urlOf(invocation);
    terminal.forget(variable);
    const [{ serveTools }, { ToolService }] = await Promise.all([
      import("../mcp/server.ts"),
      import("../mcp/service.ts"),
    ]);
    await serveTools({ service: new ToolService(url, key), version, canWrite: options["write"] === true });
    return 0;
  },
};
