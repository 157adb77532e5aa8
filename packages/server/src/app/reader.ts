/**
 * Reader process: answers reads and has sockets beside the leader, over the same database. Only the leader writes: here are no
 * writer, no checkpoints, no user code, no mails, no backups, no control socket. Requests that this process cannot answer go to the
 * leader.
 */
import { configOf, configWith, LiveSettings } from "../base/config/index.ts";
import { AppError, nextTurn, Secret } from "../base/kernel/index.ts";
import { type LogEntry, Logger, Repeats } from "../base/logging/index.ts";
import { HttpServer, openReaderRouter, type RunOperation } from "../edge/http/index.ts";
import { type ForReader, LeaderLink, type ReaderStart, RemoteQueries } from "../edge/processes/index.ts";
import type { RoomFile, RoomLink } from "../live/rooms/index.ts";
import { processNumbers, StoredSettings } from "../operate/admin/index.ts";
import type { ToldCommit } from "../store/database/index.ts";
import { type LiveEvent, liveEventOf } from "../store/events/index.ts";
import { openFront } from "./http-parts.ts";
import { openParts, type RoleParts } from "./parts.ts";
import { assemble, openDatabase, type Service } from "./service.ts";

/** The longest time from the admission of a socket to the opening. */
const openMs = 10_000;

/**
 * Makes this process a reader process. The process ends with the leader.
 * @param process `exit` ends this process; `defect` resolves with the first uncaught error.
 */
export async function runReader(process: { exit: (code: number) => void; defect: Promise<unknown> }): Promise<void> {
  const { exit, defect } = process;
  const started = Promise.withResolvers<ReaderStart>();
  const reader = new ReaderRole(exit);
  // Until the log is there, the exit alone tells.
  let failed = (_error: unknown): void => exit(1);
  const link = await LeaderLink.open({
    ...reader.listener,
    answers: { ...reader.answers, start: (start) => started.resolve(start) },
    onClosed: () => exit(1),
    onError: (error) => failed(error),
  });
  const start = await started.promise;
  const logger = loggerOf(start, (entry) => link.channel.tell("log", entry));
  failed = (error) => {
    logger.error("A reader process ends with an error", { error });
    // The entry leaves with the end of the turn.
    setTimeout(() => exit(1), 100);
  };
  void defect.then(failed);
  await reader.run(start, { link, logger }).catch(failed);
}

/** A log that goes to the log of the leader. */
function loggerOf({ config }: ReaderStart, send: (entry: LogEntry) => void): Logger {
  const { "log.level": level, "log.repeats": repeats } = configOf(config);
  return new Logger({ level, sinks: [(entry) => send(portable(entry))], repeats: new Repeats(repeats) });
}

/** An entry whose errors are plain data. */
function portable({ fields, ...entry }: LogEntry): LogEntry {
  if (fields === undefined) return entry;
  const shown = Object.entries(fields).map(([name, value]) => [
    name,
    value instanceof Error ? { name: value.name, message: value.message, stack: value.stack } : value,
  ]);
  return { ...entry, fields: Object.fromEntries(shown) };
}

/** The parts of a process that serves. */
interface ServingReader {
  readonly http: HttpServer;
  readonly service: Service;
  readonly stopping: AbortController;
}

class ReaderRole {
  readonly #exit: (code: number) => void;
  /** Commits that arrive before the state is read. */
  readonly #early: ToldCommit[] = [];
  #takeCommit = (commit: ToldCommit): void => void this.#early.push(commit);
  /** The events that are told, in order. */
  #telling: Promise<void> | null = null;
  readonly #untold: LiveEvent[] = [];
  #service: Service | null = null;
  #parts: RoleParts | null = null;
  #queries: RemoteQueries | null = null;
  #serving: ServingReader | null = null;
  /** Whether the leader sends events, or was asked to. */
  #hears = false;
  /** The time of the last admission of a socket. */
  #admittedAt = Number.NEGATIVE_INFINITY;
  #link: LeaderLink | null = null;
  #logger: Logger | null = null;
  /** The definitions of rooms, as the leader told last. */
  #roomFiles: readonly RoomFile[] = [];
  /** The members and messages of rooms in other processes come and go through the leader. */
  readonly #rooms: RoomLink = { tell: (news) => this.#link?.channel.tell("rooms", news) };

  constructor(exit: (code: number) => void) {
    this.#exit = exit;
  }

  get listener() {
    return {
      onCommit: (commit: ToldCommit) => this.#takeCommit(commit),
      onEvents: (events: readonly LiveEvent[]) => this.#tell(events),
      addressOf: (request: Request) => this.#serving?.http.addressOf(request) ?? "",
      keepOpen: (request: Request, over: Promise<unknown>) => this.#serving?.http.keepOpen(request, over),
    };
  }

  readonly answers: Omit<ForReader, "start"> = {
    logLevel: (level) => {
      if (this.#logger !== null) this.#logger.level = level;
    },
    queries: (names) => this.#queries?.load(names),
    wrote: (caller) => this.#parts?.realtime.wrote(caller),
    rooms: (news) => this.#parts?.realtime.rooms.take(this.#rooms, news),
    renew: () => this.#service?.database.following?.renew(),
    drain: async () => {
      await Promise.all(this.#service?.database.pausableReads.map((reads) => reads.drain()) ?? []);
    },
    resume: () => {
      for (const reads of this.#service?.database.pausableReads ?? []) reads.resume();
    },
    cutOff: (message) => {
      const reason = new AppError("unavailable", message, { retryAfter: 1 });
      for (const reads of this.#service?.database.pausableReads ?? []) reads.cutOff(reason);
    },
    numbers: () => {
      if (this.#parts === null) throw new Error("The process has not started yet");
      return processNumbers(this.#parts);
    },
    reload: async (rooms) => {
      this.#roomFiles = rooms;
      this.#parts?.realtime.rooms.load(rooms);
      await this.#serving?.http.reload();
    },
    sockets: (query) => this.#parts?.realtime.list(query) ?? { items: [], total: 0 },
    refuse: async (graceMs) => {
      this.#serving?.stopping.abort();
      await this.#serving?.http.refuse(graceMs);
    },
    giveUp: () => this.#serving?.http.giveUp(),
    stop: () => void this.#stop(),
  };

  async run(start: ReaderStart, { link, logger }: { link: LeaderLink; logger: Logger }): Promise<void> {
    this.#link = link;
    this.#logger = logger;
    this.#roomFiles = start.rooms;
    const live = new LiveSettings(start.live);
    const config = live.over(configOf({ ...start.config, port: start.port }));
    const database = openDatabase({ config, logger }, { isReader: true, onFatal: () => this.#exit(1) });
    const service = assemble(database, { config, logger });
    const settings = new StoredSettings({ database, live, logger });
    const reached = await this.#follow(service, start);
    settings.load();
    const stopping = new AbortController();
    // The leader has the same files, and reports their faults.
    const front = await openFront(config, new Logger({ level: "ERROR", sinks: [] }));
    const queries = new RemoteQueries(start.queries, (asked, signal) => link.channel.call("run", asked, signal));
    this.#queries = queries;
    const parts = openParts({
      beforeSocket: () => this.#hear(service),
      config,
      front,
      logger,
      named: queries,
      rooms: this.#roomFiles,
      service,
      stopping: stopping.signal,
      version: start.version,
    });
    this.#parts = parts;
    link.channel.tell("rooms", null);
    parts.realtime.rooms.connect(this.#rooms);
    service.events.requests.tellTo((request) => link.channel.tell("answered", request));
    if (config["telemetry.otlp.url"] !== undefined)
      service.events.requests.watcher = (request) => link.channel.tell("watched", request);
    service.auth.uses.tellTo((id) => link.channel.tell("used", id));
    // Writes that were answered before this process followed must be here, too.
    await reached(await link.channel.call("followed", null));
    const run: RunOperation = (operation, callerOf) => link.channel.call("write", { ...operation, caller: callerOf() });
    const router = { parts, passOn: link.passOn, paths: start.paths, positions: parts.realtime, run };
    const http = new HttpServer({
      // The leader has the port of plain HTTP beside HTTPS, and the questions of the issuer of certificates.
      acme: null,
      certificate: front.certificate,
      config: configWith(config, { "tls.redirectPort": undefined }),
      isShared: true,
      openRouter: (connections) => openReaderRouter(router, connections),
      parts,
      stopping: stopping.signal,
    });
    this.#serving = { http, service, stopping };
    link.channel.tell("serving", null);
  }

  /**
   * Reads the state of the first snapshot, and follows the commits from there on. Answers a function that waits for a commit.
   */
  async #follow(service: Service, start: ReaderStart): Promise<(position: number) => Promise<void>> {
    const { database, events, collections, records, auth } = service;
    const { following } = database;
    if (following === null) throw new Error("A reader process follows");
    this.#service = service;
    records.versions.startFrom(start.versions);
    const first = following.start();
    let taken = start.position;
    let whenTaken = (): void => undefined;
    const later: ToldCommit[] = [];
    const take = (commit: ToldCommit): void => {
      taken = commit.position;
      const position = following.take(commit);
      whenTaken();
      this.#link?.has(position);
    };
    // The state that follows from notes alone is brought to the first snapshot before any module reads.
    this.#takeCommit = (commit) => {
      if (commit.position > first) later.push(commit);
      else {
        taken = commit.position;
        following.take(commit);
        whenTaken();
      }
    };
    const reached = async (isReached: () => boolean): Promise<void> => {
      while (!isReached())
        await new Promise<void>((resolve) => {
          whenTaken = resolve;
        });
    };
    for (const commit of this.#early.splice(0)) this.#takeCommit(commit);
    await reached(() => taken >= first);
    events.startFollowing();
    await collections.start();
    auth.startWith(new Secret(start.jwtSecret));
    this.#takeCommit = take;
    for (const commit of later.splice(0)) take(commit);
    return (position) => reached(() => following.position >= position);
  }

  /**
   * Has the leader send events: a socket hears each event from the opening on. Resolves when each event that a client of another
   * process may have heard by now is told here, too: the client may resume from that event.
   */
  async #hear({ events }: Service): Promise<boolean> {
    this.#admittedAt = performance.now();
    const isFirst = !this.#hears;
    this.#hears = true;
    const seq = (await this.#link?.channel.call("hear", true)) ?? 0;
    // The events before were not sent; from here on, the events before an answer of the leader come before the answer.
    if (isFirst) events.isFlushed(seq);
    while (events.flushedSeq < seq) await (this.#telling ?? nextTurn());
    return true;
  }

  /** Without sockets, events are not sent for ever. A socket that was just admitted is about to open. */
  #hearNoMore(): void {
    const isNeeded = (this.#parts?.realtime.sockets ?? 0) > 0 || performance.now() - this.#admittedAt < openMs;
    if (!this.#hears || isNeeded) return;
    this.#hears = false;
    void this.#link?.channel.call("hear", false);
  }

  /** Tells events in order: an event that takes several turns of the event loop holds up the next. */
  #tell(events: readonly LiveEvent[]): void {
    this.#untold.push(...events);
    this.#telling ??= this.#tellAll().finally(() => {
      this.#telling = null;
    });
  }

  async #tellAll(): Promise<void> {
    for (let next = this.#untold.shift(); next !== undefined; next = this.#untold.shift())
      await this.#service?.events.follow(liveEventOf(next));
    this.#hearNoMore();
  }

  async #stop(): Promise<void> {
    await this.#serving?.http.end();
    await this.#service?.close(0);
    this.#exit(0);
  }
}
