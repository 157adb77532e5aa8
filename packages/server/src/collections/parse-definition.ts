/** Lazy entrance to `definition.ts`: loads the validator (zod) with the first definition that is parsed. */
import type { ParsedDefinition } from "./definition.ts";

/**
 * Reads a collection definition from JSON. What checks it (zod among it) is loaded with the first one: a service whose
 * definitions have not changed does without, and is 2 MB smaller.
 * @throws AppError `bad_request` whose message lists everything that is wrong.
 */
export async function parseDefinition(input: unknown): Promise<ParsedDefinition> {
  const definition = await import("./definition.ts");
  return definition.parseDefinition(input);
}
