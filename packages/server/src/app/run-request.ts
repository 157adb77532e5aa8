/** Requests of the command line to the service that runs. The socket is closed to other users of the machine, so passwords may pass. */
import { isObject } from "../base/kernel/index.ts";
import type { LogLevel } from "../base/logging/index.ts";

/** The kinds of requests with the types of their fields; `?` marks a field that may be null. */
const requests = {
  /**
   * A backup into a file of the service's machine, by an absolute path. The passphrase encrypts the backup; null for
   * `backup.recipient`, if the configuration has a recipient.
   */
  backup: { file: "string", passphrase: "string?" },
  /** `socle admin create` beside a service. */
  admin: { email: "string", password: "string" },
  /** The definitions of the collections in the database, for `socle types` and its like. */
  definitions: {},
  /** An import from a file of the service's machine, by an absolute path; with the most bytes of a row. */
  import: { collection: "string", file: "string", maxRow: "number" },
  export: { collection: "string", file: "string", maxRow: "number" },
  /** The users and records of a file, by an absolute path, for `socle seed`. */
  seed: { file: "string" },
  /** `socle run job`. */
  job: { name: "string" },
  /**
   * `socle run function`: a file with or without its ending, for a record or user by its id. The handler is an export; null
   * for the first export.
   */
  function: { collection: "string", file: "string", record: "string", handler: "string?" },
} as const;

type Requests = typeof requests;
interface FieldTypes {
  readonly string: string;
  readonly "string?": string | null;
  readonly number: number;
}
type RequestOf<K extends keyof Requests> = { readonly kind: K } & {
  readonly [F in keyof Requests[K]]: Requests[K][F] extends keyof FieldTypes ? FieldTypes[Requests[K][F]] : never;
};

/** Everything that the command line asks of a running service. */
export type ControlRequest = { [K in keyof Requests]: RequestOf<K> }[keyof Requests];
/** A run of `socle run`. */
export type RunRequest = RequestOf<"job"> | RequestOf<"function">;
export type TransferRequest = RequestOf<"import"> | RequestOf<"export">;

/** @throws Error for a malformed request: the two sides may be of different versions. */
export function parseRequest(value: unknown): ControlRequest {
  const given = isObject(value) ? value : {};
  const [kind, types] = Object.entries(requests).find(([name]) => name === given["kind"]) ?? [];
  const fields = Object.entries<string>(types ?? {}).map(([name, type]) => ({
    name,
    type,
    field: given[name] ?? null,
  }));
  const isValid = fields.every(({ field, type }) => typeof field === type.replace("?", "") || isNull(field, type));
  if (kind === undefined || !isValid) throw new Error("The service does not know such a request");
  // Each field has its type.
  return Object.fromEntries([["kind", kind], ...fields.map(({ name, field }) => [name, field])]) as ControlRequest;
}

function isNull(field: unknown, type: string): boolean {
  return field === null && type.endsWith("?");
}

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
