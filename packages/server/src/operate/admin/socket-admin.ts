/** Admin API of sockets: the open sockets of all processes, with the channels and live queries of each. */
import type { SocketEntry } from "@socle/protocol";
import type { Realtime, SocketPart, SocketQuery } from "../../live/realtime/index.ts";
import type { Auth } from "../../people/auth/index.ts";

/** Answers a part of the sockets of a process. */
type SocketsOfProcess = (query: SocketQuery) => Promise<SocketPart>;

export interface SocketSources {
  readonly realtime: Realtime;
  readonly auth: Pick<Auth, "users">;
  /** The sockets of each reader process, by the number of the process; absent without reader processes. */
  readonly otherSockets?: (() => ReadonlyMap<number, SocketsOfProcess>) | undefined;
}

export class SocketAdmin {
  readonly #sources: SocketSources;

  constructor(sources: SocketSources) {
    this.#sources = sources;
  }

  /** Process after process, the oldest socket of a process first. A process that does not answer has no entries. */
  async list({ user, limit, offset }: SocketQuery): Promise<{ items: SocketEntry[]; total: number }> {
    const { auth, realtime, otherSockets } = this.#sources;
    const own: SocketsOfProcess = async (query) => realtime.list(query);
    const items: SocketEntry[] = [];
    let total = 0;
    for (const [process, listOf] of new Map([[0, own], ...(otherSockets?.() ?? [])])) {
      const part = await listOf({ user, limit: limit - items.length, offset: Math.max(0, offset - total) });
      for (const socket of part.items) {
        const email = socket.userId === null ? null : (auth.users.get(socket.userId)?.email ?? null);
        items.push({ ...socket, email, process });
      }
      total += part.total;
    }
    return { items, total };
  }
}
