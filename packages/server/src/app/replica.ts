/**
 * Replica: the service of an instance of a cluster that does not lead. The database follows the journal; reads and sockets are served here, and
 * everything else goes to the leader. No user code runs here, no mail is sent, nothing is written but the entries of the journal.
 */
import type { Config, LiveSettings } from "../base/config/index.ts";
import { AppError, freeBytes, messageOf, SetupError } from "../base/kernel/index.ts";
import type { Logger } from "../base/logging/index.ts";
import {
  type ClusterMember,
  clusterNumbers,
  Follower,
  forwardBy,
  type InstanceState,
  type Introduction,
  LeaderQuestions,
  linkRooms,
  replicaRoutes,
  type ServingRight,
} from "../edge/cluster/index.ts";
import { HttpServer, openReaderRouter } from "../edge/http/index.ts";
import { RemoteQueries } from "../edge/processes/index.ts";
import { readRooms } from "../live/rooms/index.ts";
import { processNumbers, replicaMetricsText, StoredSettings } from "../operate/admin/index.ts";
import { putRight } from "../operate/backup/index.ts";
import type { SpanExporter } from "../operate/traces/index.ts";
import { asSetupError, changesVersions, type Database } from "../store/database/index.ts";
import type { EventLog } from "../store/events/index.ts";
import { openControl } from "./control.ts";
import { keepFilesPrivate } from "./file-modes.ts";
import { openFront } from "./http-parts.ts";
import { joinJournal, runToEnd } from "./instance-database.ts";
import { admitBy } from "./instance-part.ts";
import { openParts, positionsOf } from "./parts.ts";
import { reloadRooms } from "./room-definitions.ts";
import { assemble, dataPathsOf, knownSchemas, openDatabase, type Service } from "./service.ts";
import { openTelemetry, spansMs } from "./telemetry.ts";

/** The pause between two looks for the leader, and for the tables of this version. */
const lookMs = 250;
/** After this time without an answer of the leader, the log has the reason. */
const patienceMs = 3_000;
/** How long before the end of this time the waiting requests are answered. */
const answerMs = 300;

export interface ReplicaOptions {
  readonly config: Config;
  readonly live: LiveSettings;
  readonly logger: Logger;
  readonly onFatal: (error: unknown) => void;
  readonly member: ClusterMember;
  /** The id of the journal. */
  readonly journal: string;
  readonly version: string;
  /** Aborted when the role ends, or the process stops. */
  readonly stopping: AbortSignal;
}

/** A replica that serves. */
export interface ReplicaService {
  readonly url: string;
  /** Rejects when the replica cannot go on: with JournalGap, EntryMismatch or another error. */
  readonly ended: Promise<never>;
  reload(): Promise<void>;
  /** @param ms the longest time for the last requests. */
  stop(ms: number): Promise<void>;
}

/**
 * Starts a replica. Resolves when the replica serves; null when `stopping` comes before.
 * @throws SetupError, JournalGap, EntryMismatch; all parts are closed then.
 */
export async function startReplica(options: ReplicaOptions): Promise<ReplicaService | null> {
  const { config, live, logger, member, stopping } = options;
  const right = member.beginRole();
  await using starting = new AsyncDisposableStack();
  keepFilesPrivate();
  const database = openFollower(options);
  const service = assemble(database, { config, logger });
  starting.use(service);
  const control = openControl(config.database, async () => ({ error: refusalOf(member) }), logger);
  starting.defer(() => control?.stop());
  await joinJournal(database, member.journal, options.journal);
  const settings = new StoredSettings({ database, live, logger });
  if (!(await followUntilReady(database, options))) return null;
  settings.load();
  const questions = new LeaderQuestions(member);
  const introduction = await introduced(questions, options);
  if (introduction === null) return null;
  const queries = new RemoteQueries(introduction.queries, (asked, signal) => questions.run(asked, signal));
  let loads = 0;
  const follower = await startModules({ logger, member, right, service }, (number) => {
    if (number === loads) return;
    loads = number;
    void questions.introduction(stopping).then(
      (told) => queries.load(told.queries),
      () => {
        loads = 0;
      },
    );
  });
  starting.defer(() => follower.stop());
  const spans = openTelemetry({ config, logger, service, version: options.version });
  starting.defer(() => spans?.stop(spansMs));
  const paths = introduction.paths;
  const http = await serve({ options, right, follower, questions, queries, paths, service, spans });
  const started = starting.move();
  return {
    url: http.server.url,
    ended: follower.ended,
    async reload() {
      await http.server.reload();
      await http.reloadRooms();
    },
    async stop(ms) {
      // A little before connections are closed, so that the callers get an answer.
      const givingUp = setTimeout(http.giveUp, ms - answerMs);
      await http.server.refuse(ms);
      clearTimeout(givingUp);
      await http.server.end();
      await started.disposeAsync();
    },
  };
}

/** The answer to every command beside a replica. */
function refusalOf({ leader }: ClusterMember): string {
  const where = leader === null ? "the leader" : `the leader, ${leader.address}`;
  return `Nothing was done: this instance of the cluster is a replica. Run the command beside ${where}`;
}

/** Opens the database, whose commits the journal keeps. */
function openFollower(options: ReplicaOptions): Database {
  const { config, onFatal } = options;
  const paths = dataPathsOf(config);
  try {
    return openDatabase(options, { onFatal, onLocked: () => void putRight(paths), sync: async () => undefined });
  } catch (thrown) {
    throw asSetupError(config.database, thrown);
  }
}

/** Runs entries until the database has the tables of this version. False when the role ends before. */
async function followUntilReady(database: Database, { member, logger, stopping }: ReplicaOptions): Promise<boolean> {
  let hasTold = false;
  member.place = () => database.place;
  for (;;) {
    if (stopping.aborted) return false;
    await runToEnd(database, member.journal);
    const other = otherTables(database);
    member.state.tables = other;
    if (other === null) return true;
    if (!hasTold) logger.notice(`This instance waits for the leader: ${other.text}`);
    hasTold = true;
    await Bun.sleep(lookMs);
  }
}

/** How the tables differ from the tables of this version; null for no difference. */
function otherTables(database: Database): InstanceState["tables"] {
  const versions = database.tableVersions();
  for (const [module, version] of Object.entries(knownSchemas)) {
    const present = versions.get(module) ?? 0;
    if (present !== version) {
      const text = `the tables of "${module}" have version ${present}, and this socle has ${version}`;
      return { text, isTooOld: present > version };
    }
  }
  return null;
}

/** @throws AppError `unavailable` when the tables are not the tables of this version: the instance waits again then. */
function assertTables(database: Database): void {
  const other = otherTables(database);
  if (other !== null) throw new AppError("unavailable", `This instance waits for the leader: ${other.text}`);
}

/** Starts the modules that a replica has, and follows the journal from then on. */
async function startModules(
  {
    logger,
    member,
    right,
    service,
  }: Pick<ReplicaOptions, "logger" | "member"> & Pick<ServingReplica, "right" | "service">,
  onQueries: (number: number) => void,
): Promise<Follower> {
  const { database, events, collections, auth, clock } = service;
  events.startReplica();
  await collections.start();
  auth.startReplica();
  const follower = new Follower({
    member,
    right,
    database,
    onCommit: async (entry) => {
      if (changesVersions(entry)) assertTables(database);
      await events.followTable();
    },
    onQueries,
    onClock: (aheadMs) => {
      clock.aheadMs = aheadMs;
    },
    logger: logger.for("cluster"),
  });
  auth.callers.catchUpWith(() => follower.catchUp());
  follower.start();
  return follower;
}

/**
 * Asks the leader until the leader answers; null when the role ends before.
 * @throws SetupError when the leader has the files elsewhere: an instance would miss the files of the others.
 */
async function introduced(
  questions: LeaderQuestions,
  { member, config, logger, stopping }: ReplicaOptions,
): Promise<Introduction | null> {
  const patience = performance.now() + patienceMs;
  for (let hasTold = false; !stopping.aborted; await Bun.sleep(lookMs)) {
    const answer = await questions.introduction(stopping).catch((thrown: unknown) => thrown);
    const { leader } = member;
    if (!(answer instanceof Error)) {
      const { storage = config.storage } = answer as Introduction;
      if (withoutSlash(storage) === withoutSlash(config.storage)) return answer as Introduction;
      throw new SetupError(
        `storage ${config.storage}: the leader ${leader?.address} has ${storage}; all instances share the files`,
      );
    }
    // A leader that begins does not answer yet, or as a replica.
    if (hasTold || performance.now() < patience || leader === null || stopping.aborted) continue;
    hasTold = true;
    const isUnknown = answer instanceof AppError && answer.code === "not_found";
    const reason = isUnknown
      ? "refuses this instance: cluster.secret must be equal on all instances"
      : `does not answer this instance: ${answer.message}`;
    logger.for("cluster").error(`The leader ${leader.address} ${reason}`);
  }
  return null;
}

function withoutSlash(address: string): string {
  return address.replace(/\/+$/, "");
}

interface ServingReplica {
  readonly options: ReplicaOptions;
  readonly service: Service;
  readonly right: ServingRight;
  readonly follower: Follower;
  readonly questions: LeaderQuestions;
  readonly queries: RemoteQueries;
  readonly spans: SpanExporter | null;
  /** The paths of the leader's routes. */
  readonly paths: readonly string[];
}

async function serve(
  serving: ServingReplica,
): Promise<{ server: HttpServer; giveUp: () => void; reloadRooms: () => Promise<void> }> {
  const { options, service, right, follower, questions, queries, paths, spans } = serving;
  const { config, logger, member, stopping, version } = options;
  const { events, auth } = service;
  const front = await openFront(config, logger);
  const parts = openParts({
    beforeSocket: () => upToDate(follower, events),
    config,
    front,
    logger,
    named: queries,
    rooms: await readRooms(config.folder),
    service,
    stopping,
    version,
  });
  const { realtime } = parts;
  follower.tellWrites(realtime);
  await linkRooms(realtime.rooms, (question, signal) => questions.rooms(question, signal), stopping);
  auth.uses.tellTo((id) => void questions.used(id).catch(() => undefined));
  const reached = (seq: number): Promise<boolean> => follower.reached(() => events.flushedSeq >= seq);
  const givenUp = new AbortController();
  const readiness = (): Promise<string[]> => readinessOf(serving);
  const router = {
    admit: admitBy({ right, seq: () => events.flushedSeq, reached }),
    metrics: () =>
      replicaMetricsText({
        version,
        readiness,
        process: processNumbers(parts),
        spans,
        cluster: clusterNumbers(member, follower.lagMs),
      }),
    notes: () => member.state.notes,
    parts,
    passOn: forwardBy({
      member,
      addressOf: (request) => server.addressOf(request),
      keepOpen: (request, over) => server.keepOpen(request, over),
      reached,
      givenUp: givenUp.signal,
    }),
    paths,
    positions: positionsOf(realtime, { areThere: () => false, isForReads: true, wrote: () => undefined }),
    readiness,
    routes: replicaRoutes(member, realtime),
  };
  const server: HttpServer = new HttpServer({
    acme: null,
    certificate: front.certificate,
    config,
    isShared: true,
    openRouter: (connections) => openReaderRouter(router, connections),
    parts,
    stopping,
  });
  const giveUp = (): void => {
    givenUp.abort();
    server.giveUp();
  };
  return { server, giveUp, reloadRooms: () => reloadRooms({ config, realtime, service, logger: logger.for("rooms") }) };
}

/** See `InstancePart.beforeSocket`. */
async function upToDate(follower: Follower, events: EventLog): Promise<boolean> {
  return (await follower.catchUp()) && follower.reached(() => events.flushedSeq >= events.committedSeq);
}

/** Why a replica is not ready. */
async function readinessOf({ options, right, follower }: ServingReplica): Promise<string[]> {
  const { config, member, stopping } = options;
  if (stopping.aborted) return ["the service is stopping"];
  const lag = follower.lagMs;
  const free = await freeBytes(config.database).catch((error: unknown) => messageOf(error));
  const reasons = [
    member.state.storage?.isRefused === true ? member.state.storage.text : null,
    lag > config["cluster.maxLag"] ? `the state is ${Math.round(lag)} ms old` : null,
    right.isValid ? null : "this instance has no contact with the leader",
    typeof free === "string" ? `the disk cannot be looked at: ${free}` : null,
    typeof free === "number" && free < config["limits.diskFree"] ? "the disk is almost full" : null,
  ];
  return reasons.filter((reason) => reason !== null);
}
