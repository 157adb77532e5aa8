/** The log's format alone, for messages when the rest of the configuration cannot be used. */
import { resolve } from "node:path";
import { isObject, readJsonFile } from "../kernel/index.ts";
import type { LogFormat } from "../logging/index.ts";
import { environmentName, keys } from "./keys.ts";
import type { LoadOptions } from "./load.ts";

/**
 * The format that the environment names; otherwise the format of a file that can be read; otherwise text. A value that
 * is not allowed counts as not given: the loader of the configuration reports the value.
 */
export async function logFormatOf({
  file,
  environment,
}: Pick<LoadOptions, "file" | "environment">): Promise<LogFormat> {
  const { kind } = keys["log.format"];
  const variable = environment[environmentName("log.format")] ?? "";
  return kind.parse(kind.fromText(variable)) ?? kind.parse(await formatIn(resolve(file ?? "config.json"))) ?? "text";
}

async function formatIn(file: string): Promise<unknown> {
  const content = await readJsonFile(file).catch(() => null);
  if (!isObject(content)) return undefined;
  return isObject(content["log"]) ? content["log"]["format"] : content["log.format"];
}
