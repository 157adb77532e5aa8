/**
 * What goes between the service and the process that runs the user's code. Either side sends objects over the channel
 * that the runtime gives a child; nothing else is shared.
 */
import type { ErrorCode, ErrorDetail } from "@socle/protocol";

/** What a file exports, as far as it can be told: values of functions are their kind alone. */
export interface ScriptExports {
  /** Names of the exported functions; `default` is one of them. */
  readonly functions: readonly string[];
  /** The other exports: `schedule` and `options` as JSON, of what else there is, its type. */
  readonly values: { readonly [name: string]: unknown };
}

/** An error of the user's code. */
export interface ScriptError {
  /** For people: what was thrown and, in brackets, where. */
  readonly message: string;
  /** Paths are relative to the project; frames outside it are left out. */
  readonly stack?: string;
}

/** A handler is to be called; `input` is the JSON of a `RunInput`. */
export interface RunMessage {
  readonly kind: "run";
  readonly attempt: number;
  readonly path: string;
  /** The name of the export. */
  readonly handler: string;
  readonly input: string;
}

/** The part of a handler's context that is data. */
export interface RunInput {
  readonly runId: string;
  readonly attempt: number;
  /** Who caused it, or null. */
  readonly user: object | null;
  readonly event?: object;
  readonly record?: object | null;
  readonly previous?: object | null;
}

/** A file of the user's code as it was when it was loaded. */
export interface CodeFile {
  /** Relative to the project. */
  readonly path: string;
  readonly content: string;
}

export type ToChild =
  /** Comes first: what files hold, also for a process that takes another one's place later. */
  | { readonly kind: "code"; readonly files: readonly CodeFile[] }
  | { readonly kind: "load"; readonly path: string }
  | RunMessage
  /** Its time is up: its signal is aborted, and what it still asks for is refused. */
  | { readonly kind: "abort"; readonly attempt: number }
  | { readonly kind: "answer"; readonly call: number; readonly value: unknown }
  | { readonly kind: "refuse"; readonly call: number; readonly error: CallError }
  /** A part of an answer; `answer` follows after the last. */
  | { readonly kind: "part"; readonly call: number; readonly value: unknown };

/** An error of a call, as an `AppError` carries it. */
export interface CallError {
  readonly code: ErrorCode;
  readonly message: string;
  readonly details?: readonly ErrorDetail[];
}

/** A call to the service. Objects go as JSON text, so that they mean what they mean over HTTP. */
export interface CallMessage {
  readonly kind: "call";
  readonly call: number;
  readonly attempt: number;
  readonly method: string;
  readonly args: readonly unknown[];
}

export interface LogMessage {
  readonly kind: "log";
  /** Who speaks; null outside all. */
  readonly attempt: number | null;
  readonly level: "DEBUG" | "INFO" | "WARN" | "ERROR";
  readonly message: string;
  readonly fields?: { readonly [name: string]: unknown };
}

export type FromChild =
  | { readonly kind: "loaded"; readonly path: string; readonly exports: ScriptExports }
  | { readonly kind: "broken"; readonly path: string; readonly error: ScriptError }
  /** Sent before the handler is called, so that it is known who blocks a process that does not answer any more. */
  | { readonly kind: "started"; readonly attempt: number }
  | { readonly kind: "completed"; readonly attempt: number }
  | { readonly kind: "failed"; readonly attempt: number; readonly error: ScriptError }
  /** The process does answer: the signal was aborted. */
  | { readonly kind: "aborted"; readonly attempt: number }
  /** Thrown where nobody waits: from a timer, or a promise without a handler. `attempt` is whose it is, if that is known. */
  | { readonly kind: "stray"; readonly attempt: number | null; readonly error: ScriptError }
  | CallMessage
  /** A part of an answer was taken; the next may come. */
  | { readonly kind: "taken"; readonly call: number }
  | LogMessage;

/** What the process is started with. */
export interface ChildOptions {
  /** The project's folder. */
  readonly root: string;
  /** Largest JSON of a record. */
  readonly bodyLimit: number;
  /** The umask for files that the user's code makes: those of the service are for its user alone. */
  readonly umask: number;
}

/** The first word on the command line that makes the executable a process for the user's code, or for `db.query`. */
export type ProcessWord = "script-host" | "script-query";
