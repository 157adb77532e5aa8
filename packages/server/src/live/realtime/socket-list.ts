/** Socket list: the open sockets of a process, as an admin sees the sockets. */
import type { SocketEntry } from "@socle/protocol";
import type { SocketConnection } from "./connection.ts";
import type { LiveSource } from "./live-sources.ts";

/** An entry of the process that has the socket. */
type OwnSocket = Omit<SocketEntry, "email" | "instance" | "process">;

export interface SocketQuery {
  /** The id of a user; null for the sockets of all callers. */
  readonly user: string | null;
  readonly limit: number;
  readonly offset: number;
}

/** A part of the sockets, oldest first, and the number of all sockets of the query. */
export interface SocketPart {
  readonly items: readonly OwnSocket[];
  readonly total: number;
}

/** The longest text of a filter or of parameters, in characters. A socket may hold 50 filters of 4 KiB. */
const maxText = 300;

export function socketList(connections: Iterable<SocketConnection>, { user, limit, offset }: SocketQuery): SocketPart {
  const found = [...connections].filter(({ listener }) => user === null || listener?.userId === user);
  return { items: found.slice(offset, offset + limit).map(entryOf), total: found.length };
}

function entryOf(connection: SocketConnection): OwnSocket {
  const { id, address, listener, openedAt, held } = connection;
  return {
    id,
    userId: listener?.userId ?? null,
    role: listener?.role ?? null,
    isKey: listener !== null && "scopes" in listener,
    address,
    openedAt: new Date(openedAt).toISOString(),
    waiting: connection.waiting(),
    channels: held.channels.map(({ id: of, name, subscription: { filter } }) => ({
      id: of,
      channel: name,
      filter: filter === null ? null : cut(filter),
    })),
    queries: [...held.queries].map(queryOf),
    rooms: [...connection.memberships.values()].map(({ room, state }) => ({
      room: room.definition.name,
      key: cut(room.key),
      state: cut(state),
    })),
  };
}

function queryOf([id, source]: readonly [id: string, source: LiveSource]): OwnSocket["queries"][number] {
  if ("name" in source) return { id, of: source.name, parameters: cut(JSON.stringify(source.args)) };
  return { id, of: source.collection, parameters: cut(new URLSearchParams([...source.parameters]).toString()) };
}

function cut(text: string): string {
  return text.length <= maxText ? text : `${text.slice(0, maxText)}…`;
}
