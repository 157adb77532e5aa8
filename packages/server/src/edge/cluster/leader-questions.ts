/** Questions of a replica to the leader: the introduction, runs of server queries for live queries, and uses of API keys and access tokens. */
import { AppError, isObject, messageOf } from "../../base/kernel/index.ts";
import type { QueryRun } from "../processes/index.ts";
import { type Introduction, introductionPath, queryPath, roomsPath, usePath } from "./instance-routes.ts";
import type { ClusterMember } from "./member.ts";
import type { RoomAnswer, RoomQuestion } from "./room-links.ts";

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
    const { leader, credentials } = this.#member;
    if (leader === null) throw new AppError("unavailable", "No instance leads at the moment.", { retryAfter: 1 });
    const response = await fetch(`${leader.address}${path}`, {
      method: "POST",
      headers: { ...credentials, "Content-Type": "application/json" },
      body: JSON.stringify(body),
      signal,
    }).catch((thrown: unknown) => {
      throw new AppError("unavailable", `The leader does not answer: ${messageOf(thrown)}.`, { retryAfter: 1 });
    });
    const answer: unknown = await response.json();
    if (response.ok) return answer;
    throw errorOf(answer, response.status);
  }
}

/** The error of an answer. */
function errorOf(answer: unknown, status: number): Error {
  const error = isObject(answer) && isObject(answer["error"]) ? answer["error"] : {};
  const { code, message } = error;
  if (typeof code === "string" && typeof message === "string") return new AppError(code as AppError["code"], message);
  return new Error(`the leader answers ${status}`);
}
