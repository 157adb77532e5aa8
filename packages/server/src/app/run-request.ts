import type { LogLevel } from "../logging/index.ts";

/** What `socle run` asks for. */
export type RunRequest =
  | { readonly kind: "job"; readonly name: string }
  | {
      readonly kind: "function";
      readonly collection: string;
      /** With or without its ending. */
      readonly file: string;
      /** The id of the record, or user, that it is about. */
      readonly record: string;
      /** The export; the first there is when it does not say. */
      readonly handler: string | null;
    };

/** Something that a run has logged. */
export interface LogLine {
  readonly level: LogLevel;
  readonly message: string;
  readonly fields?: { readonly [name: string]: unknown };
}
