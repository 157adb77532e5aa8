/**
 * Questions between instances. Of a replica to the leader: the introduction, runs of server queries for live queries, uses of API keys
 * and access tokens. Of the leader to the replicas: the open sockets.
 */
import { AppError, isObject, messageOf } from "../../base/kernel/index.ts";
import type { SocketPart, SocketQuery } from "../../live/realtime/index.ts";
import type { QueryRun } from "../processes/index.ts";
import { type Introduction, introductionPath, queryPath, roomsPath, socketsPath, usePath } from "./instance-paths.ts";
import type { ClusterMember } from "./member.ts";
import type { RoomAnswer, RoomQuestion } from "./room-links.ts";
import { clusterOverview } from "./status.ts";
import { questionMs } from "./timing.ts";

export class LeaderQuestions {
  readonly #member: ClusterMember;

  constructor(member: ClusterMember) {
    this.#member = member;
  }

  async introduction(signal: AbortSignal): Promise<Introduction> {
    return (await this.#ask(introductionPath, {}, signal)) as Introduction;
  }

  /** Runs a server query. @throws AppError as `ServerQueries.run`. */
  async run(asked: object, signal: AbortSignal): Promise<QueryRun> {
    return (await this.#ask(queryPath, asked, signal)) as QueryRun;
  }

  /** An API key or an access token was used; see `Uses`. */
  async used(id: string): Promise<void> {
    await this.#ask(usePath, { id }, AbortSignal.timeout(5_000));
  }

  /** Members and messages of rooms; see `room-links.ts`. */
  async rooms(question: RoomQuestion, signal: AbortSignal): Promise<RoomAnswer> {
    return (await this.#ask(roomsPath, question, signal)) as RoomAnswer;
  }

  async #ask(path: string, body: object, signal: AbortSignal): Promise<unknown> {
    const { leader } = this.#member;
    if (leader === null) throw new AppError("unavailable", "No instance leads at the moment.", { retryAfter: 1 });
    return ask(this.#member, `${leader.address}${path}`, { body, signal });
  }
}

/** The sockets of each other instance that lives, by the address. */
export async function instanceSockets(
  member: ClusterMember,
): Promise<ReadonlyMap<string, (query: SocketQuery) => Promise<SocketPart>>> {
  const known = (await clusterOverview(member)).instances.filter(({ isLive }) => isLive);
  const addresses = new Set([...known, ...(member.replicas?.living ?? [])].map(({ address }) => address));
  addresses.delete(member.address);
  const list = async (address: string, body: SocketQuery): Promise<SocketPart> =>
    (await ask(member, `${address}${socketsPath}`, { body, signal: AbortSignal.timeout(questionMs) })) as SocketPart;
  return new Map([...addresses].map((address) => [address, (query) => list(address, query)]));
}

/** Asks another instance. @throws AppError of the answer, or `unavailable` without an answer. */
export async function ask(
  { credentials }: Pick<ClusterMember, "credentials">,
  url: string,
  { body, signal }: { body: object; signal: AbortSignal },
): Promise<unknown> {
  const response = await fetch(url, {
    method: "POST",
    headers: { ...credentials, "Content-Type": "application/json" },
    body: JSON.stringify(body),
    signal,
  }).catch((thrown: unknown) => {
    throw new AppError("unavailable", `The instance does not answer: ${messageOf(thrown)}.`, { retryAfter: 1 });
  });
  const answer: unknown = await response.json();
  if (response.ok) return answer;
  throw errorOf(answer, response.status);
}

/** The error of an answer. */
function errorOf(answer: unknown, status: number): Error {
  const error = isObject(answer) && isObject(answer["error"]) ? answer["error"] : {};
  const { code, message } = error;
  if (typeof code === "string" && typeof message === "string") return new AppError(code as AppError["code"], message);
  return new Error(`the leader answers ${status}`);
}
