/** Schemas of errors: one for each status, with the codes that the status has. */
import type { ErrorCode } from "@socle/protocol";
import { arrayOf, ref, type Schema, string } from "./schema.ts";

const meanings: { readonly [status: number]: string } = {
  400: "A value or the request is not valid; details names each problem of a value.",
  401: "A token is needed, or the token is not valid.",
  403: "The caller may not do this.",
  404: "No such path, collection, record or other object.",
  405: "The path has another method only.",
  409: "The request contradicts the present state.",
  412: "The version is another than the request names.",
  413: "The body is too large.",
  415: "The body is compressed.",
  416: "The range is outside of the content.",
  426: "The route needs a WebSocket.",
  429: "Too many requests; Retry-After has the seconds.",
  500: "A defect; the log has the error under the id of the request.",
  502: "The process of the endpoint has ended.",
  503: "Not possible at this moment; Retry-After has the seconds.",
  504: "The endpoint did not answer in time.",
};

/** The codes of each status. */
export type StatusCodes = ReadonlyMap<number, readonly ErrorCode[]>;

export function errorName(status: number): string {
  return `Error${status}`;
}

/** The schemas of all errors, by name in the components. */
export function errorSchemas(codes: StatusCodes): { readonly [name: string]: Schema } {
  return Object.fromEntries(
    [...codes].map(([status, names]) => [
      errorName(status),
      {
        description: meaningOf(status),
        type: "object",
        properties: {
          error: {
            type: "object",
            properties: {
              code: { type: "string", enum: [...names] },
              message: string,
              details: arrayOf(ref("ErrorDetail")),
            },
            required: ["code", "message"],
          },
        },
        required: ["error"],
      },
    ]),
  );
}

/** The answers with errors, by name in the components. */
export function errorAnswers(codes: StatusCodes): { readonly [name: string]: object } {
  return Object.fromEntries(
    [...codes.keys()].map((status) => [
      errorName(status),
      {
        description: meaningOf(status),
        ...((status === 429 || status === 503) && {
          headers: { "Retry-After": { description: "Seconds.", schema: { type: "integer" } } },
        }),
        content: { "application/json": { schema: ref(errorName(status)) } },
      },
    ]),
  );
}

/** @throws Error for a status without a meaning: a defect. */
function meaningOf(status: number): string {
  const meaning = meanings[status];
  if (meaning === undefined) throw new Error(`The status ${status} has no meaning in the document`);
  return meaning;
}
