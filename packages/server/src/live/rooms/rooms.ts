/**
 * Rooms: members with states, and messages between members. Nothing is stored: a room is there while the room has members. Each process has
 * all members, and asks the rules for the members with sockets here. Members and messages of other processes come by links.
 */
import type { RoomDefinition, RoomState } from "@socle/protocol";
import type { Config } from "../../base/config/index.ts";
import { type LimitName, SetupError, TokenBuckets } from "../../base/kernel/index.ts";
import type { LimitMeter, Logger } from "../../base/logging/index.ts";
import { definitionsChanged } from "../../data/collections/index.ts";
import { recordsChanged } from "../../data/records/index.ts";
import type { Database } from "../../store/database/index.ts";
import {
  type AnyMember,
  bytesOf,
  type Membership,
  nameOfRoom,
  Room,
  type RoomLink,
  type RoomNews,
  type RoomSocket,
} from "./room.ts";
import type { RoomFile } from "./room-files.ts";
import { hasRight, policiesOf, type RightsOptions, type RoomPolicies, type RoomRight } from "./room-rights.ts";

/** A frame about a room that cannot be followed. */
export class RoomError extends Error {
  readonly code: "invalid_room" | "forbidden" | "invalid_event" | "invalid_state" | "room_limit";

  constructor(code: RoomError["code"], message: string) {
    super(message);
    this.code = code;
  }
}

export interface RoomsOptions extends RightsOptions {
  readonly config: Config;
  readonly database: Database;
  readonly limits: LimitMeter;
  readonly logger: Logger;
  /** Turns of the event loop; see `Turns` of realtime. */
  readonly turns: { take(caller: string): Promise<() => void> };
  /** Sends a text to the sockets of a room here, other than the sender. */
  readonly broadcast: (room: Room, text: string, sender: RoomSocket | null) => void;
  /** Tells a socket that a membership has ended. */
  readonly onEnd: (membership: Membership, error: RoomError) => void;
}

interface RoomName {
  readonly room: string;
  readonly key: string;
}

/** Milliseconds between two looks at the sockets, the silence after which a socket is asked for a sign of life, and after which the socket is cut off. */
const lookMs = 5_000;
const silentMs = 8_000;
const goneMs = 20_000;
/** Rights of all rooms are looked at again in a fifth of the time at most, and no later than a second. */
const restFactor = 4;
const longestRestMs = 1_000;
/** Milliseconds between two looks at rights that may end with the time. */
const timedMs = 1_000;

const noMember = "This socket is no member of the room: join first.";
/** The same for a record that does not exist. */
const mayNotJoin = "You may not join this room.";

export class Rooms {
  readonly #options: RoomsOptions;
  /** By name of the definition. */
  #files = new Map<string, RoomFile>();
  /** The rules by the definitions of collections in force; null for rules that do not fit these definitions. */
  readonly #policies = new Map<string, RoomPolicies | null>();
  readonly #rooms = new Map<string, Room>();
  /** The sockets with memberships. */
  readonly #sockets = new Set<RoomSocket>();
  readonly #links = new Set<RoomLink>();
  /** The rooms whose rights may have changed. */
  readonly #stale = new Set<Room>();
  #isSettling = false;
  readonly #rates: TokenBuckets;
  #lastNumber = 0;
  #timers: readonly Timer[] = [];

  constructor(options: RoomsOptions) {
    this.#options = options;
    this.#rates = new TokenBuckets({ count: options.config["limits.roomMessages"], perMs: 1_000 });
    const { projection } = options.database;
    projection.on(recordsChanged, ({ collection }) => {
      if (this.#rooms.size > 0) this.#doubt(({ collections }) => collections.has(collection));
    });
    projection.on(definitionsChanged, () => setImmediate(() => this.#redefined()));
  }

  /** Takes definitions in place of the former definitions. */
  load(files: readonly RoomFile[]): void {
    this.#files = new Map(files.map((file) => [file.definition.name, file]));
    for (const room of this.#rooms.values())
      room.definition = this.#files.get(room.definition.name)?.definition ?? room.definition;
    this.#redefined();
  }

  get files(): readonly RoomFile[] {
    return [...this.#files.values()];
  }

  close(): void {
    for (const timer of this.#timers) clearInterval(timer);
  }

  /** Makes a socket a member, with a state. A member joins again, and may change the state so. @throws RoomError. */
  join(socket: RoomSocket, { room: name, key, state }: RoomName & { state: RoomState | null }): void {
    const file = this.#files.get(name);
    if (file === undefined) throw new RoomError("invalid_room", "There is no room of this name.");
    const { definition } = file;
    this.#count(socket);
    const text = this.#stateText(definition, state ?? {}, socket);
    if (!this.#hasRight("join", definition, { key, socket })) throw new RoomError("forbidden", mayNotJoin);
    const known = socket.memberships.get(nameOfRoom(name, key));
    if (known !== undefined) {
      if (state !== null) this.#change(known, text);
      this.#flush(known.room);
      socket.send(known.room.joinedText(known.id, known.room.membersText()));
      return;
    }
    const room = this.#rooms.get(nameOfRoom(name, key)) ?? this.#open(definition, key);
    const most = this.#options.config["limits.roomMembers"];
    if (room.members.size >= most)
      throw this.#limit("roomMembers", socket, `The room has ${most} members, as many as a room may have.`);
    const bytes = bytesOf(text);
    this.#checkRoom(room, bytes, socket);
    const { listener } = socket;
    const id = crypto.randomUUID();
    const userId = listener?.userId ?? null;
    const member: Membership = { id, userId, state: text, bytes, socket, link: null, room, maySend: null };
    this.#rooms.set(room.name, room);
    room.add(member);
    socket.memberships.set(room.name, member);
    socket.countChannel(1);
    this.#sockets.add(socket);
    this.#watch();
    this.#isDue(room);
  }

  isMember({ memberships }: RoomSocket, { room, key }: RoomName): boolean {
    return memberships.has(nameOfRoom(room, key));
  }

  /** Changes the state of a member. @throws RoomError. */
  setState(socket: RoomSocket, { room, key, state }: RoomName & { state: RoomState }): void {
    const member = this.#memberOf(socket, { room, key });
    this.#count(socket);
    this.#change(member, this.#stateText(member.room.definition, state, socket));
  }

  /** Sends a message to the other members. @throws RoomError. */
  send(socket: RoomSocket, message: RoomName & { event: string; payload: unknown }): void {
    const { event } = message;
    const member = this.#memberOf(socket, message);
    const { room } = member;
    const { events } = room.definition;
    if (!events.includes(event))
      throw new RoomError("invalid_event", `The room has no such event; there are: ${events.join(", ") || "none"}.`);
    this.#count(socket);
    const payload = this.#text("payload of a message", message.payload, socket);
    // A member without the right hears nothing more.
    if (this.#stale.has(room)) this.#settle(room);
    if (!room.members.has(member.id)) return;
    member.maySend ??= this.#hasRight("send", room.definition, { key: room.key, socket });
    if (!member.maySend) throw new RoomError("forbidden", "You may not send messages to this room.");
    this.#tell(room, member, room.messageText(member, event, payload));
  }

  leave(socket: RoomSocket, { room, key }: RoomName): void {
    const member = socket.memberships.get(nameOfRoom(room, key));
    if (member !== undefined) this.#remove(member);
  }

  /** The socket ends. */
  leaveAll(socket: RoomSocket): void {
    for (const member of [...socket.memberships.values()]) this.#remove(member);
  }

  /** The caller of a socket has another role. */
  changeListener(socket: RoomSocket): void {
    for (const { room } of socket.memberships.values()) this.#settle(room);
  }

  /** A record has changed, and the change is on disk. */
  recordChanged(collection: string, id: string): void {
    if (this.#rooms.size === 0) return;
    for (const { definition } of this.#files.values()) {
      const isKey = definition.key !== "string" && definition.key.collection === collection;
      const room = isKey ? this.#rooms.get(nameOfRoom(definition.name, id)) : undefined;
      if (room !== undefined) this.#doubtRoom(room);
    }
  }

  /** Members and messages cross a link from now on. Answers how to end the link. */
  connect(link: RoomLink): () => void {
    const members = this.#membersFor(link);
    if (link.begin === undefined) for (const news of members) link.tell(news);
    else link.begin(members);
    this.#links.add(link);
    return () => {
      this.#links.delete(link);
      for (const room of [...this.#rooms.values()])
        for (const member of [...room.members.values()]) if (member.link === link) this.#removeFrom(room, member);
    };
  }

  /** Takes news of a link. */
  take(link: RoomLink, news: RoomNews): void {
    const { room: name, key } = news;
    const known = this.#rooms.get(nameOfRoom(name, key));
    // The room of a definition that is gone has members until each process has told their end.
    const definition = known?.definition ?? this.#files.get(name)?.definition;
    // Another instance may have other files.
    if (definition === undefined || !this.#links.has(link)) return;
    const room = known ?? this.#open(definition, key);
    if (news.type === "message") {
      const member = room.members.get(news.from);
      if (member !== undefined) this.#tell(room, member, news.text);
      return;
    }
    for (const [id, userId, state] of [...news.came, ...news.changed]) {
      const member = room.members.get(id);
      if (member?.socket) continue;
      if (member === undefined) room.add({ id, userId, state, bytes: bytesOf(state), socket: null, link });
      else {
        if (member.link !== link) room.moveTo(member, link);
        if (member.state !== state) room.change(member, state);
      }
    }
    for (const id of news.left) {
      const member = room.members.get(id);
      if (member?.link === link) room.remove(member);
    }
    if (room.members.size > 0) this.#rooms.set(room.name, room);
    this.#isDue(room);
  }

  /** Logs that a link ends because the other side takes the news too slowly. */
  warnOfSlowLink(): void {
    this.#options.logger.often(
      "A link of rooms between two instances ended, because too many news waited: lower limits.roomMessages, or raise realtime.liveEvery",
    );
  }

  /** The members of each room, as they are when the link takes them. */
  *#membersFor(link: RoomLink): Generator<RoomNews> {
    for (const room of [...this.#rooms.values()]) {
      const news = room.newsFor(link, { came: [...room.members.values()], changed: [], left: [] });
      if (news !== null) yield news;
    }
  }

  #open(definition: RoomDefinition, key: string): Room {
    this.#lastNumber += 1;
    return new Room(definition, key, this.#lastNumber);
  }

  /** @throws RoomError `forbidden`. */
  #memberOf(socket: RoomSocket, { room, key }: RoomName): Membership {
    const member = socket.memberships.get(nameOfRoom(room, key));
    if (member === undefined) throw new RoomError("forbidden", noMember);
    return member;
  }

  #change(member: Membership, state: string): void {
    const { room, socket } = member;
    this.#checkRoom(room, bytesOf(state) - member.bytes, socket);
    room.change(member, state);
    this.#isDue(room);
  }

  #remove(member: Membership): void {
    const { room, socket } = member;
    if (!socket.memberships.delete(room.name)) return;
    socket.leave(room.topic);
    socket.countChannel(-1);
    if (socket.memberships.size === 0) this.#sockets.delete(socket);
    this.#removeFrom(room, member);
  }

  #removeFrom(room: Room, member: AnyMember): void {
    room.remove(member);
    this.#isDue(room);
  }

  /** @throws RoomError `invalid_state`, `room_limit`. */
  #stateText({ presence }: RoomDefinition, state: RoomState, socket: RoomSocket): string {
    const unknown = Object.keys(state).find((field) => !presence.includes(field));
    if (unknown !== undefined)
      throw new RoomError("invalid_state", `A state has no such field; there are: ${presence.join(", ") || "none"}.`);
    return this.#text("state", state, socket);
  }

  /** A value as JSON. @throws RoomError `room_limit`. */
  #text(what: string, value: unknown, socket: RoomSocket): string {
    const text = JSON.stringify(value);
    const most = this.#options.config["limits.roomState"];
    if (text.length > most || Buffer.byteLength(text) > most)
      throw this.#limit("roomState", socket, `The ${what} may have ${most} bytes as JSON.`);
    return text;
  }

  /** @throws RoomError `room_limit`: the answer to a join would not fit into the buffer of a socket. */
  #checkRoom(room: Room, bytes: number, socket: RoomSocket): void {
    if (bytes > 0 && room.bytes + bytes > this.#options.config["realtime.bufferLimit"] / 2)
      throw this.#limit("roomState", socket, "The states of all members together are as large as a room allows.");
  }

  /** Counts a frame of a caller that others hear of. @throws RoomError `room_limit`. */
  #count(socket: RoomSocket): void {
    if (this.#rates.take(socket.caller, performance.now()) === 0) return;
    const most = this.#options.config["limits.roomMessages"];
    throw this.#limit("roomMessages", socket, `A user sends at most ${most} joins, states and messages in a second.`);
  }

  #limit(limit: LimitName, { address }: RoomSocket, message: string): RoomError {
    this.#options.limits.reached(limit, { address });
    return new RoomError("room_limit", message);
  }

  /** Tells a message of a member. */
  #tell(room: Room, member: AnyMember, text: string): void {
    if (this.#stale.has(room)) this.#settle(room);
    // A member's state and messages are heard in the order in which the member has sent them.
    if (room.isUntold(member)) this.#flush(room);
    this.#options.broadcast(room, text, member.socket);
    const { definition, key, behind } = room;
    for (const link of this.#links)
      if (link !== member.link && (behind.get(link) ?? 0) > 0)
        link.tell({ type: "message", room: definition.name, key, from: member.id, text });
  }

  /** Plans to tell the news of a room: at once after a pause. */
  #isDue(room: Room): void {
    if (room.isDue) return;
    room.isDue = true;
    const tell = (): void => {
      room.isDue = false;
      this.#flush(room);
    };
    const wait = room.toldAt + this.#options.config["realtime.liveEvery"] - performance.now();
    if (wait <= 0) setImmediate(tell);
    else setTimeout(tell, wait).unref();
  }

  /** Tells the news of a room, then the answers to joins. */
  #flush(room: Room): void {
    if (this.#stale.has(room)) this.#settle(room);
    const news = room.takeNews();
    if (news !== null) {
      room.toldAt = performance.now();
      this.#options.broadcast(room, room.presenceText(news), null);
      for (const link of this.#links) {
        const part = room.newsFor(link, news);
        if (part !== null) link.tell(part);
      }
    }
    const newcomers = room.takeNewcomers();
    const members = newcomers.length === 0 ? "" : room.membersText();
    for (const member of newcomers) {
      room.hearing.add(member);
      member.socket.join(room.topic);
      member.socket.send(room.joinedText(member.id, members));
    }
    if (room.members.size > 0 || this.#rooms.get(room.name) !== room) return;
    this.#rooms.delete(room.name);
    this.#stale.delete(room);
  }

  #hasRight(
    right: RoomRight,
    definition: RoomDefinition,
    { key, socket }: { key: string; socket: RoomSocket },
  ): boolean {
    const policies = this.#policiesOf(definition.name);
    return (
      policies !== null && hasRight(policies, { definition, right, key, listener: socket.listener }, this.#options)
    );
  }

  /** The rules of a room; null, with a line in the log, for rules that do not fit the definitions of collections. */
  #policiesOf(name: string): RoomPolicies | null {
    return this.#policies.getOrInsertComputed(name, () => {
      const { collections, logger } = this.#options;
      const file = this.#files.get(name);
      try {
        const definition = (each: string) => collections.get(each)?.definition;
        return file === undefined ? null : policiesOf(file, { users: collections.users, definition });
      } catch (thrown) {
        if (!(thrown instanceof SetupError)) throw thrown;
        logger.error(`The room is closed: ${thrown.message}`);
        return null;
      }
    });
  }

  #redefined(): void {
    this.#policies.clear();
    for (const room of this.#rooms.values()) this.#doubtRoom(room);
  }

  /** Looks at the rights again in the rooms whose rules are concerned. */
  #doubt(isConcerned: (policies: RoomPolicies) => boolean): void {
    const names = [...this.#files.keys()].filter((name) => {
      const policies = this.#policiesOf(name);
      return policies !== null && isConcerned(policies);
    });
    if (names.length === 0) return;
    for (const room of this.#rooms.values()) if (names.includes(room.definition.name)) this.#doubtRoom(room);
  }

  #doubtRoom(room: Room): void {
    this.#stale.add(room);
    if (!this.#isSettling) void this.#settleAll();
  }

  async #settleAll(): Promise<void> {
    this.#isSettling = true;
    try {
      while (this.#stale.size > 0) {
        let spent = 0;
        for (const room of [...this.#stale]) {
          const end = await this.#options.turns.take("");
          const from = performance.now();
          if (this.#stale.has(room)) this.#settle(room);
          spent += performance.now() - from;
          end();
        }
        await Bun.sleep(Math.min(longestRestMs, spent * restFactor));
      }
    } finally {
      this.#isSettling = false;
    }
  }

  /** Ends the memberships of members that have lost the right to join. */
  #settle(room: Room): void {
    this.#stale.delete(room);
    const isThere = this.#files.has(room.definition.name);
    const answers = new Map<string, boolean>();
    for (const member of room.local) {
      const { listener } = member.socket;
      member.maySend = null;
      const caller = `${listener?.userId ?? ""} ${listener?.role ?? ""}`;
      const mayStay = isThere && answers.getOrInsertComputed(caller, () => this.#mayStay(member));
      if (mayStay) continue;
      this.#remove(member);
      const error = isThere
        ? new RoomError("forbidden", mayNotJoin)
        : new RoomError("invalid_room", "There is no room of this name.");
      this.#options.onEnd(member, error);
    }
  }

  /** A right that cannot be looked at counts as lost. */
  #mayStay({ room: { definition, key }, socket }: Membership): boolean {
    try {
      return this.#hasRight("join", definition, { key, socket });
    } catch (error) {
      this.#options.logger.error("The right of a member of a room could not be looked at", { error });
      return false;
    }
  }

  /** Looks at the sockets and at rights that end with the time, as long as sockets have memberships. */
  #watch(): void {
    if (this.#timers.length > 0) return;
    const look = (): void => {
      this.lookAtSockets(performance.now());
      if (this.#sockets.size > 0) return;
      this.close();
      this.#timers = [];
    };
    this.#timers = [setInterval(look, lookMs), setInterval(() => this.#doubt(({ isTimed }) => isTimed), timedMs)];
    for (const timer of this.#timers) timer.unref();
  }

  /** Cuts off the sockets that give no sign of life. @param now by `performance.now()`. */
  lookAtSockets(now: number): void {
    for (const socket of [...this.#sockets]) {
      const silence = now - socket.seenAt;
      if (silence > goneMs) socket.cutOff();
      else if (silence > silentMs) socket.ping();
    }
  }
}
