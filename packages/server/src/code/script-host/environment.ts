/** The environment of the user's code: the declared variables, and the project's `.env` file. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** The variables that `scripts.env` declares: `NAME`, or `NAME?` for a variable that may be missing. */
export function variablesOf(declared: readonly string[]): { name: string; isOptional: boolean }[] {
  return declared.map((text) => ({ name: text.replace(/\?$/, ""), isOptional: text.endsWith("?") }));
}

/** The variables of a file of the project; no variable without the file. @throws Error when the file cannot be read. */
export function readEnvironmentFile(
  root: string,
  name: ".env" | ".env.test",
): Readonly<Record<string, string | undefined>> {
  const file = join(root, name);
  // Loaded on demand: a service without such a file does not need the module.
  if (!existsSync(file)) return {};
  // A byte order mark is no part of the first name.
  return process.getBuiltinModule("node:util").parseEnv(readFileSync(file, "utf8").replace(/^\ufeff/, ""));
}

/** The declared variables that must be set, and are not, or to an empty text. */
export function missingVariables(
  declared: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): string[] {
  const needed = variablesOf(declared).filter(({ isOptional }) => !isOptional);
  return needed.map(({ name }) => name).filter((name) => (environment[name] ?? "") === "");
}

/** An environment without the variables of the service: the secrets are for no other process. */
export function withoutSettings(environment: { readonly [name: string]: string | undefined }): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(environment))
    if (value !== undefined && !name.startsWith("SERVICE_")) kept[name] = value;
  return kept;
}
