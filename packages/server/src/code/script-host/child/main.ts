/**
 * The script process, which runs the user's code. The process loads modules on request, runs the handlers, any
 * number at a time, and calls the service for all other work. The process has neither the database nor a secret.
 */
import { moveTime, nextTurn } from "../../../base/kernel/index.ts";
import type { EarlierRecord } from "../../../data/records/index.ts";
import { useFetchMocks } from "../fetch-mocks.ts";
import { type Frame, FrameSender, messagesOf } from "../frames.ts";
import { dispatch, type Handlers, inspectVariable } from "../host-process.ts";
import type {
  ChildOptions,
  FromChild,
  HandlerAnswer,
  HandlerBasis,
  HandlerOutcome,
  Invocation,
  ResponseData,
  ToChild,
} from "../protocol.ts";
import { StartedAttemptWriter } from "../started-attempts.ts";
import { makeContext } from "./context.ts";
import { RequestBody, type ResponseBody, requestOf, responseOf } from "./endpoint-io.ts";
import { Errors } from "./errors.ts";
import { declaredEnvironment, loadEnvironment, refusalOf } from "./globals.ts";
import { type Invoke, Liveness } from "./liveness.ts";
import { Loader, type LoaderOptions } from "./loader.ts";
import { answerOf } from "./middleware.ts";
import { type AttemptScope, Budget, Output, scopes } from "./output.ts";
import { frozen, ReadRecorder, repeated } from "./reads.ts";
import { recordFetches } from "./recorded-fetch.ts";
import { answered, answeredPart, refused, ServiceClient, ServiceError } from "./service-client.ts";

interface Active extends AttemptScope {
  readonly path: string;
  readonly controller: AbortController;
  /** For a request with a body in pieces. */
  requestBody: RequestBody | null;
  /** For a request with a response in pieces. */
  responseBody: ResponseBody | null;
}

/** The time after the end of an attempt in which an error may still be the attempt's. */
const recentMs = 60_000;
/** Stray errors in ten seconds that are sent to the service; a timer may throw for ever. */
const maxStrays = 20;

/** Messages after which the code of the attempt goes on. */
const resuming: readonly ToChild["type"][] = ["piece", "answer", "part", "refuse"];

export function runScripts(options: ChildOptions): void {
  const toService = process.send?.bind(process);
  if (toService === undefined) throw new Error("This process is started by the service");
  loadEnvironment(options.root);
  if (options.isPreview === true) recordFetches();
  const isDebugged = process.env[inspectVariable] !== undefined;
  // A process that the user's code starts must not listen on the same port.
  delete process.env[inspectVariable];
  const frames = new FrameSender(toService);
  const child = new Child({ ...options, isDebugged }, (message) => frames.send(message));
  process.on("message", (frame: Frame) => {
    for (const message of messagesOf<ToChild>(frame)) child.receive(message);
  });
  process.on("uncaughtException", (thrown) => child.stray(thrown));
  process.on("unhandledRejection", (thrown) => child.stray(thrown));
  process.umask(options.umask);
}

class Child {
  readonly #options: LoaderOptions;
  readonly #send: (message: FromChild) => void;
  readonly #env: object;
  readonly #errors: Errors;
  readonly #output: Output;
  readonly #begun: StartedAttemptWriter;
  /** Attempts that wait for the call of the handler. */
  readonly #queue: Invocation[] = [];
  readonly #loader: Loader;
  readonly #active = new Map<number, Active>();
  /** The records of batches that calls name as `earlier`, by list. */
  readonly #earlier = new Map<number, EarlierRecord[]>();
  /** The last attempt of each file that has ended, for errors thrown after the end. */
  readonly #last = new Map<string, { attempt: number; endedAt: number }>();
  readonly #strays = new Budget(maxStrays);
  /** Answers to waiting callers that are sent at the end of this turn. */
  readonly #answers: HandlerAnswer[] = [];
  /** The attempt with the handler that was called in this turn of the loop. */
  #entered: number | null = null;
  readonly #doubt = new Liveness({
    send: (message) => this.#send(message),
    isIdle: () => this.#active.size === 0 && this.#queue.length === 0 && this.#answers.length === 0,
    begin: (message) => this.#begin(message),
  });

  readonly #handlers: Handlers<ToChild> = {
    code: ({ files }) => {
      this.#errors.use(files);
      this.#loader.use(files);
    },
    change: ({ files }) => this.#loader.change(files),
    adopt: () => this.#loader.adopt(),
    test: ({ offset, mocks }) => {
      moveTime(offset);
      useFetchMocks(mocks);
    },
    load: async ({ path }) => this.#send({ type: "loaded", path, loaded: await this.#loader.load(path) }),
    ping: () => this.#doubt.heard(),
    go: ({ doubt }) => this.#doubt.go(doubt),
    invoke: (message) => this.#doubt.invoke(message),
    earlier: ({ list, records }) => this.#earlier.getOrInsertComputed(list, () => []).push(...frozen(records)),
    forget: ({ list }) => void this.#earlier.delete(list),
    want: ({ attempt }) => void this.#give(attempt),
    piece: ({ attempt, bytes }) => this.#active.get(attempt)?.requestBody?.give(bytes),
    abort: ({ attempt }) => this.#abort(attempt),
    answer: ({ call, value }) => answered(call, value),
    part: ({ call, value }) => {
      answeredPart(call, value);
      this.#send({ type: "taken", call });
    },
    refuse: ({ call, error }) => refused(call, error),
  };

  constructor(options: LoaderOptions, send: (message: FromChild) => void) {
    this.#options = options;
    this.#send = send;
    this.#env = declaredEnvironment(options.env);
    this.#errors = new Errors(options.root);
    this.#loader = new Loader(options, this.#errors);
    this.#output = new Output(send, this.#errors);
    this.#begun = new StartedAttemptWriter(options.begunAt);
    this.#output.capture();
  }

  receive(message: ToChild): void {
    // The attempt that the message is for runs next, which need not be the attempt of this turn.
    if (resuming.includes(message.type)) this.#entered = null;
    this.#doubt.look();
    dispatch(this.#handlers, message);
  }

  /** An exception from a timer, or an unhandled rejection: neither may end the process. */
  stray(thrown: unknown): void {
    // The function of a transaction need not wait for its reads when the function is called again.
    if (thrown === repeated) return;
    const attempt = this.#culprit(thrown);
    if (attempt !== null && this.#active.has(attempt)) {
      // The attempt has failed, whether or not the handler would have returned.
      const error = this.#errors.describe(thrown);
      const message = `Uncaught error in a timer or in a promise without await: ${error.message}`;
      this.#end(attempt, { status: "failed", error: { ...error, message } });
    } else if (this.#strays.take()) {
      this.#send({ type: "stray", attempt, error: this.#errors.describe(thrown) });
    }
  }

  /**
   * The attempt of the code that has thrown. The runtime knows the attempt of an exception. For a rejection, the turn
   * of the loop or the stack must tell; null when neither tells.
   */
  #culprit(thrown: unknown): number | null {
    const scope = scopes.getStore();
    if (scope !== undefined) return scope.attempt;
    const file = this.#errors.fileOf(thrown);
    const entered = this.#entered === null ? undefined : this.#active.get(this.#entered);
    if (entered !== undefined && (file === null || file === entered.path)) return this.#entered;
    const last = file === null ? undefined : this.#last.get(file);
    const active = [...this.#active].filter(([, { path }]) => path === file);
    if (active.length === 0) return last?.attempt ?? null;
    const isRecent = last !== undefined && performance.now() - last.endedAt < recentMs;
    return active.length === 1 && !isRecent ? (active[0]?.[0] ?? null) : null;
  }

  #begin({ isAwaited, calls }: Invoke): void {
    if (isAwaited) this.#beginAll(calls);
    else this.#enqueue(calls);
  }

  #enqueue(calls: readonly Invocation[]): void {
    const isIdle = this.#queue.length === 0;
    this.#queue.push(...calls);
    if (isIdle) setImmediate(() => this.#next());
  }

  /** Calls a single handler in a turn of the loop: a rejection at the end of the turn is that handler's. */
  #next(): void {
    if (this.#doubt.holds(() => ({ type: "invoke", isAwaited: false, calls: this.#queue.splice(0) }))) return;
    const call = this.#queue[0];
    if (call !== undefined) void this.#run(call);
    setImmediate(() => {
      this.#entered = null;
      this.#queue.shift();
      // A turn later, so that ended attempts are reported before another handler computes.
      if (this.#queue.length > 0) setImmediate(() => this.#next());
    });
  }

  /** Calls a handler, and drops the value. */
  async #run(call: Invocation): Promise<void> {
    const { attempt, path } = call;
    this.#entered = attempt;
    try {
      await this.#call(call, null, null);
      // Unhandled rejections come to light at the end of a turn.
      await nextTurn();
      this.#end(attempt, { status: "answered", value: "null" });
    } catch (thrown) {
      this.#end(attempt, { status: "failed", error: this.#errors.describe(thrown, path) });
    }
  }

  #beginAll(calls: readonly Invocation[]): void {
    for (const [begun, call] of calls.entries()) {
      if (this.#doubt.holds(() => ({ type: "invoke", isAwaited: true, calls: calls.slice(begun) }))) return;
      void this.#answerCall(call);
    }
  }

  /** Calls a handler for a caller that waits for the value, or the response. */
  async #answerCall(call: Invocation): Promise<void> {
    const { attempt, path, request, input } = call;
    const isQuery = input.args !== undefined;
    // A write waits for a hook: the reads of the hook are looked at again at the commit.
    const recorder = request === undefined && !isQuery ? new ReadRecorder() : null;
    let usesCaller: HandlerBasis = {};
    const onUser = (): void => {
      usesCaller = { usesCaller: true };
    };
    const basis = (): HandlerBasis => {
      const ms = isQuery ? this.#active.get(attempt)?.calls.ownMs : undefined;
      return { ...recorder?.seen, ...usesCaller, ...(ms !== undefined && { ms }) };
    };
    try {
      const returned = await this.#call(call, recorder, isQuery ? onUser : null).catch((thrown: unknown) => {
        if (request !== undefined && thrown instanceof Response) return thrown;
        throw thrown;
      });
      if (request !== undefined && returned instanceof Response) await this.#respond(attempt, returned);
      else {
        const value = jsonOf(returned, this.#options.bodyLimit);
        this.#answer(attempt, { outcome: { status: "answered", value, ...basis() } });
      }
    } catch (thrown) {
      const told = request === undefined && !isQuery ? null : ServiceError.toldBy(thrown);
      const refusal = refusalOf(thrown) ?? told;
      const outcome: HandlerOutcome =
        refusal === null
          ? { status: "failed", error: this.#errors.describe(thrown, path), ...basis() }
          : { status: "refused", refusal, ...basis() };
      this.#answer(attempt, { outcome });
    }
  }

  /** The handler of an endpoint has returned. The attempt is over with the last piece of the response. */
  async #respond(attempt: number, value: Response): Promise<void> {
    const { data, rest } = await responseOf(value);
    const active = this.#active.get(attempt);
    if (rest === null) this.#answer(attempt, { response: data });
    else if (active === undefined) rest.cancel();
    else {
      active.responseBody = rest;
      this.#say({ attempt, response: data });
    }
  }

  /** Sends the piece of a response that the service asks for. */
  async #give(attempt: number): Promise<void> {
    const active = this.#active.get(attempt);
    const body = active?.responseBody ?? null;
    if (active === undefined || body === null) return;
    try {
      const bytes = await scopes.run(active, () => body.next());
      if (bytes === null) this.#end(attempt, { status: "answered", value: "null" });
      else if (this.#active.has(attempt)) this.#send({ type: "piece", attempt, bytes });
    } catch (thrown) {
      this.#end(attempt, { status: "failed", error: this.#errors.describe(thrown, active.path) });
    }
  }

  #answer(attempt: number, answer: { readonly response: ResponseData } | { readonly outcome: HandlerOutcome }): void {
    if (this.#close(attempt)) this.#say({ attempt, ...answer });
  }

  /** Answers of the same turn of the loop share a message. */
  #say(answer: HandlerAnswer): void {
    this.#answers.push(answer);
    if (this.#answers.length > 1) return;
    setImmediate(() => {
      this.#doubt.look();
      this.#send({ type: "answers", answers: this.#answers.splice(0) });
    });
  }

  async #call(
    { attempt, path, handler, input, request, traceparent }: Invocation,
    recorder: ReadRecorder | null,
    onUser: (() => void) | null,
  ): Promise<unknown> {
    const controller = new AbortController();
    const { signal } = controller;
    const calls = new ServiceClient(attempt, this.#send, this.#options);
    const requestBody =
      request?.body === "pieces" ? new RequestBody(() => this.#send({ type: "want", attempt })) : null;
    const parts = { path, controller, requestBody, responseBody: null };
    const active = { attempt, budget: new Budget(), signal, calls, traceparent, ...parts };
    this.#active.set(attempt, active);
    this.#begun.write(attempt);
    const file = this.#loader.file(path);
    const target = file?.module[handler];
    if (typeof target !== "function") throw new Error(`${path} does not export ${handler}`);
    const { earlier } = input;
    if (recorder !== null && earlier !== undefined)
      recorder.written = this.#earlier.get(earlier.list)?.slice(0, earlier.length) ?? [];
    const [output, env] = [this.#output, this.#env];
    const context = makeContext({ input, scope: active, calls, recorder, onUser, output, env });
    if (request === undefined) return await scopes.run(active, () => target(context));
    const given = requestOf(request, { pieces: requestBody, signal });
    const answering = { request: given, context, handler: (other: Request) => target(other, context) };
    return await scopes.run(active, () => answerOf(file?.middlewares ?? [], answering));
  }

  /** Sends the end of an attempt at once. */
  #end(attempt: number, outcome: HandlerOutcome): void {
    this.#doubt.look();
    if (this.#close(attempt)) this.#send({ type: "answers", answers: [{ attempt, outcome }] });
  }

  /** The attempt is over: further calls are refused. Answers false when the attempt was over before. */
  #close(attempt: number): boolean {
    const active = this.#active.get(attempt);
    if (active === undefined) return false;
    this.#active.delete(attempt);
    this.#last.set(active.path, { attempt, endedAt: performance.now() });
    active.calls.refuseCalls("its handler has returned");
    letGo(active);
    return true;
  }

  #abort(attempt: number): void {
    const active = this.#active.get(attempt);
    this.#active.delete(attempt);
    this.#doubt.forget(attempt);
    active?.calls.refuseCalls("its time was up");
    this.#send({ type: "aborted", attempt });
    active?.controller.abort(new DOMException("The run's time was up", "TimeoutError"));
    if (active !== undefined) letGo(active);
  }
}

/** The bodies of an attempt that is over are read no further. */
function letGo({ requestBody, responseBody }: Active): void {
  requestBody?.fail(new Error("The request is over"));
  responseBody?.cancel();
}

/** The JSON of a handler's value. @throws Error for a value without JSON, or beyond the limit. */
function jsonOf(value: unknown, limit: number): string {
  if (typeof value === "function" || typeof value === "symbol")
    throw new Error(`The handler returned a ${typeof value}`);
  const json = JSON.stringify(value) ?? "null";
  const size = Buffer.byteLength(json);
  if (size > limit) throw new Error(`The handler returned ${size} bytes, and limits.body allows ${limit}`);
  return json;
}
