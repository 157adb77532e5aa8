/** Requests of the command line to the service that runs. */
import type { LogLevel } from "../base/logging/index.ts";

/** A backup into a file of the service's machine. */
interface BackupRequest {
  readonly kind: "backup";
  /** An absolute path. */
  readonly file: string;
  /** Encrypts the backup; null for `backup.recipient`, if the configuration has a recipient. */
  readonly passphrase: string | null;
}

/** `socle admin create` beside a service. The socket is closed to other users of the machine, so the password may pass. */
interface AdminRequest {
  readonly kind: "admin";
  readonly email: string;
  readonly password: string;
}

/** The definitions of the collections in the database, for `socle types` and its like. */
interface DefinitionsRequest {
  readonly kind: "definitions";
}

/** An import from a file of the service's machine, or an export into a file. */
export interface TransferRequest {
  readonly kind: "import" | "export";
  readonly collection: string;
  /** An absolute path. */
  readonly file: string;
  /** Bytes of a row of an import. */
  readonly maxRow: number;
}

/** The users and records of a file, for `socle seed`. */
interface SeedRequest {
  readonly kind: "seed";
  /** An absolute path. */
  readonly file: string;
}

/** A run of `socle run`. */
export type RunRequest =
  | { readonly kind: "job"; readonly name: string }
  | {
      readonly kind: "function";
      readonly collection: string;
      /** With or without its ending. */
      readonly file: string;
      /** The id of the record, or user, of the run. */
      readonly record: string;
      /** The export; null for the first export. */
      readonly handler: string | null;
    };

/** Everything that the command line asks of a running service. */
export type ControlRequest =
  | RunRequest
  | SeedRequest
  | TransferRequest
  | BackupRequest
  | AdminRequest
  | DefinitionsRequest;

/** The end of a request: the cause of a failure, or null and the answer. */
export interface ControlOutcome {
  readonly error: string | null;
  readonly value?: unknown;
}

/** Something that a run has logged. */
export interface LogLine {
  readonly level: LogLevel;
  readonly message: string;
  readonly fields?: { readonly [name: string]: unknown };
}

/** How far something is, in bytes or records. */
export interface ProgressLine {
  readonly done: number;
  readonly total: number;
}

/** Hears of a request while the request is done. */
export interface RequestListener {
  onLog?: (line: LogLine) => void;
  onProgress?: (line: ProgressLine) => void;
}
