/**
 * Forwarding: a replica sends requests on to the leader, and gives the answers of the leader to the clients. A request that could not be sent waits for
 * a leader while an instance can take the lease; a request that may have been sent is never sent twice, unless the request only reads.
 */
import { AppError, isObject } from "../../base/kernel/index.ts";
import { outcomeUnknown } from "../../store/database/index.ts";
import { errorResponse, type ForwardRequest, nothingHere, pathIn } from "../http/index.ts";
import { instancePrefix } from "./instance-paths.ts";
import type { ClusterMember } from "./member.ts";

/** How long a request waits for a leader. */
const patienceMs = 10_000;
const pauseMs = 100;
/** A body of at most this size is read before the request leaves, so that the leader knows the size. */
const smallBody = 64 * 1024;
/** An answer of at most this size is read before the answer to the client begins. */
const smallAnswer = 256 * 1024;
/** Headers that belong to a connection (RFC 9110, 7.6.1). */
const ownHeaders = ["connection", "keep-alive", "transfer-encoding", "upgrade", "te", "trailer", "content-length"];
/** Errors of a connection that never was. */
const notConnected = ["ECONNREFUSED", "ENOTFOUND", "ENETUNREACH", "EHOSTUNREACH"];
/** Headers that only instances send. */
const instanceHeaders = ["socle-instance-secret", "socle-client"];

export interface ForwardOptions {
  readonly member: ClusterMember;
  /** The address that a request comes from, as a key. */
  readonly addressOf: (request: Request) => string;
  /** Keeps the connection of a request open until `over` resolves. */
  readonly keepOpen: (request: Request, over: Promise<unknown>) => void;
  /** Waits, for some seconds at most, until this instance has the events up to a seq. */
  readonly reached: (seq: number) => Promise<boolean>;
  /** Aborted when this instance ends in a moment: the requests that still wait for the leader are answered. */
  readonly givenUp: AbortSignal;
}

export function forwardBy({ member, addressOf, keepOpen, reached, givenUp }: ForwardOptions): ForwardRequest {
  return async (request) => {
    if (pathIn(request.url).startsWith(`${instancePrefix}/`)) return nothing();
    const passage: Passage = { client: addressOf(request), givenUp, mayBeSent: false };
    const answering = forward(request, member, passage);
    keepOpen(request, answering);
    const answer = await unlessGivenUp(answering, passage).catch((thrown: unknown) => failed(thrown));
    const seq = Number(answer.headers.get("socle-position") ?? 0);
    // The client finds its write at this instance, unless the instance cannot read the journal at the moment.
    if (answer.ok && seq > 0) await reached(seq);
    return answer;
  };
}

/** A request on the way to the leader. */
interface Passage {
  /** The address of the client, as a key. */
  readonly client: string;
  readonly givenUp: AbortSignal;
  /** Whether the leader may have the request. */
  mayBeSent: boolean;
}

/** @throws AppError `unavailable` when this instance gives up before the answer of the leader. */
async function unlessGivenUp(answering: Promise<Response>, passage: Passage): Promise<Response> {
  const { givenUp } = passage;
  const { promise, reject } = Promise.withResolvers<never>();
  const giveUp = (): void => reject(passage.mayBeSent ? outcomeUnknown() : nobodyLeads());
  if (givenUp.aborted) giveUp();
  givenUp.addEventListener("abort", giveUp);
  try {
    return await Promise.race([answering, promise]);
  } finally {
    givenUp.removeEventListener("abort", giveUp);
  }
}

async function forward(request: Request, member: ClusterMember, passage: Passage): Promise<Response> {
  const end = performance.now() + patienceMs;
  // The Host header of a client may be no part of a URL.
  const path = /^(?:[a-z]+:\/\/[^/?#]*)?([^#]*)/i.exec(request.url)?.[1] ?? "/";
  const isRead = request.method === "GET" || request.method === "HEAD";
  // The runtime sends a PUT or a DELETE again when a kept connection breaks.
  const keepalive = isRead || request.method === "POST" || request.method === "PATCH";
  const headers = new Headers(request.headers);
  for (const name of [...ownHeaders, ...instanceHeaders]) headers.delete(name);
  for (const [name, value] of Object.entries(member.credentials)) headers.set(name, value);
  headers.set("Socle-Client", passage.client);
  const isSmall = Number(request.headers.get("content-length") ?? smallBody + 1) <= smallBody;
  const body = isRead ? null : isSmall ? await request.bytes() : request.body;
  for (;;) {
    const { leader } = member;
    // The client has its answer: nothing was changed.
    if (passage.givenUp.aborted) throw nobodyLeads();
    if (leader !== null && leader.instance !== member.address) {
      // A leader that was paused or cut off never answers, and another leads meanwhile.
      const deposed = new AbortController();
      const endWait = member.onOtherLeader(() => deposed.abort());
      try {
        passage.mayBeSent = true;
        const answer = await fetch(`${leader.address}${path}`, {
          method: request.method,
          headers,
          body,
          keepalive,
          redirect: "manual",
          decompress: false,
          signal: AbortSignal.any([request.signal, deposed.signal]),
          // A stream or a slow endpoint has no bound here: the leader has the bounds.
          timeout: false,
        } as RequestInit);
        const { status } = answer;
        const own = new Headers(answer.headers);
        for (const name of ownHeaders) if (name !== "content-length") own.delete(name);
        const length = Number(answer.headers.get("content-length") ?? Number.POSITIVE_INFINITY);
        // The runtime drops the length of a body that is a stream.
        const isWhole = request.method !== "HEAD" && answer.body !== null && length <= smallAnswer;
        return new Response(isWhole ? await answer.bytes() : answer.body, { status, headers: own });
      } catch (thrown) {
        if (request.signal.aborted) throw thrown;
        passage.mayBeSent = !wasNotSent(thrown);
        if (passage.mayBeSent && !isRead) throw outcomeUnknown();
        // A body can be read once.
        if (body instanceof ReadableStream) throw nobodyLeads();
      } finally {
        endWait();
      }
    }
    // This instance begins to lead: the service of the leader begins when this service has ended. Without the engine, no instance can begin to lead.
    if (performance.now() > end || member.leading !== null || member.isAway) throw nobodyLeads();
    await Bun.sleep(pauseMs);
  }
}

function nobodyLeads(): AppError {
  return new AppError("unavailable", "No instance leads at the moment; nothing was changed.", { retryAfter: 1 });
}

/** Whether a request certainly did not reach the other instance. */
function wasNotSent(thrown: unknown): boolean {
  return isObject(thrown) && notConnected.includes(String(thrown["code"]));
}

/** The routes between instances are not for clients. */
function nothing(): Response {
  return errorResponse(nothingHere());
}

function failed(thrown: unknown): Response {
  if (!(thrown instanceof AppError)) throw thrown;
  return errorResponse(thrown);
}
