/**
 * The protocol between the service and a script process: the messages of both sides. Messages go over the channel that the
 * runtime gives a child process; nothing else is shared.
 */
import type { FetchMocks, JsonValue, SourceExcerpt } from "@socle/protocol";
import type { PlainAppError } from "../../base/kernel/index.ts";
import type { EarlierRecord } from "../../data/records/index.ts";
import type { NamedKind } from "./handler-kinds.ts";

export const loadLimitMs = 5_000;
/** The problem of a file that takes longer, as the predicate of a sentence. */
export const lateLoad = `did not finish loading within ${loadLimitMs / 1_000} s`;

export interface ScriptExports {
  /** Names of the exported functions; `default` may be among the names. */
  readonly functions: readonly string[];
  /** The other exports: `schedule`, `queue`, `access` and `options` as JSON, and the types of all others. */
  readonly values: { readonly [name: string]: unknown };
  /** The handlers of a function file; absent for other files. */
  readonly handlers?: readonly FoundHandler[];
  /** The `access` of handlers that `endpoint` has made, by the names of the exports; absent without any. */
  readonly accesses?: { readonly [name: string]: unknown };
  /** The schemas of handlers that `endpoint` has made, by the names of the exports; absent without any. */
  readonly schemas?: { readonly [name: string]: HandlerSchemas };
  /** The `access` of a default export that `query` has made; absent for another default export. */
  readonly query?: unknown;
}

/** A handler of a function file, under a name of its own in the file, such as `onCreate`, or `onCreate.posts` outside of the folder. */
export interface FoundHandler extends NamedKind {
  readonly name: string;
}

/** JSON Schemas (draft 2020-12) of the parts of requests and of the answer; a schema without a JSON form is absent. */
export interface HandlerSchemas {
  readonly params?: JsonSchema;
  readonly query?: JsonSchema;
  readonly body?: JsonSchema;
  readonly answer?: JsonSchema;
}

interface JsonSchema {
  readonly [keyword: string]: unknown;
}

export interface ScriptError {
  /** For people: the message and, in brackets, the place in the user's files. */
  readonly message: string;
  /** Paths are relative to the project; frames outside the project are left out. */
  readonly stack?: string;
  /** Absent without a place in a file of the user's code. */
  readonly source?: SourceExcerpt;
}

/** A call of a handler. */
export interface Invocation {
  /** Counted from 1 on by the calls of the process, which begin in this order. */
  readonly attempt: number;
  readonly path: string;
  /** The name of the export. */
  readonly handler: string;
  readonly input: RunInput;
  /** The `traceparent` of the requests of the handler (W3C Trace Context). */
  readonly traceparent: string;
  /** For the handler of an endpoint, which gets the request before the context and answers a response. */
  readonly request?: RequestData;
}

/** A name and a value; a name may come twice. */
export type HeaderList = [name: string, value: string][];

/** A body: the whole body, `pieces` that are asked for with `want`, or null without a body. */
export type BodyData = Uint8Array | "pieces" | null;

export interface RequestData {
  readonly method: string;
  readonly url: string;
  readonly headers: HeaderList;
  readonly body: BodyData;
}

/** With `pieces`, the attempt goes on until the last piece. */
export interface ResponseData extends Pick<RequestData, "headers" | "body"> {
  readonly status: number;
}

/** The part of an outcome that tells by what the handler has decided, and with which effort. */
export interface HandlerBasis {
  /** Of a hook. */
  readonly reads?: readonly Read[];
  readonly usesEarlier?: true;
  /** Of a server query that has looked at its caller. */
  readonly usesCaller?: true;
  /** Of a server query: milliseconds of the run for which the handler waited for no call to the service. */
  readonly ms?: number;
}

/**
 * The end of a handler: its value as JSON; an error meant for the caller; or a failure. The value of a run, and of an endpoint, is
 * `null`.
 */
export type HandlerOutcome =
  | (HandlerBasis & { readonly status: "answered"; readonly value: string })
  | (HandlerBasis & { readonly status: "refused"; readonly refusal: PlainAppError })
  | (HandlerBasis & { readonly status: "failed"; readonly error: ScriptError });

/** The answer of a handler: the end of its attempt, or its response. A response without `pieces` is the end, too. */
export type HandlerAnswer =
  | { readonly attempt: number; readonly response: ResponseData }
  | { readonly attempt: number; readonly outcome: HandlerOutcome };

/** The first records of a list that the process was sent. */
export interface EarlierPart {
  readonly list: number;
  readonly length: number;
}

/** The part of a handler's context that is data. */
export interface RunInput {
  readonly runId: string;
  readonly attempt: number;
  /** The user behind the run, or null. */
  readonly user: object | null;
  /** The functions, jobs and hooks that led to the run, as `path:handler`. */
  readonly chain?: readonly string[];
  readonly event?: object;
  readonly record?: object | null;
  readonly previous?: object | null;
  /** For a hook of a batch. */
  readonly earlier?: EarlierPart;
  /** The caller of an endpoint, a registration or a login: the address as a key of limits, and the user. */
  readonly caller?: { readonly address: string; readonly user: object | null };
  /** The headers of a registration or a login. */
  readonly headers?: { readonly [name: string]: string };
  /** For a request to an endpoint: the parts of the path that the file leaves open. */
  readonly params?: { readonly [name: string]: string | readonly string[] };
  /** For a server query: the arguments as sent. */
  readonly args?: { readonly [name: string]: unknown };
  /** The payload of a queue's run. */
  readonly payload?: JsonValue;
  /** For a migration: the position that was saved last; null before. */
  readonly position?: JsonValue;
}

/** A file of the user's code with its content at the time of the load. */
export interface CodeFile {
  /** Relative to the project. */
  readonly path: string;
  /** The absolute path without links, by which the runtime knows the module. */
  readonly real: string;
  readonly content: string;
}

export type ToChild =
  /** The first message: the content of the modules, the same for each replacement of a process. */
  | { readonly type: "code"; readonly files: readonly CodeFile[] }
  | { readonly type: "load"; readonly path: string }
  /** Asks whether the process reads messages. Sent ten times a second while an attempt is under way. */
  | { readonly type: "ping" }
  /** The process may begin attempts again: the answer to `doubt` with the same number. */
  | { readonly type: "go"; readonly doubt: number }
  /** `socle test`: from now on, `Date` is so many milliseconds ahead of the machine's clock, and a test answers `fetch` for some origins. */
  | { readonly type: "test"; readonly offset: number; readonly mocks: FetchMocks | null }
  /** New content of modules. Files that are loaded from here on are in use from `adopt` on. */
  | { readonly type: "change"; readonly files: readonly CodeFile[] }
  | { readonly type: "adopt" }
  /** Calls handlers: at once if callers wait for the values, otherwise in turn. */
  | { readonly type: "invoke"; readonly isAwaited: boolean; readonly calls: readonly Invocation[] }
  /** Further records of a list, which later calls name as `earlier`. */
  | { readonly type: "earlier"; readonly list: number; readonly records: readonly EarlierRecord[] }
  /** No further call names the list. */
  | { readonly type: "forget"; readonly list: number }
  /** The next piece of a response is wanted. */
  | { readonly type: "want"; readonly attempt: number }
  /** A piece of a request that was wanted; null after the last. */
  | { readonly type: "piece"; readonly attempt: number; readonly bytes: Uint8Array | null }
  /** The attempt's time is up: the signal is aborted, and the further calls are refused. */
  | { readonly type: "abort"; readonly attempt: number }
  | { readonly type: "answer"; readonly call: number; readonly value: unknown }
  | { readonly type: "refuse"; readonly call: number; readonly error: PlainAppError }
  /** A part of an answer; `answer` follows after the last. */
  | { readonly type: "part"; readonly call: number; readonly value: unknown };

/** The `AnswerHash` of an answer in one piece. */
export function hashOf(text: string): string {
  const hash = new AnswerHash();
  hash.add(text);
  return hash.text;
}

/** A read of the user's code, by which the service tells whether the read would be answered otherwise now. */
export interface Read {
  readonly method: "db.get" | "db.page" | "db.list" | "db.query";
  readonly args: readonly string[];
  /** The version of the collections at the read; empty when unknown. */
  readonly version: string;
  /** The `AnswerHash` of the answer, or the `failureHash` of a refused read. */
  readonly hash: string;
  /** The number of the writes of the transaction before the read. */
  readonly after: number;
  /** See `CallMessage`. */
  readonly as?: string | undefined;
}

/** Stands in the place of the hash of a read that was refused with a code. */
export function failureHash(code: string): string {
  return `!${code}`;
}

/** The hash of an answer, which comes in pieces. The hash tells answers apart that differ by accident. */
export class AnswerHash {
  #hash = 0n;

  add(text: string): void {
    this.#hash = BigInt(Bun.hash(text, this.#hash));
  }

  get text(): string {
    return this.#hash.toString(36);
  }
}

/** The reads and the writes of a transaction so far. */
export interface TransactionState {
  readonly reads: readonly Read[];
  /** Operations of a batch. */
  readonly operations: readonly unknown[];
  /** The time of the writes that reads of the transaction see, in milliseconds; null before the first such read. */
  readonly at: number | null;
  /** The ids of the records that the creates make, by position; null for another operation. */
  readonly ids: readonly (string | null)[];
  /** The `as` of the operations, by position; null for an operation without rules. See `CallMessage`. */
  readonly callers: readonly (string | null)[];
}

/** A transaction that is to be committed. */
export interface Commit extends TransactionState {
  /** Runs of queues, as a batch adds them. */
  readonly enqueue: readonly unknown[];
  /** Mails that the code sends. */
  readonly mails: readonly unknown[];
  /** The turn that the transaction has; null without a turn. */
  readonly turn: number | null;
}

/** A call to the service. Objects go as JSON text, with the same meaning as over HTTP. */
export interface CallMessage {
  readonly type: "call";
  readonly call: number;
  readonly attempt: number;
  readonly method: string;
  readonly args: readonly unknown[];
  /** The user under whose rules the call is (`db.as`): an id, or empty for nobody. Absent: no rules. */
  readonly as?: string | undefined;
}

export interface LogMessage {
  readonly type: "log";
  /** The attempt that logs; null outside of all. */
  readonly attempt: number | null;
  readonly level: "DEBUG" | "INFO" | "WARN" | "ERROR";
  readonly message: string;
  readonly fields?: { readonly [name: string]: unknown };
}

export type Loaded = { readonly exports: ScriptExports } | { readonly error: ScriptError };

export type FromChild =
  | { readonly type: "loaded"; readonly path: string; readonly loaded: Loaded }
  /** The answer to `ping`. */
  | { readonly type: "pong" }
  /**
   * The process has read no message for long. The service may have given the attempts that have not begun to another process, so
   * no attempt begins before `go`. Doubts are counted from 1 on.
   */
  | { readonly type: "doubt"; readonly doubt: number }
  | { readonly type: "answers"; readonly answers: readonly HandlerAnswer[] }
  /** The next piece of a request is wanted. */
  | { readonly type: "want"; readonly attempt: number }
  /** A piece of a response that was wanted. After the last piece, the attempt is answered. */
  | { readonly type: "piece"; readonly attempt: number; readonly bytes: Uint8Array }
  /** Confirms `abort`. */
  | { readonly type: "aborted"; readonly attempt: number }
  /** An error of a timer, or of a promise without a handler. `attempt` is the throwing attempt, if known. */
  | { readonly type: "stray"; readonly attempt: number | null; readonly error: ScriptError }
  | CallMessage
  /** A part of an answer was taken; the next may be sent. */
  | { readonly type: "taken"; readonly call: number }
  | LogMessage;

/** Bytes that the arguments of calls may have, the bytes of a file excepted. */
export interface CallLimits {
  /** The most bytes of a record's JSON. */
  readonly bodyLimit: number;
  /** The most bytes of a batch's JSON. */
  readonly batchBodyLimit: number;
}

export interface ChildOptions extends CallLimits {
  /** The project's folder. */
  readonly root: string;
  /** The variables of the environment that the configuration declares in `scripts.env`. */
  readonly env: readonly string[];
  /** The umask for files that the user's code makes. (The service's own files are for the service's user alone.) */
  readonly umask: number;
  /** The place of the process in the file of begun attempts. */
  readonly begunAt: number;
  /** Whether the process is for a preview: `fetch` is recorded. */
  readonly isPreview?: boolean;
}
