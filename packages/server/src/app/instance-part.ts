/** The part of the API of an instance of a cluster: the routes for the other instances, and the wait of a request until this instance may answer. */
import { AppError, nextTurn } from "../base/kernel/index.ts";
import {
  type ClusterMember,
  clusterNumbers,
  clusterOverview,
  instanceRoutes,
  instanceSockets,
  isOfInstance,
  type ServingRight,
} from "../edge/cluster/index.ts";
import { type InstancePart, pathIn } from "../edge/http/index.ts";
import type { Rooms } from "../live/rooms/index.ts";
import type { Database } from "../store/database/index.ts";
import type { Journal } from "../store/journal/index.ts";
import { type LeadOptions, leadDatabase } from "./instance-database.ts";
import type { Scripts } from "./scripts.ts";
import type { Service } from "./service.ts";

/** The paths that an instance answers in any state. */
const always = /^\/(?:health(?:\/ready)?|_\/cluster\/[a-z]+)$/;

/** The longest wait of a request on the leader for a commit that is under way, and the time between two looks. */
const commitMs = 2_000;
const lookMs = 5;

export interface AdmitOptions {
  /** The right of the role that answers. */
  readonly right: ServingRight;
  /** The newest event that this instance has. */
  readonly seq: () => number;
  /** Waits, for some seconds at most, until this instance has an event. Answers whether the instance has the event. */
  readonly reached: (seq: number) => Promise<boolean>;
}

/** A request waits until this instance may answer from its own state, and until the instance has the position that the request names. */
export function admitBy({ right, seq, reached }: AdmitOptions): InstancePart["admit"] {
  const wait = async (request: Request, wanted: number): Promise<void> => {
    if (always.test(pathIn(request.url))) return;
    await right.wait();
    if (seq() >= wanted || (await reached(wanted))) return;
    throw new AppError("unavailable", `This instance has no event ${wanted} yet.`, { retryAfter: 1 });
  };
  return (request) => {
    const wanted = Number(request.headers.get("socle-position") ?? 0);
    // A header that is no number asks for nothing.
    return right.isValid && !(wanted > seq()) ? null : wait(request, wanted > 0 ? wanted : 0);
  };
}

/**
 * The part of the leader. A replica may run an entry before the leader hears that the journal has the entry, so a client of the replica may know
 * more than the leader for a moment.
 */
function leaderPart(
  member: ClusterMember,
  {
    service,
    scripts,
    paths,
    rooms,
    storage,
  }: {
    service: Service;
    scripts: Scripts;
    paths: () => readonly string[];
    rooms: () => Rooms;
    storage: string;
  },
): InstancePart {
  const { events, auth } = service;
  scripts.queries.onLoad(() => {
    if (member.replicas !== null) member.replicas.queries += 1;
  });
  return {
    routes: instanceRoutes({
      member,
      storage,
      paths,
      queries: scripts.queries,
      rooms,
      used: (id) => auth.uses.note(id),
    }),
    admit: admitBy({
      right: member.right,
      seq: () => events.committedSeq,
      reached: (seq) => comes(() => events.committedSeq >= seq),
    }),
    notes: () => member.state.notes,
    beforeSocket: async () => {
      const { replicas, leading } = member;
      const newest = leading?.commits.newest ?? 0;
      // An append that fails takes its position back.
      const missing = (): number => Math.min(newest, leading?.commits.newest ?? 0) - (replicas?.position ?? 0);
      const isNewest = await comes(() => missing() <= 0);
      const seq = events.committedSeq;
      return (await comes(() => events.flushedSeq >= seq)) && isNewest && member.hasLease;
    },
    wrote: (caller, seq) => member.replicas?.wrote(caller, seq),
  };
}

/** Waits, for some seconds at most, until a condition holds. Answers whether the condition holds. */
async function comes(isThere: () => boolean): Promise<boolean> {
  const end = performance.now() + commitMs;
  // A commit that the journal has just decided is made in this turn.
  for (await nextTurn(); !isThere(); await Bun.sleep(lookMs)) if (performance.now() > end) return false;
  return true;
}

/** The parts of an app that leads a cluster. */
export interface LeadingInstance {
  /** Brings the database to the end of the journal. */
  readonly joinCluster: (database: Database) => Promise<void>;
  readonly part: (parts: Parameters<typeof leaderPart>[1]) => InstancePart;
  readonly overview: ReturnType<typeof overviewPart>;
  readonly journal: Journal;
  /** See `clientOf`. */
  readonly clientOf: (request: Request, address: string) => string | null;
}

export function leadingInstance(options: LeadOptions): LeadingInstance {
  const { member } = options;
  return {
    joinCluster: (database) => leadDatabase(database, options),
    part: (parts) => leaderPart(member, parts),
    overview: overviewPart(member),
    journal: member.journal,
    clientOf: (request, address) => clientOf(member, request, address),
  };
}

/** The part of the leader in the overview and the metrics. */
function overviewPart(member: ClusterMember) {
  const { address } = member;
  return {
    address,
    overview: () => clusterOverview(member),
    numbers: () => clusterNumbers(member, 0),
    sockets: () => instanceSockets(member),
  };
}

/** The address of the client of a request that another instance has forwarded; null for any other request. */
function clientOf(member: ClusterMember, request: Request, address: string): string | null {
  const client = request.headers.get("socle-client");
  return client !== null && isOfInstance(member, request, address) ? client : null;
}
