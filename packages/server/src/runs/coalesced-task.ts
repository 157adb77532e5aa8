/** A coalesced task: work that many ask for, and that is done once for all of them. */

export interface CoalescedTaskOptions {
  /** Never rejects. */
  readonly run: () => Promise<void>;
  /** Called when it is over. */
  readonly after: () => void;
}

/**
 * Runs once for all requests of one turn of the event loop, never twice at a time, and once more where a request came while it
 * ran.
 */
export class CoalescedTask {
  readonly #options: CoalescedTaskOptions;
  #isDue = false;
  #isRunning = false;

  constructor(options: CoalescedTaskOptions) {
    this.#options = options;
  }

  get isRunning(): boolean {
    return this.#isRunning;
  }

  /** Whether it runs, or will. */
  get isPending(): boolean {
    return this.#isRunning || this.#isDue;
  }

  request(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    if (!this.#isRunning) setImmediate(() => this.#start());
  }

  async #start(): Promise<void> {
    this.#isDue = false;
    this.#isRunning = true;
    await this.#options.run();
    this.#isRunning = false;
    this.#options.after();
    if (this.#isDue) setImmediate(() => this.#start());
  }
}
