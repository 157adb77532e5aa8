/**
 * The command's side of a service under test: the process, the calls that wait for an answer, the end; and the protocol
 * between the command and the service, over the channel of a child process.
 */
import type { TestCall, TestServiceAddress } from "@socle/protocol";
import { SetupError } from "../base/kernel/index.ts";
import { dispatch, type Handlers, SpawnedProcess, type SpawnOptions } from "../code/script-host/index.ts";

/** The options that the process of a service under test is started with. */
export interface TestServiceOptions {
  /** The requested configuration file; null for `./config.json`, if the file exists. */
  readonly config: string | null;
  /** The folder of the data, which exists. */
  readonly data: string;
  /** The lowest level of the log that is shown. */
  readonly logLevel: "INFO" | "WARN";
}

export interface ToService {
  readonly id: number;
  readonly call: TestCall;
}

export type FromService =
  | { readonly type: "ready"; readonly url: string; readonly endpointsPrefix: string }
  /** The service does not start: a line for each reason. */
  | { readonly type: "failed"; readonly message: string }
  | { readonly type: "answer"; readonly id: number; readonly value: unknown }
  | { readonly type: "refusal"; readonly id: number; readonly message: string }
  | { readonly type: "log"; readonly line: string };

export class RunningService {
  readonly #process: SpawnedProcess<ToService, FromService>;
  readonly #address = Promise.withResolvers<Omit<TestServiceAddress, "service">>();
  /** Resolves when the service answers requests. Rejects with a `SetupError` that has a line for each reason of the failure. */
  readonly address = this.#address.promise;
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>();
  readonly #onLog: (line: string) => void;
  #lastCall = 0;
  #hasEnded = false;
  #isDone = false;
  readonly #handlers: Handlers<FromService> = {
    ready: ({ url, endpointsPrefix }) => this.#address.resolve({ url, endpointsPrefix }),
    failed: ({ message }) => {
      this.#address.reject(new SetupError(message));
      this.kill();
    },
    log: ({ line }) => this.#onLog(line),
    answer: ({ id, value }) => this.#take(id)?.resolve(value),
    refusal: ({ id, message }) => this.#take(id)?.reject(new Error(message)),
  };

  constructor(process: Omit<SpawnOptions, "word">, onLog: (line: string) => void) {
    this.#onLog = onLog;
    this.#process = new SpawnedProcess({ ...process, word: "test-service" }, (message) =>
      dispatch(this.#handlers, message),
    );
    void this.#process.exited.then(({ how }) => this.#end(how));
  }

  get exited(): Promise<unknown> {
    return this.#process.exited;
  }

  /** @throws Error with the reason of the service, or when the service has ended. */
  call(call: TestCall): Promise<unknown> {
    if (this.#hasEnded) throw new Error("The service under test has ended");
    this.#lastCall += 1;
    const waiting = Promise.withResolvers<unknown>();
    this.#waiting.set(this.#lastCall, waiting);
    this.#process.send({ id: this.#lastCall, call });
    return waiting.promise;
  }

  /** Ends the service at once: the test file is over, and the data is not needed. */
  kill(): void {
    this.#isDone = true;
    this.#process.kill();
  }

  #take(id: number): PromiseWithResolvers<unknown> | undefined {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    return waiting;
  }

  #end(how: string): void {
    this.#hasEnded = true;
    const why = this.#isDone ? "the tests of its file are over" : how;
    const error = new SetupError(`The service under test has ended: ${why}`);
    this.#address.reject(error);
    for (const waiting of this.#waiting.values()) waiting.reject(error);
    this.#waiting.clear();
  }
}
