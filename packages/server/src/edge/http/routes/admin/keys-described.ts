/** Descriptions of the admin routes of API keys. */
import { type DescribedRoutes, json, jsonBody, noContent, ref } from "../../../openapi/index.ts";
import { paging } from "./paging-described.ts";

export const adminKeysDescribed: DescribedRoutes = {
  tag: "Admin: API keys",
  routes: {
    "/api/admin/keys": {
      GET: paging("The service keys", "ApiKey"),
      POST: {
        summary: "Make a service key",
        access: "admin",
        body: jsonBody(ref("NewApiKey")),
        answers: { 201: json(ref("CreatedApiKey")) },
        errors: [409],
      },
    },
    "/api/admin/keys/:id": {
      DELETE: { summary: "Delete a service key", access: "admin", answers: { 204: noContent() } },
    },
    "/api/admin/users/:id/keys": { GET: paging("The API keys of a user", "ApiKey") },
    "/api/admin/users/:id/keys/:key": {
      DELETE: { summary: "Delete an API key of a user", access: "admin", answers: { 204: noContent() } },
    },
  },
};
