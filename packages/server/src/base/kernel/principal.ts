/** Principal: the caller on whose behalf something is done. */
import type { ChangeCause, PreviewCall, PreviewLogEntry, Role } from "@socle/protocol";

/** The beginning of a trace, which all causes of the trace carry on. */
export interface TraceOrigin {
  /** The id of the first cause; absent for the first cause itself. */
  readonly trace?: string;
  /** The caller's part of a larger trace: trace and parent of `traceparent` (W3C Trace Context), with a hyphen between; see `linkIn`. */
  readonly link?: string;
}

/** The cause of a change, which events name; see `causeOf`. */
export interface Cause extends Readonly<ChangeCause>, TraceOrigin {}

/** The origin of the trace of a cause, for causes that follow from this cause. */
export function originOf({ id, trace = id, link }: Cause): TraceOrigin {
  return { trace, ...(link !== undefined && { link }) };
}

/** A user with a valid access token, or with an API key of the user. */
export interface SignedIn {
  readonly userId: string;
  readonly role: Role;
  /** The id of the session, or of the API key. */
  readonly sessionId: string;
  /** The scopes of the API key, which bound every right of the caller; absent for an access token. */
  readonly scopes?: readonly string[];
  readonly cause?: Cause;
}

/** A caller with a service key, which belongs to no user. */
interface ServiceKey {
  readonly userId: null;
  readonly role: "authenticated";
  /** The id of the key. */
  readonly sessionId: string;
  readonly scopes: readonly string[];
  readonly cause?: Cause;
}

/** A caller without a token, in a request that may change something. */
interface Visitor {
  readonly userId: null;
  readonly role: "public";
  readonly cause: Cause;
}

/** The author of a change without a token. */
export function visitorFor(cause: Cause): Visitor {
  return { userId: null, role: "public", cause };
}

/** A caller with an access token or an API key. */
export type Bearer = SignedIn | ServiceKey;

/** The service, or the user's own functions: no rule applies. */
export interface System {
  /** The owner of new records: null, or the user of a seed's record. */
  readonly userId: string | null;
  readonly role: "admin";
  /** The id of the user or API key behind the change that made a function run, or null. */
  readonly actor: string | null;
  /** How many functions made each other run, up to the asking function; 0 without functions. */
  readonly depth: number;
  /** The functions, jobs and hooks that led to the asking function, which is the last, as `path:handler`. */
  readonly chain: readonly string[];
  /** Whether the principal is a hook, which a write waits for. */
  readonly isHook: boolean;
  /** The address of the request without a user that made an endpoint run. */
  readonly address?: string;
  /** Present in a preview of a run: each change is made in the rehearsal of the preview alone. */
  readonly preview?: Preview;
  /** The cause of the changes of the code; absent for changes of the service. */
  readonly cause?: Cause;
}

/** A preview of a run: its code changes nothing that stays. */
export interface Preview {
  /** Whether the code has changed something, which its reads see. */
  readonly hasChanges: boolean;
  /** The ids of the runs that the code has enqueued with a key, by the queue and the key. */
  readonly runs: Map<string, string>;
  /** The bytes of the files that the code has stored, by id. */
  readonly files: Map<string, Uint8Array>;
  /** Takes a call that is not made. */
  record(call: PreviewCall): void;
  /** Takes an entry of the log of the code, which does not go to the log of the service. */
  log(entry: PreviewLogEntry): void;
}

export const system: System = { userId: null, role: "admin", actor: null, depth: 0, chain: [], isHook: false };

/** Functions and hooks that may lead to each other; a further function is refused, so that an endless chain ends. */
export const maxDepth = 16;

/** The service, which makes something for a user. */
export function systemFor(userId: string): System {
  return { ...system, userId, actor: userId };
}

/** A function that runs because of somebody's change. */
export function actingFor(actor: string | null, depth: number, chain: readonly string[] = []): System {
  return { ...system, actor, depth, chain };
}

/** A hook that runs before somebody's change, and has the cause of this change. @param name as `path:handler`. */
export function hookFor(principal: Principal, name: string): System {
  const preview = previewOf(principal);
  const cause = causeOf(principal);
  const acting = actingFor(actorOf(principal), depthOf(principal) + 1, [...chainOf(principal), name]);
  const caused = { ...acting, isHook: true, ...(cause !== null && { cause: { ...cause, name } }) };
  return { ...caused, ...(preview !== null && { preview }) };
}

/** A user without a session: a new user, or a user as whom an admin tries out the rules. */
type Tried = Pick<SignedIn, "userId" | "role" | "cause">;

/** The user's code under the rules of a user, or of nobody (`db.as`). */
export interface Acting {
  /** Null for nobody. */
  readonly userId: string | null;
  /** The present role of the user; `public` for nobody. */
  readonly role: Role;
  readonly code: System;
}

/**
 * The caller: the holder of a token or of a key, the service, code under the rules of a user, a user of a trial, or null for a caller
 * without a token.
 */
export type Principal = Bearer | Visitor | System | Acting | Tried | null;

/** Whether the rules are those of a caller without a token. */
export function isNobody(principal: Principal): boolean {
  return principal === null || (principal.userId === null && principal.role === "public");
}

/** The cause of the changes of a principal: the request of a caller, the run of code; null for the service and for no change. */
export function causeOf(principal: Principal): Cause | null {
  const cause = codeOf(principal) ?? principal;
  return (cause !== null && "cause" in cause && cause.cause) || null;
}

/** The user's code behind a principal; null for any other caller. */
export function codeOf(principal: Principal): System | null {
  if (principal === null) return null;
  if ("code" in principal) return principal.code;
  return "actor" in principal ? principal : null;
}

/** The preview that a principal is part of; null outside of previews. */
export function previewOf(principal: Principal): Preview | null {
  return codeOf(principal)?.preview ?? null;
}

/** Admins bypass all collection rules (spec, "Authentication" 6). */
export function isAdmin(principal: Principal): boolean {
  return principal !== null && principal.role === "admin";
}

/** The id of the user or of the API key behind a change, also through functions; null for no user. */
export function actorOf(principal: Principal): string | null {
  return principal !== null && "actor" in principal ? principal.actor : identityOf(principal);
}

/** The id of a user, or of the API key in the hands of the caller: all requests with one identity have the same rights. */
export function identityOf(principal: Principal): string | null {
  if (principal === null) return null;
  return "scopes" in principal ? principal.sessionId : principal.userId;
}

/**
 * The id of the user, or of a service key, whose share of scarce work a caller takes: all keys of a user have one share. The user's code takes the
 * share of the user or the address behind the code, or has a share for the script.
 */
export function shareOf(principal: Principal): string | null {
  if (principal !== null && "code" in principal) return shareOf(principal.code);
  if (principal !== null && "actor" in principal && principal.userId === null)
    return principal.actor ?? principal.address ?? principal.chain[0] ?? null;
  return principal?.userId ?? identityOf(principal);
}

/** How many functions led to a change. */
export function depthOf(principal: Principal): number {
  return codeOf(principal)?.depth ?? 0;
}

/** The functions, jobs and hooks that led to a change; see `System`. */
export function chainOf(principal: Principal): readonly string[] {
  return codeOf(principal)?.chain ?? [];
}
