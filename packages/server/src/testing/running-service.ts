/**
 * The command's side of a service under test: the process, the calls that wait for an answer, the end; and the protocol
 * between the command and the service, over the channel of a child process.
 */
import type { TestCall, TestServiceAddress } from "@socle/protocol";
import { Channel, type ChannelMessage } from "../base/channel/index.ts";
import { SetupError } from "../base/kernel/index.ts";
import { SpawnedProcess, type SpawnOptions } from "../code/script-host/index.ts";

/** The options that the process of a service under test is started with. */
export interface TestServiceOptions {
  /** The requested configuration file; null for `./config.json`, if the file exists. */
  readonly config: string | null;
  /** The folder of the data, which exists. */
  readonly data: string;
  /** The lowest level of the log that is shown. */
  readonly logLevel: "INFO" | "WARN";
}

/** The handlers of the service. */
export interface ForService {
  /** @throws Error with the reason. */
  carryOut(call: TestCall): Promise<unknown>;
}

/** The messages that the command takes. */
export interface ForCommand {
  ready(address: Omit<TestServiceAddress, "service">): void;
  /** The service does not start: a line for each reason. */
  failed(message: string): void;
  log(line: string): void;
}

export class RunningService {
  readonly #process: SpawnedProcess<ChannelMessage, ChannelMessage>;
  readonly #channel: Channel<ForService, ForCommand>;
  readonly #address = Promise.withResolvers<Omit<TestServiceAddress, "service">>();
  /** Resolves when the service answers requests. Rejects with a `SetupError` that has a line for each reason of the failure. */
  readonly address = this.#address.promise;
  #isDone = false;

  constructor(options: Omit<SpawnOptions, "word">, onLog: (line: string) => void) {
    const receive = (message: ChannelMessage): void => this.#channel.receive(message);
    this.#process = new SpawnedProcess({ ...options, word: "test-service" }, receive);
    this.#channel = new Channel((message) => this.#process.send(message), {
      ready: (address) => this.#address.resolve(address),
      failed: (message) => {
        this.#address.reject(new SetupError(message));
        this.kill();
      },
      log: onLog,
    });
    void this.#process.exited.then(({ how }) => this.#end(how));
  }

  get exited(): Promise<unknown> {
    return this.#process.exited;
  }

  /** @throws PeerError with the reason of the service; SetupError when the service has ended. */
  call(call: TestCall): Promise<unknown> {
    return this.#channel.call("carryOut", call);
  }

  /** Ends the service at once: the test file is over, and the data is not needed. */
  kill(): void {
    this.#isDone = true;
    this.#process.kill();
  }

  #end(how: string): void {
    const why = this.#isDone ? "the tests of its file are over" : how;
    const error = new SetupError(`The service under test has ended: ${why}`);
    this.#address.reject(error);
    this.#channel.end(error);
  }
}
