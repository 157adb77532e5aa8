import { setPriority } from "node:os";
import { isAbsolute } from "node:path";
import { ownCommand, withoutSettings } from "./own-command.ts";
import type { FromChild, ProcessWord, ToChild } from "./protocol.ts";
import { residentBytes } from "./resident.ts";

/** Behind the service, where both want the processor. */
const niceness = 5;
/** The end of what a process writes to its standard error, where a runtime that crashes leaves its last words. */
const maxLastWords = 2_000;

export interface ProcessOptions {
  readonly word: ProcessWord;
  /** What the process needs to know; it goes as one word on its command line. */
  readonly options: object;
  readonly cwd: string;
  /** The service's environment; what configures the service stays here. */
  readonly environment: { readonly [name: string]: string | undefined };
}

/** How a process ended. */
export interface ProcessEnd {
  /** In words: the signal or the exit code, and its last words. */
  readonly how: string;
  /** The signal that has ended it; null when none did, or when that is not known. */
  readonly signal: string | null;
}

/** A process of the same executable, in a group of its own, with a channel for messages. */
export class HostProcess<Out extends object, In> {
  readonly #child: Bun.Subprocess<"ignore", "ignore", "pipe">;
  readonly exited: Promise<ProcessEnd>;

  constructor(options: ProcessOptions, onMessage: (message: In) => void) {
    if (!isAbsolute(options.cwd)) throw new Error("The process needs an absolute folder");
    this.#child = Bun.spawn([...ownCommand(), options.word, JSON.stringify(options.options)], {
      cwd: options.cwd,
      // The runtime ends the process when this one ends, however that happens, also in an endless loop.
      env: { ...withoutSettings(options.environment), BUN_FEATURE_FLAG_NO_ORPHANS: "1" },
      stdin: "ignore",
      stdout: "ignore",
      stderr: "pipe",
      // A signal to the group, from the terminal or from the user's code, is for one of the two alone.
      detached: true,
      serialization: "advanced",
      // The other side is the same executable.
      ipc: (message) => onMessage(message as In),
    });
    try {
      setPriority(this.#child.pid, niceness);
    } catch {
      // It has ended already, or may not be changed; it runs all the same.
    }
    this.exited = this.#watch();
  }

  send(message: Out): void {
    if (this.hasExited) return;
    try {
      this.#child.send(message);
    } catch {
      // The channel closes a moment before the end is known; `exited` tells.
    }
  }

  get hasExited(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  get residentBytes(): number | null {
    return residentBytes(this.#child.pid);
  }

  kill(): void {
    this.#child.kill("SIGKILL");
  }

  async #watch(): Promise<ProcessEnd> {
    let lastWords = "";
    const listen = async (): Promise<void> => {
      const decoder = new TextDecoder();
      for await (const chunk of this.#child.stderr)
        lastWords = (lastWords + decoder.decode(chunk)).slice(-maxLastWords);
    };
    const listening = listen();
    await this.#child.exited;
    // A process that it has started may hold the other end open for longer.
    await Promise.race([listening, Bun.sleep(50)]);
    const { signalCode, exitCode } = this.#child;
    const how = signalCode === null ? `exit code ${exitCode}` : `signal ${signalCode}`;
    const said = lastWords.trim().split("\n").slice(-3).join(" ").trim();
    return { how: said === "" ? how : `${how}: ${said}`, signal: signalCode === null ? null : String(signalCode) };
  }
}

export type ScriptProcess = HostProcess<ToChild, FromChild>;
