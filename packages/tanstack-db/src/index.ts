/** `@socle/tanstack-db`: a collection of TanStack DB over a live query of the client. */
import type { LiveState, Socle } from "@socle/client";
import type { Watchable } from "@socle/client/store";
import type { CollectionConfig, SyncConfig } from "@tanstack/db";

/** The records of a collection of TanStack DB, and the client that sends the changes. */
export interface SocleCollection<Item> {
  /** The client of the query. */
  readonly client: Pick<Socle, "$source">;
  /** The records: a query without groups. Changes go to the collection of the query. */
  readonly query: Watchable<LiveState<Item>>;
}

/** A change of TanStack DB. The fields of a record are known to the service. */
interface Mutation {
  readonly type: "insert" | "update" | "delete";
  readonly key: string;
  readonly modified: object;
  readonly changes: object;
}

type Config<Item extends object> = Required<
  Pick<CollectionConfig<Item, string>, "getKey" | "sync" | "onInsert" | "onUpdate" | "onDelete">
>;

/** The window of the live query: the records of TanStack DB, and the changes that wait for a position. */
class Window<Item extends { readonly id: string }> {
  readonly #query: Watchable<LiveState<Item>>;
  /** The position up to which the records are right; infinite while the query does not run. */
  #position = Number.POSITIVE_INFINITY;
  #waiting: (() => void)[] = [];

  constructor(query: Watchable<LiveState<Item>>) {
    this.#query = query;
  }

  readonly sync: SyncConfig<Item, string>["sync"] = ({ begin, write, commit, markReady, markError }) => {
    let known = new Map<string, Item>();
    const stop = this.#query.live(({ items, status, position, error }) => {
      const present = new Map(items.map((item) => [item.id, item]));
      // A record that did not change is the same object.
      const changed = items.filter((item) => known.get(item.id) !== item);
      const gone = [...known.keys()].filter((id) => !present.has(id));
      if (changed.length + gone.length > 0) {
        begin();
        for (const value of changed) write({ type: known.has(value.id) ? "update" : "insert", value });
        for (const key of gone) write({ type: "delete", key });
        commit();
      }
      known = present;
      if (status === "live") markReady();
      // A service that is not reached yet is tried again: only the end of the query is for good.
      const isOver = status === "error" && error?.code !== "offline";
      if (isOver) markError(error);
      this.#reach(isOver ? Number.POSITIVE_INFINITY : position);
    });
    return () => {
      stop();
      this.#reach(Number.POSITIVE_INFINITY);
    };
  };

  /** Resolves when the records have the writes up to a position; at once while the query does not run. */
  async reaches(position: number): Promise<void> {
    while (this.#position < position) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #reach(position: number): void {
    this.#position = position;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

/** The fields of a new record that the caller gives. The service gives the id and the times, and the defaults of other fields. */
function givenOf(record: object): object {
  const ofService = ["id", "createdAt", "updatedAt"];
  return Object.fromEntries(
    Object.entries(record).filter(([name, value]) => value != null && !ofService.includes(name)),
  );
}

/**
 * The options of a collection of TanStack DB that holds the records of a live query:
 * `createCollection(socleCollectionOptions({ client: socle, query: socle.tasks.where({ done: false }) }))`.
 *
 * Changes are sent to the service, several at once as a batch: all or no change. The change that is shown at once stays until the
 * live query has passed the position of the write, or is taken back with the `SocleError` of the refusal.
 * @throws TypeError for a query without records: groups, or a server query.
 */
export function socleCollectionOptions<Item extends { readonly id: string }>({
  client,
  query,
}: SocleCollection<Item>): Config<Item> {
  const asked = query.asked();
  if (!("collection" in asked) || asked.group !== undefined || asked.aggregate !== undefined)
    throw new TypeError("A collection of TanStack DB needs a query of records: groups and server queries have no ids");
  const { collection } = asked;
  const window = new Window(query);
  const send = async ({ transaction }: { transaction: { mutations: readonly Mutation[] } }): Promise<void> => {
    const operations = transaction.mutations.map(({ type, key, modified, changes }) => {
      if (type === "insert") return { method: "create", collection, body: givenOf(modified) };
      return type === "update"
        ? { method: type, collection, id: key, body: changes }
        : { method: type, collection, id: key };
    });
    const { position } = await client.$source.transport.writeOnce<unknown>("/api/batch", { operations });
    await window.reaches(position ?? 0);
  };
  return {
    getKey: ({ id }) => id,
    sync: { sync: window.sync, rowUpdateMode: "full" },
    onInsert: send,
    onUpdate: send,
    onDelete: send,
  };
}
