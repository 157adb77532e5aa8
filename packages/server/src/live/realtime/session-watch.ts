/**
 * Session watch: closes a socket when its token expires or its session ends, and tells the socket of a new role of its user.
 */
import type { Role } from "@socle/protocol";
import type { Auth, SessionChange } from "../../people/auth/index.ts";
import type { SocketConnection } from "./connection.ts";

export class SessionWatch {
  readonly #auth: Auth;
  readonly #bySession = new Map<string, Set<SocketConnection>>();
  /** The sockets by the second in which their token expires: a single timer serves all sockets. */
  readonly #bySecond = new Map<number, Set<SocketConnection>>();
  #timer: Timer | null = null;

  constructor(auth: Auth) {
    this.#auth = auth;
  }

  add(connection: SocketConnection): void {
    if (connection.listener === null) return;
    const { sessionId } = connection.listener;
    addTo(this.#bySession, sessionId, connection);
    addTo(this.#bySecond, secondOf(connection), connection);
    this.#timer ??= this.#nextSecond();
    // The session may have ended between the check of the token and now.
    this.#check(sessionId);
  }

  remove(connection: SocketConnection): void {
    if (connection.listener === null) return;
    removeFrom(this.#bySession, connection.listener.sessionId, connection);
    removeFrom(this.#bySecond, secondOf(connection), connection);
  }

  changed({ sessionId, role }: SessionChange): void {
    this.#apply(sessionId, role);
  }

  stop(): void {
    clearTimeout(this.#timer ?? undefined);
  }

  #apply(sessionId: string, role: Role | null): void {
    for (const connection of this.#bySession.get(sessionId) ?? []) {
      const { listener } = connection;
      if (listener === null || role === listener.role) continue;
      if (role === null) this.#expire(connection);
      else connection.changeListener({ ...listener, role });
    }
  }

  #expire(connection: SocketConnection): void {
    this.remove(connection);
    connection.expire();
  }

  /** A session that cannot be looked at counts as ended: its sockets come back with their token. */
  #check(sessionId: string): void {
    let role: Role | null = null;
    try {
      role = this.#auth.roleOf(sessionId);
    } catch {
      // The database could not be read.
    }
    this.#apply(sessionId, role);
  }

  #nextSecond(): Timer {
    return setTimeout(() => this.#tick(), 1_001 - (Date.now() % 1_000)).unref();
  }

  #tick(): void {
    const now = Date.now() / 1_000;
    for (const [second, connections] of this.#bySecond)
      if (second <= now) for (const connection of connections) this.#expire(connection);
    this.#timer = this.#bySession.size > 0 ? this.#nextSecond() : null;
  }
}

function secondOf({ expiresAt }: SocketConnection): number {
  return Math.ceil(expiresAt / 1_000);
}

function addTo<K>(map: Map<K, Set<SocketConnection>>, key: K, connection: SocketConnection): void {
  const connections = map.get(key);
  if (connections === undefined) map.set(key, new Set([connection]));
  else connections.add(connection);
}

function removeFrom<K>(map: Map<K, Set<SocketConnection>>, key: K, connection: SocketConnection): void {
  const connections = map.get(key);
  connections?.delete(connection);
  if (connections?.size === 0) map.delete(key);
}
