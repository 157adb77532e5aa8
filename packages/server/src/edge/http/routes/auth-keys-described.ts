/** Descriptions of the routes of the user's API keys. */
import { type DescribedRoutes, json, jsonBody, listOf, noContent, ref } from "../../openapi/index.ts";

export const keysDescribed: DescribedRoutes = {
  tag: "API keys",
  routes: {
    "/api/auth/keys": {
      GET: { summary: "The own API keys", access: "user", answers: { 200: json(listOf(ref("ApiKey"))) } },
      POST: {
        summary: "Make an API key",
        access: "user",
        body: jsonBody(ref("NewApiKey")),
        answers: { 201: json(ref("CreatedApiKey")) },
        errors: [409],
      },
    },
    "/api/auth/keys/:id": {
      DELETE: { summary: "Delete an API key", access: "user", answers: { 204: noContent() } },
    },
  },
};
