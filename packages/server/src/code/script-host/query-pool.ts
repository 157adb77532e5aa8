/** The query pool: runs `db.query` of the user's code in processes that have the database open for reading. */
import { Channel, type ChannelMessage } from "../../base/channel/index.ts";
import { Admission, AppError, callerGone, messageOf } from "../../base/kernel/index.ts";
import {
  type PausableReads,
  type QueryTable,
  SchemaChanged,
  type ShownQuery,
  type Waiter,
} from "../../store/database/index.ts";
import { type HostProcess, SpawnedProcess, type SpawnOptions } from "./host-process.ts";

/** Queries at a time, each in a process, beside long queries. A file has two, so that other files always find a process. */
const width = 3;
const share = 2;
/** A query that runs for so long is a long query, and leaves the place to another query. */
export const longQueryMs = 1_000;
/** Long queries that have left the place. */
const maxLong = 3;
/** The time after which a process without a query is ended. */
const idleMs = 10_000;
/** Processes that may end under a query. A query changes nothing, so the query is asked again. */
const maxEnds = 3;
/** Resident memory of a process, in bytes, and the interval of the looks at a query. SQLite is built without a bound of memory. */
const maxMemory = 512 * 1024 ** 2;
const memoryLookMs = 50;
/** The interval at which `drain` looks whether all queries have ended. */
const drainPollMs = 5;

export interface QueryMessage {
  readonly sql: string;
  readonly params: string;
  /** Tables with further names of columns; absent when the process knows the names. */
  readonly aliased?: readonly QueryTable[];
}

/** A query whose first rows a person looks at. */
interface ShowMessage extends Omit<QueryMessage, "params"> {
  /** Of the rows; 0 for the plan alone. */
  readonly limit: number;
}

/** The rows of a query as JSON, with the names of the tables that the query reads. */
export interface QueryRows {
  readonly rows: string;
  readonly tables: readonly string[];
}

/** A query of a view: an input of `runQuery` as JSON, for tables of a version. */
export interface ViewMessage {
  readonly input: string;
  readonly schemaVersion: number;
}

/** The handlers of a process. */
export interface QueryHandlers {
  /** @throws AppError as `UserQueries.run`. */
  query(message: QueryMessage): QueryRows;
  /** @throws AppError as `UserQueries.show`. */
  show(message: ShowMessage): ShownQuery;
  /** Answers the JSON of the outcome of `runQuery`; null for tables of another version. */
  view(message: ViewMessage): Promise<string | null>;
}

interface PooledProcess {
  readonly host: HostProcess<ChannelMessage>;
  readonly channel: Channel<QueryHandlers, object>;
  /** The tables with further names that the process knows. */
  aliased: readonly QueryTable[];
  /** Ends a process that has been free for long. */
  timer: Timer | null;
}

export interface QueryOptions {
  readonly database: string;
  /** The tables of the service that queries may read. */
  readonly tables: readonly QueryTable[];
}

interface QueryPoolOptions extends Omit<SpawnOptions, "word"> {
  readonly options: QueryOptions;
  readonly timeoutMs: number;
  /** The tables with further names of columns, the same array while the names stay. */
  readonly aliased: () => readonly QueryTable[];
  /** Queries of views that may wait, of all callers and of one caller. */
  readonly views?: { readonly maxWaiting: number; readonly waitingShare: number };
}

const tooMuch = "Too much is being looked at already; try again in a moment.";

/** SQLite does not let go of the thread before a query ends, so a query beyond the time is ended with the process. */
export class QueryPool implements PausableReads {
  readonly #options: QueryPoolOptions;
  readonly #admission = new Admission({ width, share });
  /** Queries of views: one at a time of each caller. */
  readonly #views: Admission;
  /** The long queries that have left the place. */
  #long = 0;
  readonly #all = new Set<PooledProcess>();
  /** The ends of processes that were killed and have not gone yet. */
  readonly #ending = new Set<Promise<unknown>>();
  /** Unresolved while no query may begin, because the write-ahead log must start over. */
  #pause: PromiseWithResolvers<void> | null = null;
  #isStopped = false;

  constructor(options: QueryPoolOptions) {
    this.#options = options;
    const { views, timeoutMs: patienceMs } = options;
    this.#views = new Admission({ limit: "queries", message: tooMuch, width, share: 1, patienceMs, ...views });
  }

  /**
   * Runs a query of a view: see `ViewRunner`. A query beyond the time, or without a caller, ends with the process.
   * @throws AppError `unavailable`.
   */
  async view(makeMessage: () => ViewMessage, { caller, signal }: Waiter): Promise<string> {
    const place = await this.#views.take({ caller, signal });
    try {
      const outcome = await this.#attempt(({ channel }) => channel.call("view", makeMessage()), {
        timeoutMs: this.#options.timeoutMs,
        signal,
        tooLong: (seconds) => {
          const message = `This takes longer than ${seconds} s to look up; narrow it down.`;
          return new AppError("unavailable", message, { limit: "queries" });
        },
      });
      if (outcome === null) throw new SchemaChanged();
      return outcome;
    } finally {
      place.release();
    }
  }

  /**
   * The rows of a query.
   * @param from the file that asks, and the time of the query in milliseconds.
   * @throws AppError `bad_request`, also when the query runs longer than the time.
   */
  async query(
    query: QueryMessage,
    { file, timeoutMs, isUrgent = false }: { file: string | null; timeoutMs: number; isUrgent?: boolean },
  ): Promise<QueryRows> {
    if (isUrgent && (this.#pause !== null || !this.#admission.has({ caller: file })))
      throw new AppError("unavailable", "db.query: the query would have to wait.");
    const call = (pooled: PooledProcess): Promise<QueryRows> =>
      pooled.channel.call("query", this.#withNames(pooled, query));
    return await this.#placed({ caller: file }, () => this.#again(call, { timeoutMs, tooLong }));
  }

  /** The plan and the first rows of a query, in the places of `query`. @throws AppError as `query`; `unavailable` without a caller. */
  async show(
    query: ShowMessage,
    { caller, signal, timeoutMs }: Pick<Waiter, "caller" | "signal"> & { timeoutMs: number },
  ): Promise<ShownQuery> {
    const call = (pooled: PooledProcess): Promise<ShownQuery> =>
      pooled.channel.call("show", this.#withNames(pooled, query));
    return await this.#placed({ caller, signal }, () => this.#again(call, { timeoutMs, tooLong, signal }));
  }

  /** Works with a place of the queries, which the work leaves when it takes long. */
  async #placed<T>(ask: { caller: string | null; signal?: AbortSignal }, work: () => Promise<T>): Promise<T> {
    const place = await this.#admission.take(ask);
    let isLong = false;
    const look = setInterval(() => {
      if (isLong || this.#long >= maxLong) return;
      isLong = true;
      this.#long += 1;
      place.release();
    }, longQueryMs);
    try {
      return await work();
    } finally {
      clearInterval(look);
      if (isLong) this.#long -= 1;
      place.release();
    }
  }

  async #again<T>(call: (pooled: PooledProcess) => Promise<T>, attempt: Attempt): Promise<T> {
    for (let ends = 1; ; ends += 1) {
      try {
        return await this.#attempt(call, attempt);
      } catch (thrown) {
        if (thrown instanceof AppError) throw thrown;
        if (ends === maxEnds) throw new AppError("bad_request", `db.query: its process ended (${messageOf(thrown)})`);
      }
    }
  }

  /** The message, with the tables of further names unless the process knows the names. */
  #withNames<M extends object>(pooled: PooledProcess, message: M): M & Pick<QueryMessage, "aliased"> {
    const aliased = this.#options.aliased();
    const sent = pooled.aliased === aliased ? message : { ...message, aliased };
    pooled.aliased = aliased;
    return sent;
  }

  /** Asks a free process, which ends with a call that takes too long or whose caller has gone. */
  async #attempt<T>(call: (pooled: PooledProcess) => Promise<T>, { timeoutMs, tooLong, signal }: Attempt): Promise<T> {
    while (this.#pause !== null) await this.#pause.promise;
    if (this.#isStopped) throw stopping();
    const free = [...this.#all].find(({ host, channel }) => !channel.isBusy && !host.hasExited);
    const pooled = free ?? this.#open();
    clearTimeout(pooled.timer ?? undefined);
    const limitMs = Math.min(timeoutMs, this.#options.timeoutMs);
    const limit = setTimeout(() => this.#end(pooled, tooLong((limitMs / 1_000).toFixed(1))), limitMs);
    const look = setInterval(() => {
      if ((pooled.host.residentBytes ?? 0) > maxMemory) this.#end(pooled, tooLarge());
    }, memoryLookMs);
    const leave = (): void => this.#end(pooled, callerGone());
    signal?.addEventListener("abort", leave);
    try {
      return await call(pooled);
    } catch (thrown) {
      // Without an answer, nothing is known of the state of the process.
      if (!(thrown instanceof AppError)) this.#end(pooled, stopping());
      throw thrown;
    } finally {
      clearTimeout(limit);
      clearInterval(look);
      signal?.removeEventListener("abort", leave);
      if (this.#all.has(pooled)) pooled.timer = setTimeout(() => this.#end(pooled, stopping()), idleMs).unref();
    }
  }

  /** Resolves when no process has the database open any more, so that the service is the last to close the database. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.resume();
    for (const pooled of this.#all) this.#end(pooled, stopping());
    await Promise.all(this.#ending);
  }

  async drain(): Promise<void> {
    this.#pause ??= Promise.withResolvers();
    // A process that was killed holds the snapshot of the database until the end.
    while ((this.#busy().length > 0 || this.#ending.size > 0) && !this.#isStopped) await Bun.sleep(drainPollMs);
  }

  resume(): void {
    this.#pause?.resolve();
    this.#pause = null;
  }

  cutOff(reason: AppError): void {
    for (const pooled of this.#busy()) this.#end(pooled, reason);
  }

  #busy(): PooledProcess[] {
    return [...this.#all].filter(({ channel }) => channel.isBusy);
  }

  #open(): PooledProcess {
    const receive = (message: ChannelMessage): void => channel.receive(message);
    const host = new SpawnedProcess<ChannelMessage, ChannelMessage>(
      { ...this.#options, word: "script-query" },
      receive,
    );
    const channel = new Channel<QueryHandlers, object>((message) => host.send(message), {});
    const pooled: PooledProcess = { host, channel, aliased: [], timer: null };
    this.#all.add(pooled);
    void host.exited.then(({ how }) => this.#end(pooled, new Error(how)));
    return pooled;
  }

  /** Ends a process. A query under way is rejected with `reason`. */
  #end(pooled: PooledProcess, reason: Error): void {
    clearTimeout(pooled.timer ?? undefined);
    this.#all.delete(pooled);
    pooled.channel.end(reason);
    pooled.host.kill();
    const ending = pooled.host.exited;
    this.#ending.add(ending);
    void ending.then(() => this.#ending.delete(ending));
  }
}

/** A call of a process. */
interface Attempt {
  readonly timeoutMs: number;
  /** The error of a call that takes longer than so many seconds. */
  readonly tooLong: (seconds: string) => AppError;
  readonly signal?: AbortSignal;
}

function tooLong(seconds: string): AppError {
  return new AppError("bad_request", `db.query: the query ran longer than ${seconds} s`);
}

function tooLarge(): AppError {
  return new AppError("bad_request", `db.query: the query took more than ${maxMemory / 1024 ** 2} MiB of memory`);
}

function stopping(): AppError {
  return new AppError("unavailable", "The service is stopping.");
}
