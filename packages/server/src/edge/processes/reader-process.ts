/** Reader process, as the leader sees the process: started, told of commits, asked, and ended. */
import { join } from "node:path";
import { type Channel, channelOver, Link, messageIn } from "../../base/channel/index.ts";
import { ownExecutable } from "../../base/kernel/index.ts";
import type { Logger } from "../../base/logging/index.ts";
import type { ToldCommit } from "../../store/database/index.ts";
import { kinds } from "./frames.ts";
import type { ForLeader, ForReader } from "./messages.ts";
import type { RequestTaker } from "./request-taker.ts";

/** The word of the command line that makes the executable a reader process. */
const readerWord = "reader";
/** The descriptor of the process for the link. */
export const linkDescriptor = 3;
/** Looks without an answer after which the process is ended; see `ReaderProcesses`. */
const mostLooks = 10;
/** The runtime ends the process when the leader ends, however that happens. */
const runtimeSettings = { BUN_FEATURE_FLAG_NO_ORPHANS: "1" };

interface ReaderProcessOptions {
  readonly number: number;
  readonly environment: { readonly [name: string]: string | undefined };
  readonly answers: (process: ReaderProcess) => Readonly<ForLeader>;
  readonly taker: (link: Link) => RequestTaker;
  readonly logger: Logger;
  /** Called when the process has a further position, has answered a question about the present state, or has ended. */
  readonly onProgress: () => void;
}

export class ReaderProcess {
  readonly number: number;
  readonly exited: Promise<void>;
  readonly #options: ReaderProcessOptions;
  readonly #child: Bun.Subprocess;
  #link: Link | null = null;
  #channel: Channel<ForReader, ForLeader> | null = null;
  #taker: RequestTaker | null = null;
  /** The last commit that reads and state of the process have; null before the process follows. */
  #has: number | null = null;
  /** The last commit that the process was told. */
  #told = 0;
  /** Questions about the present state that are not answered. */
  #questions = 0;
  /** Looks since the last progress while the process owes an answer. */
  #looks = 0;
  isServing = false;

  /** @throws Error when the system starts no process. */
  constructor(options: ReaderProcessOptions) {
    this.#options = options;
    this.number = options.number;
    const program = Bun.isStandaloneExecutable ? [] : [join(import.meta.dir, "../../main.ts")];
    this.#child = Bun.spawn([ownExecutable(), ...program, readerWord], {
      env: { ...options.environment, ...runtimeSettings },
      // A crash of the runtime says the reason on the standard error.
      stdio: ["ignore", "ignore", "inherit", "pipe"],
      // A signal to the process group, for example from the terminal, is for the leader, which ends the process in order.
      detached: true,
    });
    this.exited = this.#child.exited.then(() => this.#ended());
  }

  /** Opens the link. @throws Error when the process has ended already. */
  async open(): Promise<void> {
    const descriptor = this.#child.stdio[linkDescriptor];
    if (typeof descriptor !== "number") throw new Error("The process has no link");
    const link = await Link.open(descriptor, {
      onFrame: (frame) => {
        if (frame.kind === kinds.has) this.#progressed(Number(frame.head));
        else if (frame.kind === kinds.channel) this.#channel?.receive(messageIn(frame));
        else this.#taker?.take(frame);
      },
      // The exit tells the end of the process.
      onClosed: () => this.kill(),
      onError: (error) => {
        this.#options.logger.error("A message of a reader process could not be handled: the process is ended", {
          error,
        });
        this.kill();
      },
    });
    this.#taker = this.#options.taker(link);
    this.#channel = channelOver(link, { kind: kinds.channel, ours: this.#options.answers(this) });
    this.#link = link;
  }

  /** The last commit that the process has; infinite for a process that no write waits for. */
  get position(): number {
    return this.#has ?? Number.POSITIVE_INFINITY;
  }

  get follows(): boolean {
    return this.#has !== null;
  }

  /** The process has the state of a commit, and follows from now on. */
  follow(position: number): void {
    this.#has = position;
    this.#options.onProgress();
  }

  /** Tells a commit at once. @param head the JSON of the commit. */
  commit({ position }: ToldCommit, head: string): void {
    this.#told = position;
    this.#link?.send({ kind: kinds.commit, head });
    this.#link?.flush();
  }

  /** @param head the JSON of the events. */
  events(head: string): void {
    this.#link?.send({ kind: kinds.events, head });
  }

  get channel(): Channel<ForReader, ForLeader> {
    if (this.#channel === null) throw new Error("The process has no link yet");
    return this.#channel;
  }

  /** Asks for the present state to be read anew. Resolves when that is done, or when the process has ended. */
  async renew(): Promise<void> {
    this.#questions += 1;
    await this.channel.call("renew", null).catch(() => this.exited);
    this.#questions -= 1;
    this.#looks = 0;
  }

  /** Looks for progress. A process that owes an answer for ten looks is ended; a look counts only if the event loop of the leader turns. */
  look(): void {
    const owes = this.#questions > 0 || (this.#has !== null && this.#has < this.#told);
    this.#looks = owes ? this.#looks + 1 : 0;
    if (this.#looks >= mostLooks) this.kill();
  }

  kill(): void {
    this.#child.kill("SIGKILL");
  }

  #progressed(position: number): void {
    this.#has = position;
    this.#looks = 0;
    this.#options.onProgress();
  }

  #ended(): void {
    this.#has = null;
    this.isServing = false;
    this.#channel?.end(new Error("The other process has ended"));
    this.#taker?.close();
    this.#link?.end();
    this.#options.onProgress();
  }
}
