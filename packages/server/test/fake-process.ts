/** A script process without a process: a test reads the messages to the process, writes its answers, and decides when the process ends. */

import type { ProcessEnd } from "../src/code/script-host/host-process.ts";
import type { CodeProcess } from "../src/code/script-host/process.ts";
import type { FromChild, HandlerOutcome, Invocation, ToChild } from "../src/code/script-host/protocol.ts";
import { until } from "./sockets.ts";

export class FakeProcess implements CodeProcess {
  readonly sent: ToChild[] = [];
  readonly #end = Promise.withResolvers<ProcessEnd>();
  readonly exited = this.#end.promise;
  readonly #say: (message: FromChild) => void;
  readonly #answerLoad: (path: string, process: FakeProcess) => FromChild | null;
  hasExited = false;
  residentBytes: number | null = 0;
  lastBegun = 0;
  hasStoodBack = false;
  /** The watch of the memory finds more than the limit. */
  exceedMemory: () => void = () => undefined;

  constructor(
    say: (message: FromChild) => void,
    answerLoad: (path: string, process: FakeProcess) => FromChild | null = loaded,
  ) {
    this.#say = say;
    this.#answerLoad = answerLoad;
  }

  send(message: ToChild): void {
    this.sent.push(message);
    if (message.type !== "load") return;
    const answer = this.#answerLoad(message.path, this);
    if (answer !== null) this.say(answer);
  }

  /** The process sends a message. */
  say(message: FromChild): void {
    this.#say(message);
  }

  watchMemory(_limit: number, onMore: () => void): void {
    this.exceedMemory = onMore;
  }

  standBack(): void {
    this.hasStoodBack = true;
  }

  kill(): void {
    this.end("signal SIGKILL", "SIGKILL");
  }

  /** The process ends by itself. */
  end(how = "exit code 1", signal: string | null = null): void {
    this.hasExited = true;
    this.#end.resolve({ how, signal });
  }

  /** The attempts sent to the process, by the id of their run. */
  runs(): Map<string, Invocation> {
    const calls = this.sent.flatMap((message) => (message.type === "invoke" ? message.calls : []));
    return new Map(calls.map((call) => [call.input.runId, call]));
  }

  /** Waits until the attempt of a run was sent, and begins the attempt, or answers for the attempt. */
  async answer(runId: string, answer: "started" | "completed" | HandlerOutcome): Promise<void> {
    await until(() => this.runs().has(runId));
    const attempt = this.runs().get(runId)?.attempt ?? 0;
    if (answer === "started") this.lastBegun = Math.max(this.lastBegun, attempt);
    else this.say({ type: "answers", answers: [{ attempt, outcome: answer === "completed" ? completed : answer }] });
  }
}

/** A handler without a value. */
const completed = { status: "answered", value: "null" } as const;

export function loaded(path: string): FromChild {
  return { type: "loaded", path, loaded: { exports: { functions: ["default"], values: {} } } };
}

export function broken(path: string, message: string): FromChild {
  return { type: "loaded", path, loaded: { error: { message } } };
}
