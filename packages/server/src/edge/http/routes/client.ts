/** The client of this version: `/_/client.js`, the types, the worker that the tabs of a browser share, and the source maps. */
import { clientBuild } from "../client-build.ts";
import { EmbeddedFiles } from "../dashboard.ts";
import type { Exchange } from "../exchange.ts";
import type { Routes } from "../route.ts";

/** No routes for a program that runs from source. */
export function clientRoutes(): Routes {
  if (clientBuild === null) return {};
  const files = new EmbeddedFiles(clientBuild);
  return Object.fromEntries(
    Object.keys(clientBuild.files).map((name) => [
      `/_/${name}`,
      {
        GET: (exchange: Exchange) =>
          files.answer(exchange, `/${name}`, { "Cross-Origin-Resource-Policy": "cross-origin" }),
      },
    ]),
  );
}
