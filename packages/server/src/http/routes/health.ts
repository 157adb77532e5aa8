import type { Health } from "@socle/protocol";
import type { Route } from "../router.ts";
import type { StaticFiles } from "../static-files.ts";

/** `GET /` and `GET /health` (spec, "Health"). With a folder of static files, `/` is its `index.html` if it has one. */
export function healthRoutes(options: { version: string; files: StaticFiles | null }): Route[] {
  const body: Health = { status: "ok", version: options.version };
  const { files } = options;
  return [
    {
      path: "/",
      methods: {
        async GET(exchange) {
          const isPage = files !== null && (await files.find("/")) !== null;
          return isPage ? files.answer(exchange, "/") : exchange.json(200, body);
        },
      },
    },
    { path: "/health", methods: { GET: (exchange) => exchange.json(200, body) } },
  ];
}
