/** Kit of the tests of rooms: a service with rooms of all kinds, and the frames of members. */
import type { RoomMember, ServerFrame } from "@socle/protocol";
import { system, systemFor } from "../src/base/kernel/index.ts";
import { openServer, type TestServer, type TestSocket, until } from "./sockets.ts";

export const collections = [
  {
    name: "boards",
    fields: [
      { name: "title", type: "string" },
      { name: "isOpen", type: "boolean" },
      { name: "until", type: "datetime" },
      { name: "isHidden", type: "boolean" },
    ],
    permissions: { read: "isHidden != true", create: "authenticated" },
  },
  {
    name: "seats",
    fields: [
      { name: "board", type: "relation", collection: "boards" },
      { name: "user", type: "relation", collection: "users" },
      { name: "speaks", type: "boolean" },
    ],
  },
  {
    name: "files",
    fields: [{ name: "title", type: "string" }],
    permissions: { read: "grants(file)[user = @user.id]" },
  },
  {
    name: "grants",
    fields: [
      { name: "file", type: "relation", collection: "files" },
      { name: "user", type: "relation", collection: "users" },
    ],
  },
];
const isSeated = "seats(board)[user = @user.id]";
/** The definitions of rooms by name. */
export const rooms = {
  board: {
    name: "board",
    key: { collection: "boards" },
    join: isSeated,
    send: "seats(board)[user = @user.id && speaks = true]",
    presence: ["cursor", "typing"],
    events: ["cursor", "hi"],
  },
  own: { key: { collection: "boards" }, join: "owner", events: ["hi"] },
  open: { key: { collection: "boards" }, join: "isOpen = true", presence: ["n"], events: ["hi"] },
  file: { key: { collection: "files" }, join: "authenticated", events: ["hi"] },
  soon: { key: { collection: "boards" }, join: "until > @now", events: ["hi"] },
  lobby: { key: "string", join: "public", presence: ["n"], events: ["hi", "bye"] },
  members: { key: "string", join: "authenticated", events: ["hi"] },
  staff: { key: "string", join: "admin" },
  inbox: { key: "string", join: '@key = @user.id || @user.email = "boss@example.com"' },
};

/** A service with the rooms, an admin and two users. */
export async function openRooms() {
  const server = await openServer({ collections, rooms });
  const { records } = server.service;
  const board = async (owner: string | null, fields: object = {}): Promise<string> => {
    const principal = owner === null ? system : systemFor(owner);
    return (await records.create("boards", principal, { title: "x", ...fields })).record.id;
  };
  const seat = async (id: string, user: string, speaks = true): Promise<string> =>
    (await records.create("seats", system, { board: id, user, speaks })).record.id;
  const adminToken = await server.admin();
  const ann = await server.register("ann@example.com");
  const bob = await server.register("bob@example.com");
  return { server, records, adminToken, ann, bob, board, seat };
}

type Frame<T extends ServerFrame["type"]> = Extract<ServerFrame, { type: T }>;

export function framesOf<T extends ServerFrame["type"]>({ frames }: TestSocket, type: T): Frame<T>[] {
  return frames.filter((frame): frame is Frame<T> => frame.type === type);
}

/** Joins a room; the answer. @throws Error for a refusal. */
export async function joined(
  client: TestSocket,
  room: string,
  ...[key, state]: [key: string, state?: object]
): Promise<Frame<"joined">> {
  const answers = () => client.frames.filter(({ type }) => type === "joined" || type === "error");
  const before = answers().length;
  client.send({ action: "join", room, key, ...(state !== undefined && { state }) });
  await until(() => answers().length > before);
  const answer = answers()[before];
  if (answer?.type !== "joined") throw new Error(JSON.stringify(answer));
  return answer;
}

/** Everything that was sent to a socket before this call has arrived. */
export async function settled(...clients: TestSocket[]): Promise<void> {
  await Bun.sleep(120);
  for (const client of clients) {
    const before = framesOf(client, "pong").length;
    client.send({ action: "ping" });
    await until(() => framesOf(client, "pong").length > before);
  }
}

/** The members that a client knows by the frames of a room. */
export function membersOf(client: TestSocket, room: string): RoomMember[] {
  const members = new Map<string, RoomMember>();
  for (const frame of client.frames) {
    if (!("room" in frame) || frame.room !== room) continue;
    if (frame.type === "joined") members.clear();
    if (frame.type === "joined") for (const member of frame.members) members.set(member.id, member);
    if (frame.type !== "presence") continue;
    for (const member of [...(frame.came ?? []), ...(frame.changed ?? [])]) members.set(member.id, member);
    for (const id of frame.left ?? []) members.delete(id);
  }
  return [...members.values()];
}

export function times(of: TestServer, limit: string): number {
  return of.service.limits.totals().find(([name]) => name === limit)?.[1] ?? 0;
}
