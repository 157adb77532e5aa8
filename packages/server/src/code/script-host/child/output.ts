/** The output of the user's code: `logger`, `console` and the standard output go to the service's log. */
import { AsyncLocalStorage } from "node:async_hooks";
import { format } from "node:util";
import type { FromChild, LogMessage } from "../protocol.ts";
import { cut, type Errors } from "./errors.ts";
import type { ServiceClient } from "./service-client.ts";

type Level = LogMessage["level"];

/** Log entries of an attempt in a window; further entries are left out, and the log says so. */
const maxEntries = 1_000;
const maxMessage = 16 * 1024;
const windowMs = 10_000;

/** A bound on the messages in a window of time. */
export class Budget {
  readonly #size: number;
  #used = 0;
  #since = 0;

  constructor(size = maxEntries) {
    this.#size = size;
  }

  /** Answers whether another message may be sent; calls `onEnd` for the first that may not. */
  take(onEnd?: () => void): boolean {
    const now = Date.now();
    if (now - this.#since > windowMs) {
      this.#since = now;
      this.#used = 0;
    }
    this.#used += 1;
    if (this.#used === this.#size + 1) onEnd?.();
    return this.#used <= this.#size;
  }
}

/** The scope of an attempt, which all code of the attempt shares. */
export interface AttemptScope {
  readonly attempt: number;
  readonly budget: Budget;
  /** Aborted when the time is up. */
  readonly signal: AbortSignal;
  readonly calls: ServiceClient;
  /** See `Invocation`. */
  readonly traceparent: string;
}

/** The scope of the code that is running. */
export const scopes = new AsyncLocalStorage<AttemptScope>();

export class Output {
  readonly #send: (message: FromChild) => void;
  readonly #errors: Errors;
  readonly #outside = new Budget();

  constructor(send: (message: FromChild) => void, errors: Errors) {
    this.#send = send;
    this.#errors = errors;
  }

  write(line: Pick<LogMessage, "level" | "message"> & { fields?: unknown }, scope = scopes.getStore()): void {
    const { level, message, fields } = line;
    const entry = { type: "log", attempt: scope?.attempt ?? null } as const;
    const last = `More than ${maxEntries} log entries in ${windowMs / 1_000} s; what follows is left out`;
    const budget = scope?.budget ?? this.#outside;
    if (!budget.take(() => this.#send({ ...entry, level: "WARN", message: last }))) return;
    const known = jsonOf(fields);
    const more = known === undefined ? {} : { fields: known };
    this.#send({ ...entry, level, message: cut(message, maxMessage), ...more });
  }

  loggerOf(scope: AttemptScope): object {
    const at =
      (level: Level) =>
      (message: unknown, fields?: unknown): void =>
        this.write({ level, message: this.#text([message]), fields }, scope);
    return { debug: at("DEBUG"), info: at("INFO"), warn: at("WARN"), error: at("ERROR") };
  }

  /** The text that `console` would write; stacks of errors have the frames inside the project alone. */
  #text(args: readonly unknown[]): string {
    const shown = args.map((arg) => {
      if (!(arg instanceof Error)) return arg;
      const { message, stack } = this.#errors.describe(arg);
      return stack ?? message;
    });
    return cut(format(...shown), maxMessage);
  }

  /** Has `console` and the standard output write to the log. */
  capture(): void {
    const say =
      (level: Level) =>
      (...args: unknown[]): void =>
        this.write({ level, message: this.#text(args) });
    for (const name of ["log", "info", "dir", "table"]) Reflect.set(console, name, say("INFO"));
    for (const name of ["debug", "trace"]) Reflect.set(console, name, say("DEBUG"));
    Object.assign(console, { warn: say("WARN"), error: say("ERROR") });
    const written = (chunk: unknown): true => {
      const text = typeof chunk === "string" ? chunk : Buffer.from(chunk as Uint8Array).toString();
      this.write({ level: "INFO", message: text.replace(/\n$/, "") });
      return true;
    };
    // A getter: making the stream only to replace the method would cost memory.
    for (const name of ["stdout", "stderr"] as const)
      Object.defineProperty(process, name, {
        configurable: true,
        get: () => ({
          write: written,
          isTTY: false,
          fd: name === "stdout" ? 1 : 2,
          on: () => undefined,
          once: () => undefined,
          end: () => undefined,
        }),
      });
  }
}

/** The fields in JSON form, up to a size; undefined without fields. */
function jsonOf(fields: unknown): { [name: string]: unknown } | undefined {
  if (fields === undefined) return undefined;
  if (fields instanceof Error) return { error: fields.message };
  try {
    const text = JSON.stringify(fields, (_, value: unknown) => (value instanceof Error ? value.message : value));
    if (text === undefined) return undefined;
    if (text.length > maxMessage) return { fields: cut(text, maxMessage) };
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : { value };
  } catch {
    return { fields: cut(format(fields), maxMessage) };
  }
}
