import type { PausableReads } from "../database/index.ts";
import { AppError, Gate } from "../kernel/index.ts";
import { HostProcess, type ProcessOptions } from "./host-process.ts";
import type { CallError } from "./protocol.ts";

/** Processes at most, each with one query at a time. */
const width = 2;
/** A process that has nothing to do for this long is ended. */
const idleMs = 10_000;
/** Processes that may end under one query, which changes nothing and is asked again: it may be to blame for as many. */
const maxEnds = 3;
/** How often it is looked whether all queries have ended. */
const drainLookMs = 5;

export interface QueryMessage {
  readonly sql: string;
  /** JSON. */
  readonly params: string;
}

export type QueryAnswer = { readonly rows: string } | { readonly error: CallError };

type QueryProcess = HostProcess<QueryMessage, QueryAnswer>;

/** The process has ended by itself, or was killed from outside: how, in words. */
interface Ended {
  readonly ended: string;
}

/** A process for queries, and what waits for its answer. */
interface Seat {
  readonly process: QueryProcess;
  onAnswer: ((answer: QueryAnswer | Ended) => void) | null;
  timer: Timer | null;
}

/**
 * Runs `db.query` beside the service: SQL that somebody wrote by hand can take for ever, and SQLite does not let go of
 * the thread that it runs on. The process has the database open for reading alone.
 */
export class QueryPool implements PausableReads {
  readonly #options: Omit<ProcessOptions, "word">;
  readonly #timeoutMs: number;
  readonly #gate = new Gate(width);
  readonly #free: Seat[] = [];
  readonly #all = new Set<Seat>();
  /** Processes that were ended and have not gone yet. */
  readonly #ending = new Set<Promise<unknown>>();
  /** While the write-ahead log must start over, no query begins. */
  #pause: PromiseWithResolvers<void> | null = null;
  #isStopped = false;

  constructor(options: Omit<ProcessOptions, "word"> & { timeoutMs: number }) {
    this.#options = options;
    this.#timeoutMs = options.timeoutMs;
  }

  /** The rows of a query, as JSON. @throws AppError `bad_request`, also when it takes longer than that. */
  run(query: QueryMessage, timeoutMs: number): Promise<string> {
    return this.#gate.run(async () => {
      for (let ends = 1; ; ends += 1) {
        const answer = await this.#attempt(query, timeoutMs);
        if ("rows" in answer) return answer.rows;
        if ("error" in answer) throw new AppError(answer.error.code, answer.error.message);
        if (ends === maxEnds) throw new AppError("bad_request", `db.query: its process ended (${answer.ended})`);
      }
    });
  }

  async #attempt(query: QueryMessage, timeoutMs: number): Promise<QueryAnswer | Ended> {
    while (this.#pause !== null) await this.#pause.promise;
    if (this.#isStopped) throw new AppError("unavailable", "The service is stopping.");
    const free = this.#free.pop();
    const seat = free === undefined || free.process.hasExited ? this.#open() : free;
    clearTimeout(seat.timer ?? undefined);
    const answer = await this.#ask(seat, query, Math.min(timeoutMs, this.#timeoutMs));
    if (this.#all.has(seat)) this.#park(seat);
    return answer;
  }

  /** Resolves when no process has the database open any more: the last to close it tidies up. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.resume();
    const seats = [...this.#all];
    for (const seat of seats) this.#end(seat);
    await Promise.all([...seats.map((seat) => seat.process.exited), ...this.#ending]);
  }

  async drain(): Promise<void> {
    this.#pause ??= Promise.withResolvers();
    // A process that was ended holds what it read until it has gone.
    while ((this.#busy().length > 0 || this.#ending.size > 0) && !this.#isStopped) await Bun.sleep(drainLookMs);
  }

  resume(): void {
    this.#pause?.resolve();
    this.#pause = null;
  }

  cutOff({ code, message }: AppError): void {
    for (const seat of this.#busy()) {
      this.#end(seat);
      seat.onAnswer?.({ error: { code, message: `db.query: ${message}` } });
    }
  }

  /** Those with a query. */
  #busy(): Seat[] {
    return [...this.#all].filter(({ onAnswer }) => onAnswer !== null);
  }

  #open(): Seat {
    const seat: Seat = {
      process: new HostProcess<QueryMessage, QueryAnswer>({ ...this.#options, word: "script-query" }, (answer) =>
        seat.onAnswer?.(answer),
      ),
      onAnswer: null,
      timer: null,
    };
    this.#all.add(seat);
    seat.process.exited.then(({ how }) => {
      this.#end(seat);
      seat.onAnswer?.({ ended: how });
    });
    return seat;
  }

  #ask(seat: Seat, message: QueryMessage, timeoutMs: number): Promise<QueryAnswer | Ended> {
    return new Promise((resolve) => {
      const limit = setTimeout(() => {
        this.#end(seat);
        const seconds = (timeoutMs / 1_000).toFixed(1);
        resolve({ error: { code: "bad_request", message: `db.query: the query ran longer than ${seconds} s` } });
      }, timeoutMs);
      seat.onAnswer = (answer) => {
        clearTimeout(limit);
        seat.onAnswer = null;
        resolve(answer);
      };
      seat.process.send(message);
    });
  }

  #park(seat: Seat): void {
    this.#free.push(seat);
    seat.timer = setTimeout(() => this.#end(seat), idleMs);
    seat.timer.unref();
  }

  #end(seat: Seat): void {
    clearTimeout(seat.timer ?? undefined);
    this.#all.delete(seat);
    const at = this.#free.indexOf(seat);
    if (at >= 0) this.#free.splice(at, 1);
    seat.process.kill();
    const ending = seat.process.exited;
    this.#ending.add(ending);
    void ending.then(() => this.#ending.delete(ending));
  }
}
