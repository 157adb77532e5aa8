/** Description of the route of batches. */
import { type DescribedRoutes, json, jsonBody, parameter, ref } from "../../openapi/index.ts";

export const idempotencyKey = {
  "Idempotency-Key": parameter(
    "A random key of visible ASCII characters: the change is made once, and a repeated request gets the first answer.",
    { type: "string", minLength: 1, maxLength: 255, pattern: "^[!-~]+$" },
  ),
};

export const batchDescribed: DescribedRoutes = {
  tag: "Batches",
  routes: {
    "/api/batch": {
      POST: {
        summary: "Make many changes in one transaction",
        access: "anybody",
        headers: idempotencyKey,
        body: jsonBody(ref("Batch")),
        answers: { 200: json(ref("BatchResults")) },
        errors: [401, 403, 404, 409, 412],
      },
    },
  },
};
