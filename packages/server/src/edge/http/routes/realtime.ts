/** Route of realtime: authenticates the caller and turns the request into a WebSocket. */
import { AppError } from "../../../base/kernel/index.ts";
import type { Realtime, SocketConnection } from "../../../live/realtime/index.ts";
import type { Exchange } from "../exchange.ts";
import type { Cors } from "../headers.ts";
import type { Routes } from "../router.ts";

/** Turns a request into a socket; false for a request that does not ask for a socket as in RFC 6455. */
export type Upgrade = (exchange: Exchange, connection: SocketConnection) => boolean;

/** `/api/realtime` (spec, "Realtime"). A browser cannot set headers of a socket, so the token may be in the query. */
export function realtimeRoutes(options: { realtime: Realtime; cors: Cors; upgrade: Upgrade }): Routes {
  return {
    "/api/realtime": {
      async GET(exchange) {
        if (!options.cors.allowsSocket(exchange.request))
          throw new AppError("forbidden", "Pages of this origin may not open a socket here (cors.origins).");
        const inQuery = exchange.query("token");
        const token = inQuery === null || inQuery === "" ? exchange.token() : inQuery;
        const connection = await options.realtime.admit(token, exchange.address);
        if (options.upgrade(exchange, connection)) return undefined;
        const error = new AppError("bad_request", "This is a WebSocket endpoint: connect with a WebSocket.");
        return exchange.error(error, {
          status: 426,
          headers: { Connection: "Upgrade", Upgrade: "websocket", "Sec-WebSocket-Version": "13" },
        });
      },
    },
  };
}
