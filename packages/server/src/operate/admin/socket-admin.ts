/** Admin API of sockets: the open sockets of all processes and instances, with the channels and live queries of each. */
import type { SocketEntry, SocketPage } from "@socle/protocol";
import type { Realtime, SocketPart, SocketQuery } from "../../live/realtime/index.ts";
import type { Auth } from "../../people/auth/index.ts";

/** Answers a part of the sockets of a process. */
type SocketsOfProcess = (query: SocketQuery) => Promise<SocketPart>;

export interface SocketSources {
  readonly realtime: Pick<Realtime, "list">;
  readonly auth: { readonly users: Pick<Auth["users"], "find"> };
  /** The sockets of each reader process, by the number of the process; absent without reader processes. */
  readonly otherSockets?: (() => ReadonlyMap<number, SocketsOfProcess>) | undefined;
  /** The address of this instance of a cluster, and the sockets of each other instance that lives, by the address; absent outside of a cluster. */
  readonly cluster?:
    | { readonly address: string; sockets(): Promise<ReadonlyMap<string, SocketsOfProcess>> }
    | undefined;
}

/** The time for an answer of a process, in milliseconds. */
const answerMs = 2_000;

export class SocketAdmin {
  readonly #sources: SocketSources;

  constructor(sources: SocketSources) {
    this.#sources = sources;
  }

  /** Process after process, the oldest socket of a process first. */
  async list({ user, limit, offset }: SocketQuery): Promise<Pick<SocketPage, "items" | "total" | "missing">> {
    const { auth, realtime, otherSockets, cluster } = this.#sources;
    const own: SocketsOfProcess = async (query) => realtime.list(query);
    const here = [[0, own] as const, ...(otherSockets?.() ?? [])];
    const away = [...((await cluster?.sockets()) ?? [])];
    const processes = [
      ...here.map(([process, listOf]) => ({ instance: cluster?.address ?? null, process, listOf })),
      ...away.map(([instance, listOf]) => ({ instance, process: 0, listOf })),
    ];
    const items: SocketEntry[] = [];
    const missing: SocketPage["missing"] = [];
    let total = 0;
    for (const { instance, process, listOf } of processes) {
      const query = { user, limit: limit - items.length, offset: Math.max(0, offset - total) };
      const part = await Promise.race([listOf(query), Bun.sleep(answerMs)]).catch(() => undefined);
      if (part === undefined) missing.push({ instance, process });
      for (const socket of part?.items ?? []) {
        const email = socket.userId === null ? null : (auth.users.find(socket.userId)?.email ?? null);
        items.push({ ...socket, email, instance, process });
      }
      total += part?.total ?? 0;
    }
    return { items, total, missing };
  }
}
