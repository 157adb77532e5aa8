/** State of an instance that keeps the instance from serving or leading, or that the operator should know: its journal, files, bucket and clock. */
import type { Logger } from "../../base/logging/index.ts";

/** A smaller difference of two clocks does not count: questions between instances take time. */
const clockToleranceMs = 10_000;
const minuteMs = 60_000;

/** The begin of the problem of an instance that can lead, and serves when an instance of its version leads. */
const waiting = "waits for a leader of its version: ";

/** Whether an instance with this problem waits for a leader of its version, and may lead. */
export function isWaiting(problem: string | null): boolean {
  return problem?.startsWith(waiting) === true;
}

export class InstanceState {
  readonly #address: string;
  readonly #filesOf: () => string;
  readonly #logger: Logger;
  /** The fingerprint of the project folder, as the role of this instance has read the folder. */
  files: string;
  #isSuperseded = false;
  #aheadMs = 0;
  /** Why this instance serves nothing: the journal does not have the state of the instance. */
  lost: string | null = null;
  /** How the tables of the cluster differ from the tables of this version, while the instance cannot follow for this reason. */
  tables: { readonly text: string; readonly isTooOld: boolean } | null = null;
  /** Why the bucket does not serve this instance; null when the bucket answers. An instance that the bucket refuses never leads. */
  storage: { readonly text: string; readonly isRefused: boolean } | null = null;

  constructor({ address, filesOf, logger }: { address: string; filesOf: () => string; logger: Logger }) {
    this.#address = address;
    this.#filesOf = filesOf;
    this.#logger = logger;
    this.files = filesOf();
  }

  /** Faults that leave the instance ready, as lines. */
  get notes(): readonly string[] {
    return this.storage === null ? [] : [this.storage.text];
  }

  /** All problems in a line, for the status; null for no problem. */
  get problem(): string | null {
    const problems = [this.#ofTables, this.lost, this.ofFiles, this.#ofClock, this.storage?.text ?? null];
    return problems.filter((each) => each !== null).join("; ") || null;
  }

  /** Whether other files have followed the files of this instance. */
  get isSuperseded(): boolean {
    return this.#isSuperseded;
  }

  /** Reads the project folder anew. */
  readFiles(): void {
    this.files = this.#filesOf();
  }

  /** Takes the fingerprints with which instances have led, in order. */
  compareFiles(order: readonly string[]): void {
    const before = this.#isSuperseded;
    this.#isSuperseded = order.includes(this.files) && order.at(-1) !== this.files;
    if (this.#isSuperseded && !before) this.#logger.warn(`This instance may not lead: ${this.ofFiles}`);
  }

  /** Takes the difference to the clock of the leader. Answers the difference; 0 within the tolerance. */
  compareClock(aheadMs: number): number {
    const before = this.#aheadMs;
    this.#aheadMs = Math.abs(aheadMs) < clockToleranceMs ? 0 : aheadMs;
    if (this.#aheadMs !== 0 && before === 0)
      this.#logger.warn(`Tokens are judged by the clock of the leader: ${this.#ofClock}`);
    return this.#aheadMs;
  }

  /** Why the files keep this instance from leading; null for files that were not superseded. */
  get ofFiles(): string | null {
    if (!this.#isSuperseded) return null;
    return `the files of the project folder (${this.files}) were superseded: this instance follows and never leads. Give it the files of the leader; or go back to its files on purpose: socle cluster lead ${this.#address} --with-its-files`;
  }

  get #ofTables(): string | null {
    if (this.tables === null) return null;
    const { text, isTooOld } = this.tables;
    return isTooOld ? `this version is too old for the cluster: ${text}; upgrade the instance` : `${waiting}${text}`;
  }

  get #ofClock(): string | null {
    if (this.#aheadMs === 0) return null;
    const minutes = (Math.abs(this.#aheadMs) / minuteMs).toFixed(1);
    const side = this.#aheadMs > 0 ? "ahead of" : "behind";
    return `the clock of this machine is ${minutes} min ${side} the clock of the leader; set the clock (NTP)`;
  }
}
