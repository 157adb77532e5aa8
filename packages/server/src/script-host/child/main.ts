/**
 * The process that runs the user's functions and jobs. It loads modules when it is told to, runs their handlers, any
 * number at a time, and asks the service for everything else. It has no database and no secret.
 */
import { join } from "node:path";
import { nextTurn } from "../../kernel/index.ts";
import type { ChildOptions, FromChild, RunInput, RunMessage, ScriptExports, ToChild } from "../protocol.ts";
import { answered, answeredPart, RunCalls, refused } from "./calls.ts";
import { makeContext } from "./context.ts";
import { Errors } from "./errors.ts";
import { guardProcess } from "./guards.ts";
import { newScope, Output, type Scope, scopes } from "./output.ts";

interface Active {
  readonly path: string;
  readonly controller: AbortController;
  readonly calls: RunCalls;
  /** What was thrown where nobody waits, while it ran. */
  stray: unknown;
  hasStrayed: boolean;
}

type Module = { readonly [name: string]: unknown };

export function startChild(options: ChildOptions): void {
  const toService = process.send?.bind(process);
  if (toService === undefined) throw new Error("This process is started by the service");
  const send = (message: FromChild): void => {
    toService(message);
  };
  const child = new Child(options, send);
  process.on("message", (message: ToChild) => child.receive(message));
  process.on("uncaughtException", (thrown) => child.stray(thrown));
  process.on("unhandledRejection", (thrown) => child.stray(thrown));
  guardProcess();
  send({ kind: "ready" });
}

class Child {
  readonly #options: ChildOptions;
  readonly #send: (message: FromChild) => void;
  readonly #errors: Errors;
  readonly #output: Output;
  readonly #modules = new Map<string, Module>();
  readonly #active = new Map<number, Active>();
  /** The last run of each file, for what it throws after its end. */
  readonly #lastRun = new Map<string, number>();
  /** The run whose handler was called in this turn of the loop. */
  #entered: number | null = null;

  constructor(options: ChildOptions, send: (message: FromChild) => void) {
    this.#options = options;
    this.#send = send;
    this.#errors = new Errors(options.root);
    this.#output = new Output(send);
    this.#output.capture();
  }

  receive(message: ToChild): void {
    switch (message.kind) {
      case "load":
        this.#load(message.path);
        return;
      case "run":
        this.#run(message);
        return;
      case "abort":
        this.#abort(message.run);
        return;
      case "answer":
        answered(message.call, message.value);
        return;
      case "part":
        answeredPart(message.call, message.value);
        return;
      case "refuse":
        refused(message.call, message.error);
    }
  }

  /** An exception from a timer, or a rejection that nobody handles: it must not end the process. */
  stray(thrown: unknown): void {
    const run = this.#culprit(thrown);
    const active = run === null ? undefined : this.#active.get(run);
    if (active === undefined) {
      this.#send({ kind: "stray", run, error: this.#errors.describe(thrown) });
    } else if (!active.hasStrayed) {
      active.stray = thrown;
      active.hasStrayed = true;
      // Whether the handler would have ended does not matter any more.
      this.#end(run ?? 0, { kind: "failed", run: run ?? 0, error: this.#describeStray(thrown) });
    }
  }

  /** Whose it is: of an exception, the runtime knows; of a rejection, its stack or the circumstances tell. */
  #culprit(thrown: unknown): number | null {
    const scope = scopes.getStore();
    if (scope !== undefined) return scope.run;
    if (this.#entered !== null) return this.#entered;
    const file = this.#errors.fileOf(thrown);
    const candidates = [...this.#active].filter(([, { path }]) => file === null || path === file);
    if (candidates.length === 1) return candidates[0]?.[0] ?? null;
    if (this.#active.size === 1) return [...this.#active.keys()][0] ?? null;
    return candidates.length === 0 && file !== null ? (this.#lastRun.get(file) ?? null) : null;
  }

  async #load(path: string): Promise<void> {
    try {
      const module: Module = await import(join(this.#options.root, path));
      this.#modules.set(path, module);
      this.#send({ kind: "loaded", path, exports: exportsOf(module) });
    } catch (thrown) {
      this.#send({ kind: "broken", path, error: this.#errors.describe(thrown) });
    }
  }

  async #run({ run, path, handler, input }: RunMessage): Promise<void> {
    this.#send({ kind: "started", run });
    const scope: Scope = newScope(run);
    const controller = new AbortController();
    const calls = new RunCalls(run, this.#send);
    const active: Active = { path, controller, calls, stray: undefined, hasStrayed: false };
    this.#active.set(run, active);
    this.#entered = run;
    setImmediate(() => {
      if (this.#entered === run) this.#entered = null;
    });
    try {
      const target = this.#modules.get(path)?.[handler];
      if (typeof target !== "function") throw new Error(`${path} does not export ${handler}`);
      // It was written by the service.
      const about = JSON.parse(input) as RunInput;
      const { bodyLimit } = this.#options;
      const context = makeContext({
        input: about,
        scope,
        calls,
        output: this.#output,
        signal: controller.signal,
        bodyLimit,
      });
      await scopes.run(scope, () => target(context));
      // Rejections that nobody handles come to light at the end of a turn.
      await nextTurn();
      this.#end(run, { kind: "completed", run });
    } catch (thrown) {
      this.#end(run, { kind: "failed", run, error: this.#errors.describe(thrown, path) });
    }
  }

  #end(run: number, message: FromChild): void {
    const active = this.#active.get(run);
    if (active === undefined) return;
    this.#active.delete(run);
    this.#lastRun.set(active.path, run);
    active.calls.end("its handler has returned");
    this.#send(message);
  }

  #abort(run: number): void {
    const active = this.#active.get(run);
    this.#active.delete(run);
    active?.calls.end("its time was up");
    this.#send({ kind: "aborted", run });
    active?.controller.abort(new DOMException("The run's time was up", "TimeoutError"));
  }

  #describeStray(thrown: unknown): { message: string; stack?: string } {
    const error = this.#errors.describe(thrown);
    return {
      ...error,
      message: `Thrown where nothing waits for it (a timer, or a promise without await): ${error.message}`,
    };
  }
}

function exportsOf(module: Module): ScriptExports {
  const functions: string[] = [];
  const values: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(module)) {
    if (typeof value === "function") functions.push(name);
    else values[name] = name === "schedule" || name === "options" ? plain(value) : typeof value;
  }
  return { functions, values };
}

/** The value where it has a JSON form, else what it is. */
function plain(value: unknown): unknown {
  try {
    return JSON.parse(JSON.stringify(value) ?? "null");
  } catch {
    return typeof value;
  }
}
