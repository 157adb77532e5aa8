/** Types of TypeScript from an OpenAPI document. */
import openapiTS, { astToString } from "openapi-typescript";

/** @param document JSON. @throws Error for a document that the generator does not take. */
export async function typesOf(document: string): Promise<string> {
  return astToString(await openapiTS(document, { silent: true }));
}
