/** `socle openapi`: prints the OpenAPI document of the project, or of a running service. */
import { readDefinitions, readEndpoints, version } from "../../app/index.ts";
import { printable } from "../../base/kernel/index.ts";
import { projectDocument } from "../../edge/http/index.ts";
import { type Command, textOption } from "../command.ts";
import { keyRemote } from "../remote.ts";

export const openApi: Command = {
  name: "openapi",
  summary: "Print the OpenAPI document of this project, or with --url of a running service",
  options: {
    url: {
      value: "URL",
      summary: "a running service; SOCLE_KEY is an API key for the scope admin, if the service needs a key",
    },
  },
  async run({ options, terminal, load }) {
    const url = textOption(options, "url");
    if (url !== undefined) {
      const { body } = await keyRemote(url, terminal.environment["SOCLE_KEY"])("GET", "/api/openapi.json");
      terminal.out(`${JSON.stringify(body, null, 2)}\n`);
      return 0;
    }
    const { config, logger } = await load();
    const definitions = await readDefinitions(config, logger);
    const { endpoints, problems } = await readEndpoints({ config, logger, environment: terminal.environment });
    for (const { path, message } of problems) terminal.err(`${path} does not load: ${printable(message)}\n`);
    const document = await projectDocument({ definitions, endpoints, version, url: config.publicUrl });
    terminal.out(`${JSON.stringify(document, null, 2)}\n`);
    return problems.length > 0 ? 1 : 0;
  },
};
