/** Settings of an import: how to read the file, and what the rows do. The query of a request has the options, and so does the command. */
import { isUnique } from "@socle/protocol";
import { AppError, oneOf, quote, readChoice } from "../../base/kernel/index.ts";
import type { Collection } from "../collections/index.ts";
import type { RecordMatch } from "../records/index.ts";
import type { RowSettings } from "./rows.ts";

export interface ImportSettings extends RowSettings {
  /** A name of the Encoding Standard; null if the beginning of the file decides. */
  readonly encoding: string | null;
  /** Whether nothing is written. */
  readonly isDryRun: boolean;
  /** Null if each row creates a record. */
  readonly match: RecordMatch | null;
}

/** @throws AppError `bad_request` for an option with a wrong value. */
export function readSettings(options: URLSearchParams, collection: Collection): ImportSettings {
  const choice = <T extends string>(name: string, allowed: readonly T[]): T | undefined => {
    const given = options.get(name);
    return given === null ? undefined : readChoice(name, given, allowed);
  };
  const style = {
    decimal: choice("decimal", ["comma", "point"]),
    dates: choice("dates", ["dmy", "mdy"]),
    nulls: new Set(options.getAll("null")),
  };
  const encoding = options.get("encoding");
  if (encoding !== null && !isEncoding(encoding))
    throw new AppError(
      "bad_request",
      `"encoding" must be a name such as utf-8, utf-16le or windows-1252, not ${quote(encoding)}.`,
    );
  const isDryRun = choice("dryRun", ["true", "false"]) === "true";
  return { map: mapOf(options.getAll("map")), style, encoding, isDryRun, match: matchOf(options, collection) };
}

/** The texts `column=field`. */
function mapOf(texts: readonly string[]): Map<string, string> {
  return new Map(
    texts.map((text) => {
      const at = text.lastIndexOf("=");
      if (at !== -1) return [text.slice(0, at), text.slice(at + 1).trim()];
      throw new AppError("bad_request", `"map" must be column=field, not ${quote(text)}.`);
    }),
  );
}

function isEncoding(name: string): boolean {
  try {
    // The declared type has but the names that the runtime is sure to know.
    return new TextDecoder(name as Bun.Encoding).encoding !== "";
  } catch {
    return false;
  }
}

function matchOf(options: URLSearchParams, { definition }: Collection): RecordMatch | null {
  const [update, upsert] = [options.get("update"), options.get("upsert")];
  if (update === null && upsert === null) return null;
  if (update !== null && upsert !== null)
    throw new AppError("bad_request", `"update" and "upsert" exclude each other.`);
  const field = (update ?? upsert) || "id";
  const keys = ["id", ...definition.fields.filter(isUnique).map(({ name }) => name)];
  if (keys.includes(field)) return { field, creates: upsert !== null };
  const name = update === null ? "upsert" : "update";
  throw new AppError("bad_request", `"${name}" must be the id or a unique field: ${oneOf(keys)}, not ${quote(field)}.`);
}
