/** Route of realtime: authenticates the caller and turns the request into a WebSocket. */
import { AppError } from "../../../base/kernel/index.ts";
import type { Realtime, SocketConnection } from "../../../live/realtime/index.ts";
import type { Exchange } from "../exchange.ts";
import type { Cors } from "../headers.ts";
import { noContent, ownRoute, parameter, type Routes } from "../route.ts";

/** Turns a request into a socket; false for a request that does not ask for a socket as in RFC 6455. */
export type Upgrade = (exchange: Exchange, connection: SocketConnection) => boolean;

/** `/api/realtime` (spec, "Realtime"). A browser cannot set headers of a socket, so the token may be in the query. */
export function realtimeRoutes(api: { realtime: Realtime; cors: Cors; upgrade: Upgrade }): Routes {
  return {
    "/api/realtime": {
      GET: ownRoute({
        summary: "Open a WebSocket for events",
        description:
          'A WebSocket (RFC 6455). Frames of the client are JSON: { "action": "subscribe", "channel": "posts.*" }. The service answers with frames of the types subscribed, unsubscribed, pong, event and error.',
        access: "anybody",
        keys: true,
        query: { token: parameter("An access token or an API key, because a browser cannot set headers of a socket.") },
        answers: { 101: noContent("The socket is open.") },
        errors: [401, 403, 426],
        async handle(exchange) {
          if (!api.cors.allowsSocket(exchange.request))
            throw new AppError("forbidden", "Pages of this origin may not open a socket here (cors.origins).");
          const inQuery = exchange.query("token");
          const token = inQuery === null || inQuery === "" ? exchange.token() : inQuery;
          const connection = await api.realtime.admit(token, exchange.address);
          if (api.upgrade(exchange, connection)) return undefined;
          const error = new AppError("bad_request", "This is a WebSocket endpoint: connect with a WebSocket.");
          return exchange.error(error, {
            status: 426,
            headers: { Connection: "Upgrade", Upgrade: "websocket", "Sec-WebSocket-Version": "13" },
          });
        },
      }),
    },
  };
}
