/** The protocol between `socle test` and a service under test, over the channel of a child process. */
import type { TestCall } from "@socle/protocol";

/** The options that the process of a service under test is started with. */
export interface TestServiceOptions {
  /** The requested configuration file; null for `./config.json`, if the file exists. */
  readonly config: string | null;
  /** The folder of its data, which exists. */
  readonly data: string;
  /** The lowest level of its log that is shown. */
  readonly logLevel: "INFO" | "WARN";
}

export interface ToService {
  readonly id: number;
  readonly call: TestCall;
}

export type FromService =
  | { readonly type: "ready"; readonly url: string }
  /** The service does not start: a line for each reason. */
  | { readonly type: "failed"; readonly message: string }
  | { readonly type: "answer"; readonly id: number; readonly value: unknown }
  | { readonly type: "refusal"; readonly id: number; readonly message: string }
  | { readonly type: "log"; readonly line: string };
