/** Description of the route of the OpenAPI document. */
import { type DescribedRoutes, freeObject, json, noContent } from "../../openapi/index.ts";

export const openApiDescribed: DescribedRoutes = {
  tag: "Service",
  routes: {
    "/api/openapi.json": {
      GET: {
        summary: "This document",
        description: "For admins; with openapi.public for everybody, as far as the caller may know the service.",
        access: "anybody",
        answers: {
          200: json(freeObject, "OpenAPI 3.1.", ["ETag"]),
          304: noContent("The client has the document."),
        },
        errors: [401, 403],
      },
    },
  },
};
