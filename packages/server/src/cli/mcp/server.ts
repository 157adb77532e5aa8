/** The MCP server of `socle mcp`: the tools over standard input and output, until the client closes the input. */
import { McpServer } from "@modelcontextprotocol/server";
import { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio";
import { ToolError, type ToolService } from "./service.ts";
import { instructions, reads, type Tool, writes } from "./tools.ts";

interface ServerOptions {
  readonly service: ToolService;
  readonly version: string;
  /** Whether the tools that change records are there. */
  readonly canWrite: boolean;
}

/** Tells the end of the connection. */
class EndingTransport extends StdioServerTransport {
  readonly #ended = Promise.withResolvers<void>();
  readonly ended: Promise<void> = this.#ended.promise;

  override async close(): Promise<void> {
    await super.close();
    this.#ended.resolve();
  }
}

function register(server: McpServer, tool: Tool, service: ToolService): void {
  const { name, title, description, input, kind } = tool;
  const annotations = {
    readOnlyHint: kind === "read",
    destructiveHint: kind === "change" || kind === "delete",
    idempotentHint: kind === "read",
    openWorldHint: false,
  };
  server.registerTool(name, { title, description, inputSchema: input, annotations }, async (given) => {
    try {
      return { content: [{ type: "text", text: await tool.run(service, given) }] };
    } catch (thrown) {
      if (!(thrown instanceof ToolError)) throw thrown;
      return { content: [{ type: "text", text: thrown.message }], isError: true };
    }
  });
}

/** Serves until the client closes standard input. */
export async function serveTools({ service, version, canWrite }: ServerOptions): Promise<void> {
  const transport = new EndingTransport();
  const handle = serveStdio(
    () => {
      const server = new McpServer({ name: "socle", version }, { instructions });
      for (const tool of canWrite ? [...reads, ...writes] : reads) register(server, tool, service);
      return server;
    },
    { transport },
  );
  await transport.ended;
  await handle.close();
}
