/** A room for callers: the members, the state of this member, and messages. */
import type { ErrorCode, RoomMember, RoomState } from "@socle/protocol";
import { SocleError } from "./error.ts";
import { callSafely, type Observable, Observed } from "./observable.ts";
import type { RoomHandle, RoomJoin, RoomListener, RoomNews } from "./rooms.ts";

/** The fields of a state and the events of a room, as `socle client` writes the types. */
export interface RoomTypes {
  state: object;
  event: string;
}

/** A room without types: any fields and events. */
export interface AnyRoom {
  state: { readonly [field: string]: unknown };
  event: string;
}

/**
 * `joining`: no answer came yet; `joined`: this browser is a member; `offline`: the connection is lost, the members may be others by now, and the
 * client joins again; `left`: the membership is over, by `leave` or by the service; `error` says why.
 */
export type RoomStatus = "joining" | "joined" | "offline" | "left";

export interface Member<T extends RoomTypes = AnyRoom> extends Omit<RoomMember, "state"> {
  readonly state: Readonly<T["state"]>;
}

/** A message's listener. `from` is undefined for a member that has left meanwhile. */
export type MessageListener<T extends RoomTypes = AnyRoom> = (payload: unknown, from: Member<T> | undefined) => void;

export interface JoinOptions<T extends RoomTypes = AnyRoom> {
  /** The state of this member; by default, an empty state. */
  state?: T["state"] | undefined;
  /** Called when the service refuses a state or a message, or ends the membership. */
  onError?: ((error: SocleError) => void) | undefined;
}

/** States are sent at most once in this time, the last state always. */
const stateEveryMs = 50;
/** The service closes a socket that sends a larger frame. */
const mostBytes = 60 * 1024;

export class Room<T extends RoomTypes = AnyRoom> {
  /** All members, this member included. */
  readonly members: Observable<readonly Member<T>[]>;
  readonly status: Observable<RoomStatus>;
  /** Why the membership is over, or the last refusal; undefined without a refusal. */
  error: SocleError | undefined;
  /** The id of this member among the members; another id after each join. */
  id: string | undefined;
  readonly #members = new Observed<readonly Member<T>[]>([]);
  readonly #status = new Observed<RoomStatus>("joining");
  readonly #known = new Map<string, Member<T>>();
  readonly #listeners = new Set<readonly [event: string, listener: MessageListener<T>]>();
  readonly #onError: JoinOptions<T>["onError"];
  readonly #handle: RoomHandle;
  /** The state that waits. */
  #next: RoomState | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    { onError, state, room, key }: JoinOptions<T> & { room: string; key: string },
    join: (frame: RoomJoin, listener: RoomListener) => RoomHandle,
  ) {
    this.members = this.#members;
    this.status = this.#status;
    this.#onError = onError;
    // The types of the project say which fields a state has.
    const frame: RoomJoin = { action: "join", room, key, state: small((state ?? null) as RoomState | null) };
    this.#handle = join(frame, (news) => this.#take(news));
  }

  /**
   * Replaces the state of this member; of several states within 50 ms, the last is sent. After a break, the client joins again with
   * the last state. @throws RangeError for a state of more than 60 KiB.
   */
  setState(state: T["state"]): void {
    this.#next = small(state as RoomState);
    if (this.#timer === undefined) this.#sendState();
  }

  /**
   * Sends a message to the other members. Answers false, and sends nothing, while this browser is no member.
   * @throws RangeError for a payload of more than 60 KiB.
   */
  send(event: T["event"], payload: unknown = null): boolean {
    small(payload);
    if (this.#status.get() !== "joined") return false;
    if (this.#next) this.#sendState();
    this.#handle.send({ action: "send", event, payload });
    return true;
  }

  /** Calls back with each message of an event. Answers the function that ends the calls. */
  on(event: T["event"], listener: MessageListener<T>): () => void {
    const added = [event, listener] as const;
    this.#listeners.add(added);
    return () => void this.#listeners.delete(added);
  }

  leave(): void {
    this.#handle.leave();
    this.#end();
  }

  #end(): void {
    clearTimeout(this.#timer);
    this.#next = undefined;
    this.#status.set("left");
  }

  #sendState(): void {
    clearTimeout(this.#timer);
    const state = this.#next;
    this.#next = undefined;
    if (state) this.#handle.send({ action: "state", state });
    this.#timer = state && setTimeout(() => this.#sendState(), stateEveryMs);
  }

  #take(news: RoomNews): void {
    const known = this.#known;
    if (this.#status.get() === "left") return;
    if (news.type === "lost") this.#status.set("offline");
    else if (news.type === "left") this.#end();
    else if (news.type === "error") {
      const error = new SocleError(null, news as typeof news & { code: ErrorCode });
      this.error = error;
      callSafely(() => this.#onError?.(error));
    } else if (news.type === "message") {
      for (const [event, listener] of [...this.#listeners])
        if (event === news.event) callSafely(() => listener(news.payload, known.get(news.from)));
    } else {
      if (news.type === "joined") known.clear();
      const present = news.type === "joined" ? news.members : [...(news.came ?? []), ...(news.changed ?? [])];
      for (const member of present as readonly Member<T>[]) known.set(member.id, member);
      if (news.type === "presence") for (const id of news.left ?? []) known.delete(id);
      this.#members.set([...known.values()]);
      if (news.type === "presence") return;
      this.id = news.id;
      this.error = undefined;
      this.#status.set("joined");
    }
  }
}

/** A room of a name and a key: `socle.room("board", id)`. */
export interface RoomClient<T extends RoomTypes = AnyRoom> {
  readonly name: string;
  readonly key: string;
  /** Names the client. */
  readonly source: object;
  /** Becomes a member. @throws Error for a client without `live`; RangeError for a state of more than 60 KiB. */
  join(options?: JoinOptions<T>): Room<T>;
}

/** @throws RangeError */
function small<T>(value: T): T {
  const text = JSON.stringify(value);
  // A character outside of ASCII has up to three bytes.
  if (text.length * (/[^\0-\x7f]/.test(text) ? 3 : 1) > mostBytes)
    throw new RangeError("A state or a payload has 60 KiB at most");
  return value;
}
