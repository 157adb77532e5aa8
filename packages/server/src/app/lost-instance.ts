/** The service of an instance whose database does not follow the journal: alive for diagnosis, ready for nothing, with the reason in each answer. */
import type { Config } from "../base/config/index.ts";
import { AppError } from "../base/kernel/index.ts";
import type { Logger } from "../base/logging/index.ts";
import { pathIn } from "../edge/http/index.ts";
import { openHttps } from "./http-parts.ts";

/** Answers 503 with the reason, except for the question whether the process lives. */
export async function serveReason(
  { config, logger, version }: { config: Config; logger: Logger; version: string },
  reason: string,
): Promise<AsyncDisposable> {
  const { certificate } = await openHttps(config, logger);
  const { code, message } = new AppError("unavailable", `Not ready: ${reason}. The log has the ways on.`);
  const server = Bun.serve({
    hostname: config.host,
    port: config.port,
    ...(certificate !== null && { tls: certificate.pair }),
    fetch: ({ url }) =>
      pathIn(url) === "/health"
        ? Response.json({ status: "ok", version })
        : Response.json({ error: { code, message } }, { status: 503, headers: { "Cache-Control": "no-store" } }),
  });
  return { [Symbol.asyncDispose]: () => server.stop(true) };
}
