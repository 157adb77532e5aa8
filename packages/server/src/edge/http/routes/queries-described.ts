/** Description of the route of server queries. */
import { type DescribedRoutes, json, noContent, parameter } from "../../openapi/index.ts";

export const queriesDescribed: DescribedRoutes = {
  tag: "Server queries",
  routes: {
    "/api/query/:name": {
      GET: {
        summary: "The value of a server query of the project",
        access: "anybody",
        query: { args: parameter("The arguments of the query: a JSON object.") },
        answers: {
          200: json({}, "The value.", ["ETag"]),
          304: noContent("The value is the value that the client has."),
        },
        errors: [401, 403, 404, 502, 503, 504],
      },
    },
  },
};
