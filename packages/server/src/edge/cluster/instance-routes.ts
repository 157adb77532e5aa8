/** Routes between the instances of a cluster: of the leader for the replicas, and of a replica for the leader. */
import { AppError, type Bearer, isObject } from "../../base/kernel/index.ts";
import type { ServerQueries } from "../../code/server-queries/index.ts";
import type { Realtime, SocketPart, SocketQuery } from "../../live/realtime/index.ts";
import type { Rooms } from "../../live/rooms/index.ts";
import { type Exchange, nothingHere, type Routes } from "../http/index.ts";
import { namesOf, runFor } from "../processes/index.ts";
import {
  type Candidate,
  candidatePath,
  commandPath,
  type Introduction,
  introductionPath,
  queryPath,
  questionPath,
  roomsPath,
  socketsPath,
  usePath,
} from "./instance-paths.ts";
import { runCommand } from "./leader-commands.ts";
import type { ClusterMember } from "./member.ts";
import type { ReplicaQuestion } from "./replicas.ts";
import { RoomLinks, type RoomQuestion } from "./room-links.ts";

export interface InstanceRoutesOptions {
  readonly member: ClusterMember;
  readonly storage: string;
  readonly paths: () => readonly string[];
  readonly queries: ServerQueries;
  readonly used: (id: string) => void;
  readonly rooms: () => Rooms;
}

/** Whether a request of an address comes from an instance of the cluster. */
export function isOfInstance(member: ClusterMember, { headers }: Pick<Request, "headers">, address: string): boolean {
  const secret = headers.get("socle-instance-secret");
  return secret !== null && member.isSecret(secret, address);
}

type InstanceAnswer = (body: { readonly [name: string]: unknown }, exchange: Exchange) => Promise<object>;

/** A route that answers 404 to everybody without the secret of the cluster. */
function routeFor(member: ClusterMember, answer: InstanceAnswer): (exchange: Exchange) => Promise<Response> {
  return async (exchange) => {
    const { request } = exchange;
    // A replica sends requests of clients on with the secret, and names the client.
    const isOfClient = request.headers.has("socle-client");
    if (isOfClient || !isOfInstance(member, request, exchange.address)) throw nothingHere();
    exchange.isMeasured = false;
    const body: unknown = await request.json();
    return exchange.json(200, await answer(isObject(body) ? body : {}, exchange));
  };
}

/** The routes of a replica for the leader. */
export function replicaRoutes(member: ClusterMember, realtime: Pick<Realtime, "list">): Routes {
  // An instance of the cluster is the same program.
  const list = async (body: object): Promise<SocketPart> => realtime.list(body as SocketQuery);
  const candidate = async ({ withFiles }: { readonly [name: string]: unknown }): Promise<Candidate> => {
    const refusal = member.refusalToLead(withFiles === true);
    return { position: member.position, files: member.state.files, refusal };
  };
  return {
    [socketsPath]: { POST: routeFor(member, list) },
    [candidatePath]: { POST: routeFor(member, candidate) },
  };
}

/** The routes of the leader for the replicas. */
export function instanceRoutes(options: InstanceRoutesOptions): Routes {
  const { member, storage, paths, queries, used, rooms } = options;
  const roomLinks = new RoomLinks(rooms);
  const forInstances = (answer: InstanceAnswer) => routeFor(member, answer);
  return {
    [questionPath]: {
      POST: forInstances(async (body, { request }) => {
        const { replicas } = member;
        if (replicas === null) throw new AppError("unavailable", "This instance does not lead.");
        // An instance of the cluster is the same program.
        const answer = await replicas.answer(body as object as ReplicaQuestion, request.signal);
        const { position, id } = member.place();
        return { ...answer, id: position === answer.position ? id : null, now: Date.now() };
      }),
    },
    [introductionPath]: {
      POST: forInstances(async (): Promise<Introduction> => ({ storage, paths: paths(), queries: namesOf(queries) })),
    },
    [queryPath]: {
      POST: forInstances(async (body, { request }) =>
        runFor(
          queries,
          body as object as { name: string; args: Record<string, unknown>; caller: Bearer | null },
          request.signal,
        ),
      ),
    },
    [roomsPath]: {
      // An instance of the cluster is the same program.
      POST: forInstances((body, { request }) => roomLinks.answer(body as object as RoomQuestion, request.signal)),
    },
    [commandPath]: { POST: forInstances((body) => runCommand(member, body)) },
    [usePath]: {
      POST: forInstances(async ({ id }) => {
        used(String(id));
        return {};
      }),
    },
  };
}
