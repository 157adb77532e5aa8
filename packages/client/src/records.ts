/** The records of a collection: queries, and reading and writing single records. */

import {
  type FieldChange,
  type HistoryEntry,
  type RecordHistory,
  type RecordSelection,
  type SystemFields,
  type USERS,
  versionOf,
} from "@socle/protocol";
import { type CollectionTypes, QueryBuilder, type RecordIn } from "@socle/protocol/query";
import type { OptimisticWrite } from "./live-types.ts";
import type { QueryStart } from "./query-types.ts";
import { searchOf } from "./search.ts";
import type { Source } from "./source.ts";
import type { Answered, CallOptions, ChangeOptions, OnceOptions } from "./transport.ts";

/** The names of the fields that are never null: the required fields of the definition. */
type RequiredField<T> = {
  [Name in keyof T]-?: null extends T[Name] ? never : undefined extends T[Name] ? never : Name;
}[keyof T];

/** The values of a record to create: required fields must be present, every other field may. */
export type NewRecord<T> = Partial<Omit<T, keyof SystemFields>> &
  Pick<T, Exclude<RequiredField<T>, keyof SystemFields>>;

/** The operators of an update that a value of the type takes: the new value starts from the present value. */
type OperatorsOf<Value> = [Value] extends [number]
  ? { $increment: number }
  : [Value] extends [readonly string[]]
    ? { $add?: Value; $remove?: Value }
    : never;

/** The values of an update, or operators in their place: `{ stock: { $increment: -1 } }`. */
export type Changes<T> = { [Name in keyof T]?: T[Name] | OperatorsOf<NonNullable<T[Name]>> };

/** The values of a record to create. The owner is the signed-in user. */
export type CreateOf<Types extends CollectionTypes> = Omit<Types["create"], Types["owner"]> &
  Partial<Pick<Types["create"], Types["owner"] & keyof Types["create"]>>;

/** The unique fields of a collection; any text without types. */
export type UniqueIn<Types> = Types extends { unique: infer Names } ? Names & string : string;

/** The values of an upsert: of a record to create, in which operators may stand in the place of values. */
export type UpsertValues<Create, Update> = {
  [Name in keyof Create]: Create[Name] | (Name extends keyof Update ? Exclude<Update[Name], undefined> : never);
};

type ClientOf<C extends { [name in keyof C]: CollectionTypes }, Name extends keyof C> = RecordsClient<
  C[Name]["record"],
  CreateOf<C[Name]>,
  C[Name]["update"],
  UniqueIn<C[Name]>
> &
  QueryStart<C, Name, RecordIn<C, Name>>;

/** The calls that a view does not have. */
type Written = "create" | "update" | "upsert" | "delete" | "trash" | "restore" | "history";

/** A collection of a project. Users are created by a registration, and deleted as accounts. A view is only read. */
export type NamedClient<
  C extends { [name in keyof C]: CollectionTypes },
  Name extends keyof C,
> = Name extends typeof USERS
  ? Omit<ClientOf<C, Name>, "create" | "upsert" | "delete">
  : [C[Name]["create"]] extends [never]
    ? Omit<ClientOf<C, Name>, Written>
    : ClientOf<C, Name>;

/** The records of a collection. Every method throws `SocleError`. */
export interface RecordsClient<
  T extends Pick<SystemFields, "id">,
  Create = NewRecord<T>,
  Update = Changes<T>,
  By = string,
> {
  get<R = T>(id: string, selection?: RecordSelection & CallOptions): Promise<R>;
  /** Creates a record, a single time also if the answer is lost: see `ClientOptions.retries`. */
  create(values: Create, options?: OnceOptions & WriteOptions): Promise<T>;
  /**
   * Changes only the given fields; null clears a field. Operators start from the present value: `{ $increment: 1 }` for a
   * number, `{ $add: ["x"], $remove: ["y"] }` for a multiple field.
   */
  update(id: string, values: Update, options?: VersionOptions & WriteOptions): Promise<T>;
  /**
   * Changes the record that has the value of the unique field `by`, or creates a record: `upsert({ slug: "a", title: "A" }, { by: "slug" })`.
   * A single time also if the answer is lost: see `ClientOptions.retries`.
   */
  upsert(values: UpsertValues<Create, Update>, options: UpsertOptions<By>): Promise<T>;
  delete(id: string, options?: VersionOptions & WriteOptions): Promise<void>;
  /** The deleted records that can be restored, the last deleted first, of a collection with a `trash`: for callers who may read and delete the records. */
  trash(options?: HistoryOptions): Promise<TrashOf<T>>;
  /** Makes a deleted record again, with the id, the owner and the numbers, and the records that `cascade` deleted along. */
  restore(id: string, options?: CallOptions): Promise<T>;
  /** The changes of a record, newest first: `history(id, { limit: 20, cursor: page.nextCursor })`. For admins, and by the rule `history` of the collection. */
  history(id: string, options?: HistoryOptions): Promise<HistoryOf<T>>;
}

/** A page of the trash. `deleted`: the times of each record, by id. */
export interface TrashOf<T> {
  items: T[];
  deleted: { [id: string]: { at: string; until: string } };
  nextCursor: string | null;
}

export interface HistoryOptions extends CallOptions {
  /** Changes, or deleted records, of a page: 1,000 at most; 50 by default, or 1,000 of the trash. */
  limit?: number;
  /** The `nextCursor` of the page before; null for the first page. */
  cursor?: string | null;
}

/** The changes of a record with the types of the fields. */
export interface HistoryOf<T> extends Omit<RecordHistory, "items"> {
  items: (Omit<HistoryEntry, "changes"> & {
    changes: { [Name in Exclude<keyof T, keyof SystemFields>]?: FieldChange<T[Name]> };
  })[];
}

/** Options of an upsert. */
export interface UpsertOptions<By = string> extends OnceOptions, VersionOptions {
  /** The unique field that finds the record. */
  by: By;
}

/** Options of a change. */
export interface WriteOptions extends ChangeOptions {
  /**
   * Shows the change at once in the live queries of this client. The change is taken back when the service refuses the change, and
   * replaced by the service's result when that has come.
   */
  optimistic?: boolean;
}

export interface VersionOptions {
  /** The record as read, or the `ETag`. A record of another version is not changed: `SocleError` with the status 412. */
  ifMatch?: string | Pick<SystemFields, "id" | "updatedAt">;
}

/** The version that a change demands, in the form of `If-Match`. */
export function versionText(version: VersionOptions["ifMatch"]): string | undefined {
  return typeof version === "object" ? versionOf(version) : version;
}

/** The records of a collection at run time; `NamedClient` is the type for callers. */
export class Records extends QueryBuilder<Source> {
  /** The address of the list. */
  protected readonly path = `/api/${encodeURIComponent(this.collection)}`;

  /** @param part the end of the path of a read that is about the record. */
  get(
    id: string,
    { signal, ...search }: RecordSelection & CallOptions & { trash?: "only" } = {},
    part = "",
  ): Promise<unknown> {
    return this.source.transport.call("GET", this.#recordPath(id) + part + searchOf(search), { signal });
  }

  history(id: string, options?: HistoryOptions): Promise<unknown> {
    return this.get(id, options, "/history");
  }

  trash(page?: HistoryOptions): Promise<unknown> {
    // The address of a list may end with a slash.
    return this.get("", { ...page, trash: "only" });
  }

  restore(id: string, options?: CallOptions): Promise<unknown> {
    return this.source.transport.call("POST", `${this.#recordPath(id)}/restore`, options);
  }

  create(values: object, { optimistic, ...options }: OnceOptions & WriteOptions = {}): Promise<unknown> {
    return this.#shown(optimistic, { id: null, values }, () =>
      this.source.transport.writeOnce(this.path, values, options),
    );
  }

  update(id: string, values: object, options?: VersionOptions & WriteOptions): Promise<unknown> {
    return this.#write("PUT", { id, values }, options);
  }

  async upsert(values: object, { by, ...options }: UpsertOptions): Promise<unknown> {
    const sent = { method: "PUT", ...versioned(options) };
    return (await this.source.transport.writeOnce(`${this.path}${searchOf({ by })}`, values, sent)).value;
  }

  delete(id: string, options?: VersionOptions & WriteOptions): Promise<unknown> {
    return this.#write("DELETE", { id, values: null }, options);
  }

  #write(
    method: string,
    change: { readonly id: string; readonly values: object | null },
    { optimistic, ...options }: VersionOptions & WriteOptions = {},
  ): Promise<unknown> {
    return this.#shown(optimistic, change, () =>
      this.source.transport.write(method, this.#recordPath(change.id), {
        body: change.values ?? undefined,
        ...versioned(options),
      }),
    );
  }

  #recordPath(id: string): string {
    return `${this.path}/${encodeURIComponent(id)}`;
  }

  async #shown(
    isOptimistic: boolean | undefined,
    change: Omit<OptimisticWrite, "collection">,
    send: () => Promise<Answered<unknown>>,
  ): Promise<unknown> {
    return isOptimistic
      ? this.source.live().write({ ...change, collection: this.collection }, send)
      : (await send()).value;
  }
}

/** The options of a change, with the version as a header. */
function versioned<T extends VersionOptions & ChangeOptions>({ ifMatch, headers, ...options }: T) {
  return { ...options, headers: { "If-Match": versionText(ifMatch), ...headers } };
}
