import type { CallError, FromChild } from "../protocol.ts";

/** What one run may ask for at a time; what is more waits here, in the memory of whoever asked. */
const maxOpen = 100;

/** An error that the service answered: `code` and `details` are those of the HTTP API. */
class ServiceError extends Error {
  override name = "ServiceError";
  code = "";
  details: CallError["details"];
}

interface Open {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: ServiceError) => void;
  readonly error: ServiceError;
  readonly onPart: ((value: unknown) => void) | undefined;
}

let lastCall = 0;
const open = new Map<number, Open>();

/** The calls of one run. */
export class RunCalls {
  readonly #run: number;
  readonly #send: (message: FromChild) => void;
  readonly #waiting: (() => void)[] = [];
  #open = 0;
  #isOver: string | null = null;

  constructor(run: number, send: (message: FromChild) => void) {
    this.#run = run;
    this.#send = send;
  }

  /** Asks the service. Rejects with a `ServiceError` whose stack is that of the caller. */
  async call(method: string, args: readonly unknown[], onPart?: (value: unknown) => void): Promise<unknown> {
    const error = new ServiceError();
    if (this.#open >= maxOpen) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    if (this.#isOver !== null) {
      error.message = `${method}: the run is over: ${this.#isOver}`;
      error.code = "unavailable";
      throw error;
    }
    lastCall += 1;
    const call = lastCall;
    this.#open += 1;
    try {
      return await new Promise<unknown>((resolve, reject) => {
        open.set(call, { resolve, reject, error, onPart });
        this.#send({ kind: "call", call, run: this.#run, method, args });
      });
    } finally {
      this.#open -= 1;
      this.#waiting.shift()?.();
    }
  }

  /** From now on, whatever is still asked for is refused. */
  end(reason: string): void {
    this.#isOver = reason;
  }
}

export function answered(call: number, value: unknown): void {
  open.get(call)?.resolve(value);
  open.delete(call);
}

export function answeredPart(call: number, value: unknown): void {
  open.get(call)?.onPart?.(value);
}

export function refused(call: number, { code, message, details }: CallError): void {
  const entry = open.get(call);
  open.delete(call);
  if (entry === undefined) return;
  const { error } = entry;
  error.message = details === undefined ? message : `${message} ${details.map((detail) => detail.message).join("; ")}`;
  error.code = code;
  error.details = details;
  entry.reject(error);
}
