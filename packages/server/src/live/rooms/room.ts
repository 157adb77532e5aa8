/**
 * Room: the members of a key, and the news about members that nobody was told yet. Members that came, changed and left within a
 * pause are told together, in one frame.
 */
import type { RoomDefinition } from "@socle/protocol";
import type { Bearer } from "../../base/kernel/index.ts";

/** A socket, as far as rooms use a socket. */
export interface RoomSocket {
  readonly listener: Bearer | null;
  /** The user or the address whose messages are counted. */
  readonly caller: string;
  readonly address: string;
  /** The memberships of the socket, by `nameOfRoom`. */
  readonly memberships: Map<string, Membership>;
  /** When the client last sent anything, by `performance.now()`. */
  readonly seenAt: number;
  send(text: string): void;
  sendNow(text: string): void;
  waiting(): number;
  join(topic: string): void;
  leave(topic: string): void;
  /** Sends a text to the other sockets of a topic. */
  publish(topic: string, text: string): void;
  ping(): void;
  cutOff(): void;
  /** The socket holds a channel more, or less. */
  countChannel(change: 1 | -1): void;
}

/** A way to other processes or instances, whose members are members here, too. */
export interface RoomLink {
  tell(news: RoomNews): void;
  /**
   * Begins with the members of now, as news that are made when the link takes the news: after all news that were told before. By
   * default, the members are told at once.
   */
  begin?(members: IterableIterator<RoomNews>): void;
}

/** The news of a room for other processes, as plain data. */
export type RoomNews = { readonly room: string; readonly key: string } & (
  | {
      readonly type: "presence";
      readonly came: readonly PlainMember[];
      readonly changed: readonly PlainMember[];
      readonly left: readonly string[];
    }
  /** The text is the frame. */
  | { readonly type: "message"; readonly from: string; readonly text: string }
);

type PlainMember = readonly [id: string, userId: string | null, state: string];

/** A member; the state is JSON. */
export interface AnyMember {
  readonly id: string;
  readonly userId: string | null;
  state: string;
  /** Bytes of the member in a frame, about. */
  bytes: number;
  /** The socket, or the link to the process with the socket. */
  readonly socket: RoomSocket | null;
  link: RoomLink | null;
}

/** A member with a socket here. */
export interface Membership extends AnyMember {
  readonly room: Room;
  readonly socket: RoomSocket;
  readonly link: null;
  /** The answer to the rule `send`; null until the next message. */
  maySend: boolean | null;
}

interface News {
  readonly came: readonly AnyMember[];
  readonly changed: readonly AnyMember[];
  readonly left: readonly AnyMember[];
}

/** Bytes of a member beside the state. */
const memberBytes = 100;

export function nameOfRoom(room: string, key: string): string {
  return `${room} ${key}`;
}

export function bytesOf(state: string): number {
  return Buffer.byteLength(state) + memberBytes;
}

export class Room {
  definition: RoomDefinition;
  readonly key: string;
  /** The topic of the sockets here: a number, because keys may be long. */
  readonly topic: string;
  readonly members = new Map<string, AnyMember>();
  /** The members with sockets here that get frames. */
  readonly hearing = new Set<Membership>();
  /** The members behind each link. */
  readonly behind = new Map<RoomLink, number>();
  /** Bytes of all members in a frame. */
  bytes = 0;
  /** When news were told last, by `performance.now()`. */
  toldAt = Number.NEGATIVE_INFINITY;
  isDue = false;
  /** The members with sockets here that have no answer to the join. */
  #newcomers = new Set<Membership>();
  #came = new Set<AnyMember>();
  #changed = new Set<AnyMember>();
  #left = new Set<AnyMember>();
  readonly #head: string;

  constructor(definition: RoomDefinition, key: string, number: number) {
    this.definition = definition;
    this.key = key;
    this.topic = `@room/${number}`;
    this.#head = `"room":${JSON.stringify(definition.name)},"key":${JSON.stringify(key)}`;
  }

  get name(): string {
    return nameOfRoom(this.definition.name, this.key);
  }

  /** The members with sockets here. */
  get local(): readonly Membership[] {
    return [...this.hearing, ...this.#newcomers];
  }

  add(member: AnyMember | Membership): void {
    this.members.set(member.id, member);
    this.bytes += member.bytes;
    // The member of a link that has failed and came again: nobody was told of the end.
    const gone = member.link === null ? undefined : [...this.#left].find(({ id }) => id === member.id);
    if (gone === undefined) this.#came.add(member);
    else if (this.#left.delete(gone)) this.#changed.add(member);
    if ("room" in member) this.#newcomers.add(member);
    this.#countBehind(member.link, 1);
  }

  change(member: AnyMember, state: string): void {
    const bytes = bytesOf(state);
    this.bytes += bytes - member.bytes;
    member.bytes = bytes;
    member.state = state;
    if (!this.#came.has(member)) this.#changed.add(member);
  }

  remove(member: AnyMember | Membership): void {
    if (!this.members.delete(member.id)) return;
    this.bytes -= member.bytes;
    this.#changed.delete(member);
    // Nobody heard of a member that came just now.
    if (!this.#came.delete(member)) this.#left.add(member);
    if ("room" in member) {
      this.#newcomers.delete(member);
      this.hearing.delete(member);
    }
    this.#countBehind(member.link, -1);
  }

  /** The member of a link that has failed came again by another link, before the end of the first. */
  moveTo(member: AnyMember, link: RoomLink): void {
    this.#countBehind(member.link, -1);
    member.link = link;
    this.#countBehind(link, 1);
  }

  #countBehind(link: RoomLink | null, change: 1 | -1): void {
    if (link === null) return;
    const count = (this.behind.get(link) ?? 0) + change;
    if (count > 0) this.behind.set(link, count);
    else this.behind.delete(link);
  }

  /** Whether the others were not told yet of the last change of a member. */
  isUntold(member: AnyMember): boolean {
    return this.#came.has(member) || this.#changed.has(member);
  }

  takeNewcomers(): readonly Membership[] {
    const newcomers = [...this.#newcomers];
    this.#newcomers.clear();
    return newcomers;
  }

  /** The news since the last call; null without news. */
  takeNews(): News | null {
    if (this.#came.size + this.#changed.size + this.#left.size === 0) return null;
    const news = { came: [...this.#came], changed: [...this.#changed], left: [...this.#left] };
    this.#came = new Set();
    this.#changed = new Set();
    this.#left = new Set();
    return news;
  }

  presenceText({ came, changed, left }: News): string {
    const lists = [
      came.length === 0 ? "" : `,"came":[${came.map(memberText).join()}]`,
      changed.length === 0 ? "" : `,"changed":[${changed.map(memberText).join()}]`,
      left.length === 0 ? "" : `,"left":${JSON.stringify(left.map(({ id }) => id))}`,
    ];
    return `{"type":"presence",${this.#head}${lists.join("")}}`;
  }

  /** The text of all members, for `joinedText`. */
  membersText(): string {
    return [...this.members.values()].map(memberText).join();
  }

  joinedText(id: string, members: string): string {
    return `{"type":"joined",${this.#head},"id":"${id}","members":[${members}]}`;
  }

  messageText({ id }: AnyMember, event: string, payload: string): string {
    return `{"type":"message",${this.#head},"event":${JSON.stringify(event)},"payload":${payload},"from":"${id}"}`;
  }

  /** The news for another process, without the members that the process has told of; null without news. */
  newsFor(link: RoomLink, { came, changed, left }: News): RoomNews | null {
    const others = (members: readonly AnyMember[]): AnyMember[] => members.filter((member) => member.link !== link);
    const [arrived, altered, gone] = [others(came), others(changed), others(left)];
    if (arrived.length + altered.length + gone.length === 0) return null;
    return {
      type: "presence",
      room: this.definition.name,
      key: this.key,
      came: arrived.map(plainOf),
      changed: altered.map(plainOf),
      left: gone.map(({ id }) => id),
    };
  }
}

function memberText({ id, userId, state }: AnyMember): string {
  return `{"id":"${id}","userId":${userId === null ? "null" : `"${userId}"`},"state":${state}}`;
}

function plainOf({ id, userId, state }: AnyMember): PlainMember {
  return [id, userId, state];
}
