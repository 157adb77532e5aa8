/** Lazy entrance to `definition.ts`: loads the validator (zod) with the first definition that is parsed. */
import type { ParsedDefinition } from "./renames.ts";

/**
 * Reads a collection definition from JSON. A service whose definitions have not changed never loads the validator, and
 * is 2 MB smaller.
 * @throws AppError `bad_request` whose message lists every problem.
 */
export async function parseDefinition(input: unknown): Promise<ParsedDefinition> {
  const definition = await import("./definition.ts");
  return definition.parseDefinition(input);
}
