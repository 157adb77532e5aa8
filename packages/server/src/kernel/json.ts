import { readFileSync } from "node:fs";
import { messageOf, SetupError } from "./app-error.ts";

/** Whether a value is a JSON object: not null, not an array. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * Reads a file that a person writes: JSON, with comments and trailing commas allowed.
 * @throws SetupError naming the file and, for a syntax error, the line.
 */
export function readJsonFile(path: string): unknown {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (thrown) {
    throw new SetupError(`${path}: cannot be read: ${messageOf(thrown)}`);
  }
  try {
    // Most files are plain JSON, and Bun's second parser costs a megabyte of memory once it is used.
    return JSON.parse(text);
  } catch {
    return parseWithComments(path, text);
  }
}

function parseWithComments(path: string, text: string): unknown {
  try {
    return Bun.JSONC.parse(text);
  } catch (thrown) {
    const line = isObject(thrown) && typeof thrown["line"] === "number" ? ` (line ${thrown["line"]})` : "";
    throw new SetupError(`${path}: is not JSON: ${messageOf(thrown).replace(/^JSONC Parse error: /, "")}${line}`);
  }
}
