/** Description of the route of realtime. */
import { type DescribedRoutes, noContent, parameter } from "../../openapi/index.ts";

export const realtimeDescribed: DescribedRoutes = {
  tag: "Realtime",
  routes: {
    "/api/realtime": {
      GET: {
        summary: "Open a WebSocket for events",
        description:
          'A WebSocket (RFC 6455). Frames of the client are JSON: { "action": "subscribe", "channel": "posts.*" }. The service answers with frames of the types subscribed, unsubscribed, pong, event and error.',
        access: "anybody",
        query: { token: parameter("An access token or an API key, because a browser cannot set headers of a socket.") },
        answers: { 101: noContent("The socket is open.") },
        errors: [401, 403, 426],
      },
    },
  },
};
