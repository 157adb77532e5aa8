/**
 * Reader processes: the leader's side of the reader processes. The processes are started, and started again after an end; each commit is
 * told at once, and a write is answered when each process has the commit. A process that says nothing for about a second while a
 * write waits is ended and replaced.
 */
import { messageOf } from "../../base/kernel/index.ts";
import type { LogEntry, Logger, LogLevel } from "../../base/logging/index.ts";
import type { ServerQueries } from "../../code/server-queries/index.ts";
import type { Records } from "../../data/records/index.ts";
import type { SocketPart, SocketQuery } from "../../live/realtime/index.ts";
import type { RoomLink, Rooms } from "../../live/rooms/index.ts";
import type { ProcessNumbers } from "../../operate/admin/index.ts";
import type { Auth } from "../../people/auth/index.ts";
import type { Followers, PausableReads, ToldCommit } from "../../store/database/index.ts";
import type { EventLog, LoggedEvent } from "../../store/events/index.ts";
import { type HttpServer, runOperation } from "../http/index.ts";
import type { ForLeader, ReaderStart } from "./messages.ts";
import { ReaderProcess } from "./reader-process.ts";
import { namesOf, runFor } from "./remote-queries.ts";
import { RequestTaker } from "./request-taker.ts";

/** The time between two looks at the progress of the processes. */
const lookMs = 100;
/** The pause before a process that has ended is started again: doubled each time, up to the longest, until the process serves. */
const pauseMs = { first: 100, longest: 5_000 };
/** The longest that a start of the service waits for the processes; the service then goes on without them. */
const startMs = 10_000;

/** The longest that a process may take to end after the last request. */
const endMs = 500;

export interface ReaderProcessesOptions {
  /** How many processes. */
  readonly count: number;
  readonly environment: { readonly [name: string]: string | undefined };
  readonly auth: Auth;
  readonly events: EventLog;
  readonly queries: ServerQueries;
  readonly records: Records;
  readonly rooms: () => Rooms;
  /** See `WritePositions`, for the sockets of all processes. */
  readonly wrote: (caller: string) => void;
  readonly logger: Logger;
  /** Takes an entry of the log of a process. */
  readonly onEntry: (entry: LogEntry) => void;
  /** The parts of the start of a process that the leader's modules know. */
  readonly start: () => Omit<ReaderStart, "number" | "position" | "queries" | "rooms">;
}

/** A commit whose writes wait for the processes. */
interface Waiting {
  readonly position: number;
  readonly resolve: () => void;
}

export class ReaderProcesses implements Followers, PausableReads {
  readonly #options: ReaderProcessesOptions;
  readonly #http: () => Pick<HttpServer, "passedOn">;
  readonly #processes = new Map<number, ReaderProcess>();
  /** The processes with sockets, which hear of events. */
  readonly #hearing = new Set<ReaderProcess>();
  #stopListening: (() => void) | null = null;
  #waiting: Waiting[] = [];
  #position = 0;
  #isStopping = false;
  #looking: Timer | null = null;
  #whenServing: (() => void) | null = null;

  constructor(options: ReaderProcessesOptions, http: () => Pick<HttpServer, "passedOn">) {
    this.#options = options;
    this.#http = http;
  }

  /** Starts the processes. Resolves when all serve, or after some seconds. */
  async start(): Promise<void> {
    const { queries, count } = this.#options;
    queries.onLoad(() => {
      for (const { channel } of this.#open) channel.tell("queries", namesOf(queries));
    });
    this.#looking = setInterval(() => {
      for (const process of this.#processes.values()) process.look();
    }, lookMs).unref();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#whenServing = resolve;
    for (let number = 1; number <= count; number++) void this.#run(number);
    await Promise.race([promise, Bun.sleep(startMs)]);
  }

  /** The numbers of the processes that do not serve. */
  get missing(): number[] {
    const numbers = Array.from({ length: this.#options.count }, (_, i) => i + 1);
    return numbers.filter((number) => this.#processes.get(number)?.isServing !== true);
  }

  /** Whether a process has sockets. */
  get hears(): boolean {
    return this.#hearing.size > 0;
  }

  /** A write was answered. @param caller a user id or an address. */
  wrote(caller: string): void {
    for (const { channel } of this.#hearing) channel.tell("wrote", caller);
  }

  tell(commit: ToldCommit): Promise<void> | null {
    this.#position = commit.position;
    const open = this.#open;
    if (open.length === 0) return null;
    const head = JSON.stringify(commit);
    for (const process of open) process.commit(commit, head);
    if (!open.some(({ follows }) => follows)) return null;
    return new Promise((resolve) => {
      this.#waiting.push({ position: commit.position, resolve });
    });
  }

  async renew(): Promise<void> {
    await Promise.all(this.#open.filter(({ follows }) => follows).map((process) => process.renew()));
  }

  async drain(): Promise<void> {
    // A process that has ended reads nothing.
    await Promise.all(this.#open.map(({ channel }) => channel.call("drain", null).catch(() => undefined)));
  }

  resume(): void {
    for (const { channel } of this.#open) channel.tell("resume", null);
  }

  cutOff(reason: Error): void {
    for (const { channel } of this.#open) channel.tell("cutOff", messageOf(reason));
  }

  /** The numbers of each process that answers. */
  async numbers(): Promise<ReadonlyMap<number, ProcessNumbers>> {
    const asked = this.#open.map(async ({ number, channel }) => {
      const numbers = await channel.call("numbers", null).catch(() => null);
      return numbers === null ? [] : [[number, numbers] as const];
    });
    return new Map((await Promise.all(asked)).flat());
  }

  /** The processes log from another level on. */
  setLogLevel(level: LogLevel): void {
    for (const { channel } of this.#open) channel.tell("logLevel", level);
  }

  /** The open sockets of each process. */
  sockets(): ReadonlyMap<number, (query: SocketQuery) => Promise<SocketPart>> {
    return new Map(this.#open.map(({ number, channel }) => [number, (query) => channel.call("sockets", query)]));
  }

  async reload(): Promise<void> {
    const { files } = this.#options.rooms();
    await Promise.all(this.#open.map(({ channel }) => channel.call("reload", files).catch(() => undefined)));
  }

  /** The processes refuse new requests from now on. Resolves when no request runs in them, or after `graceMs`. */
  async refuse(graceMs: number): Promise<void> {
    this.#isStopping = true;
    const all = Promise.all(this.#open.map(({ channel }) => channel.call("refuse", graceMs).catch(() => undefined)));
    await Promise.race([all, Bun.sleep(graceMs)]);
  }

  /** See `HttpServer.giveUp`. */
  giveUp(): void {
    for (const { channel } of this.#open) channel.tell("giveUp", null);
  }

  /** Ends the processes; a process that does not end by itself, by force. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    for (const { channel } of this.#open) channel.tell("stop", null);
    const all = [...this.#processes.values()];
    const late = setTimeout(() => {
      for (const process of all) process.kill();
    }, endMs);
    await Promise.all(all.map(({ exited }) => exited));
    clearTimeout(late);
    clearInterval(this.#looking ?? undefined);
  }

  /** The processes with an open link. */
  get #open(): readonly ReaderProcess[] {
    return [...this.#processes.values()];
  }

  /** Keeps a process running until the stop. */
  async #run(number: number): Promise<void> {
    const { logger } = this.#options;
    let pause = pauseMs.first;
    while (!this.#isStopping) {
      const startedAt = performance.now();
      const hasServed = await this.#runOnce(number).catch((error: unknown) => {
        logger.error(`The reader process ${number} cannot be started: ${messageOf(error)}`);
        return false;
      });
      if (this.#isStopping) return;
      const seconds = Math.round((performance.now() - startedAt) / 1_000);
      logger.warn(`The reader process ${number} has ended, and is started again`, { seconds });
      pause = hasServed ? pauseMs.first : Math.min(pauseMs.longest, pause * 2);
      await Bun.sleep(pause);
    }
  }

  /** Runs a process to the end. Answers whether the process has served. */
  async #runOnce(number: number): Promise<boolean> {
    const { environment, logger, queries, rooms, start } = this.#options;
    let hasServed = false;
    const link = this.#openRooms(() => process);
    const process = new ReaderProcess({
      number,
      environment,
      onProgress: () => this.#release(),
      taker: (frames) => new RequestTaker(frames, this.#http(), logger),
      logger,
      answers: (of) => ({
        ...this.#answers(of),
        rooms: link.take,
        serving: () => {
          hasServed = true;
          of.isServing = true;
          if (this.missing.length === 0) this.#whenServing?.();
        },
      }),
    });
    try {
      await process.open();
      this.#processes.set(number, process);
      // From this moment on, each commit is told after this message.
      const names = namesOf(queries);
      const { files } = rooms();
      process.channel.tell("start", { ...start(), number, position: this.#position, queries: names, rooms: files });
      await process.exited;
    } finally {
      process.kill();
      await process.exited;
      this.#processes.delete(number);
      link.end();
      this.#hear(process, false);
      this.#release();
    }
    return hasServed;
  }

  /** The link over which members and messages of rooms cross to a process, from the first news of the process on. */
  #openRooms(process: () => ReaderProcess): { take: ForLeader["rooms"]; end: () => void } {
    const { rooms } = this.#options;
    const link: RoomLink = { tell: (news) => process().channel.tell("rooms", news) };
    let end = (): void => undefined;
    return {
      take(news) {
        if (news === null) end = rooms().connect(link);
        else rooms().take(link, news);
      },
      end: () => end(),
    };
  }

  #answers(process: ReaderProcess): Omit<ForLeader, "serving" | "rooms"> {
    const { auth, events, queries, records, wrote, onEntry } = this.#options;
    return {
      followed: () => {
        process.follow(this.#position);
        return this.#position;
      },
      hear: (isOn) => {
        this.#hear(process, isOn);
        return events.flushedSeq;
      },
      run: (asked, signal) => runFor(queries, asked, signal),
      write: async (operation) => {
        const written = await runOperation(records, operation, () => operation.caller);
        wrote(operation.caller);
        return written;
      },
      used: (id) => auth.uses.note(id),
      answered: (request) => events.requests.note(request),
      watched: (request) => events.requests.watcher?.(request),
      log: (entry) => onEntry({ ...entry, fields: { ...entry.fields, process: process.number } }),
    };
  }

  #hear(process: ReaderProcess, isOn: boolean): void {
    if (isOn) this.#hearing.add(process);
    else this.#hearing.delete(process);
    if (this.hears) this.#stopListening ??= this.#options.events.listen((event) => this.#told(event));
    else {
      // Without listeners, the log makes nothing of an event.
      this.#stopListening?.();
      this.#stopListening = null;
    }
  }

  #told(event: LoggedEvent): void {
    const head = JSON.stringify([event.toLive()]);
    for (const process of this.#hearing) process.events(head);
  }

  /** Answers the writes whose commit each process has. */
  #release(): void {
    const least = Math.min(...this.#open.map(({ position }) => position));
    let done = 0;
    for (const { position, resolve } of this.#waiting) {
      if (position > least) break;
      resolve();
      done += 1;
    }
    if (done > 0) this.#waiting = this.#waiting.slice(done);
  }
}
