/**
 * Session watch: closes a socket when its token expires or its session ends, and tells it of a new role of its user.
 */
import type { Role } from "@socle/protocol";
import type { Auth, SessionChange } from "../auth/index.ts";
import type { Connection } from "./connection.ts";

export class SessionWatch {
  readonly #auth: Auth;
  readonly #bySession = new Map<string, Set<Connection>>();
  /** By the second in which their token expires: one timer serves all. */
  readonly #bySecond = new Map<number, Set<Connection>>();
  #timer: Timer | null = null;
  /** Changes so far: a session that was read before a change may be stale after it. */
  #changes = 0;

  constructor(auth: Auth) {
    this.#auth = auth;
  }

  add(connection: Connection): void {
    if (connection.listener === null) return;
    const { sessionId } = connection.listener;
    addTo(this.#bySession, sessionId, connection);
    addTo(this.#bySecond, secondOf(connection), connection);
    this.#timer ??= this.#nextSecond();
    // The session may have ended between the check of the token and now.
    this.#check(sessionId);
  }

  remove(connection: Connection): void {
    if (connection.listener === null) return;
    removeFrom(this.#bySession, connection.listener.sessionId, connection);
    removeFrom(this.#bySecond, secondOf(connection), connection);
  }

  changed({ sessionId, role }: SessionChange): void {
    this.#changes += 1;
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

  #expire(connection: Connection): void {
    this.remove(connection);
    connection.expire();
  }

  /** A session that cannot be looked at counts as ended: its sockets come back with their token. */
  async #check(sessionId: string): Promise<void> {
    let [role, changes]: [Role | null, number] = [null, -1];
    while (changes !== this.#changes) {
      changes = this.#changes;
      role = await this.#auth.roleOf(sessionId).catch(() => null);
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

function secondOf({ expiresAt }: Connection): number {
  return Math.ceil(expiresAt / 1_000);
}

function addTo<K>(map: Map<K, Set<Connection>>, key: K, connection: Connection): void {
  const connections = map.get(key);
  if (connections === undefined) map.set(key, new Set([connection]));
  else connections.add(connection);
}

function removeFrom<K>(map: Map<K, Set<Connection>>, key: K, connection: Connection): void {
  const connections = map.get(key);
  connections?.delete(connection);
  if (connections?.size === 0) map.delete(key);
}
