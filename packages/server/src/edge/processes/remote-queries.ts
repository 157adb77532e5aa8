/** Remote queries: the server queries in a reader process, which the leader runs. */
import { AppError, type Bearer, quote } from "../../base/kernel/index.ts";
import { admitAccess } from "../../code/endpoints/index.ts";
import type { ServerQueries } from "../../code/server-queries/index.ts";
import { admitQuery } from "../../data/permissions/index.ts";
import type { LiveValueRun, NamedQueries, NamedSource } from "../../live/realtime/index.ts";
import type { ForLeader, QueryNames, QueryRun } from "./messages.ts";

/** The names of the queries as the leader has them. */
export function namesOf(queries: ServerQueries): QueryNames {
  return {
    access: queries.entries().map(([name, query]) => [name, query?.access ?? null] as const),
    personal: queries.personal(),
  };
}

/** Runs a query for a process. @throws AppError as `ServerQueries.run`. */
export async function runFor(
  queries: ServerQueries,
  { name, args, caller }: Parameters<ForLeader["run"]>[0],
  signal: AbortSignal,
): Promise<QueryRun> {
  const { collections, ...run } = await queries.run({ name, args }, caller, signal);
  return { ...run, collections: [...collections], personal: queries.personal() };
}

export class RemoteQueries implements NamedQueries {
  readonly #runAtLeader: ForLeader["run"];
  #names: QueryNames;
  #onLoad: (() => void) | null = null;

  constructor(names: QueryNames, runAtLeader: ForLeader["run"]) {
    this.#names = names;
    this.#runAtLeader = runAtLeader;
  }

  /** The leader has loaded the user's code. */
  load(names: QueryNames): void {
    this.#names = names;
    this.#onLoad?.();
  }

  admit(name: string, caller: Bearer | null): void {
    const found = this.#names.access.find(([each]) => each === name);
    if (found === undefined) throw new AppError("not_found", `There is no query ${quote(name)}.`);
    const [, access] = found;
    if (access === null)
      throw new AppError("internal_error", "The query does not load; the log of the service says why.");
    admitQuery(caller, name);
    admitAccess(access, caller);
  }

  isPersonal(name: string): boolean {
    return this.#names.personal.includes(name);
  }

  async run({ name, args }: NamedSource, caller: Bearer | null, signal: AbortSignal): Promise<LiveValueRun> {
    const { collections, personal, ...run } = await this.#runAtLeader({ name, args, caller }, signal);
    this.#names = { ...this.#names, personal };
    return { ...run, collections: new Map(collections) };
  }

  onLoad(listener: () => void): void {
    this.#onLoad = listener;
  }
}
