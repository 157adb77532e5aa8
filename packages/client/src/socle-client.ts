/** The client with everything in one class, as the dashboard and tests use the client. */

import type {
  Credentials,
  Event,
  GroupPage,
  GroupQuery,
  Health,
  RecordList,
  RecordPage,
  RecordQuery,
  SetupInvitation,
  SetupStatus,
  StoredRecord,
  SystemFields,
  User,
} from "@socle/protocol";
import type { CollectionTypes } from "@socle/protocol/query";
import { AdminClient } from "./admin.ts";
import { AuthClient } from "./auth.ts";
import { liveWithChannels } from "./channels.ts";
import { ClientBase } from "./client.ts";
import type { SubscribeOptions } from "./realtime.ts";
import { type NamedClient, Records, type RecordsClient } from "./records.ts";
import { searchOf } from "./search.ts";
import { StorageClient } from "./storage.ts";
import type { CallOptions, ClientOptions } from "./transport.ts";

/** A change of a record, as a listener gets the change. */
export type RecordChange<T> =
  | { readonly type: "created" | "updated"; readonly id: string; readonly record: T; readonly event: Event }
  | { readonly type: "deleted"; readonly id: string; readonly record: null; readonly event: Event };

function changeOf(event: Event): RecordChange<object> {
  const type = event.type.replace(/.*\./, "");
  const id = String(event.payload["id"]);
  if (type === "deleted") return { type, id, record: null, event };
  return { type: type === "created" ? type : "updated", id, record: event.payload, event };
}

/** A collection that is read by the parameters of lists, and whose changes can be heard. */
interface Listed<T> {
  /** All records, newest first. */
  list(options?: CallOptions): Promise<T[]>;
  /** A page of the records that match. With `fields` or `expand`, `R` is the resulting shape of a record. */
  page<R = T>(query?: RecordQuery, options?: CallOptions): Promise<RecordPage<R>>;
  /** A page of groups, with counts and sums over each group. */
  groups<R = GroupPage["items"][number]>(query: GroupQuery, options?: CallOptions): Promise<GroupPage<R>>;
  /**
   * Hears the changes of the collection's records; with `filter`, of the records that match. See `SocleClient.subscribe`.
   * @throws Error if the runtime has no WebSocket and no implementation was passed.
   */
  subscribe(listener: (change: RecordChange<T>) => void, options?: SubscribeOptions): () => void;
}

export type CollectionClient<T extends SystemFields> = RecordsClient<T> & Listed<T>;

class ListedRecords extends Records {
  async list(options?: CallOptions): Promise<unknown[]> {
    return (await this.#read<RecordList<unknown>>({}, options)).items;
  }

  page({ limit = 1_000, ...query }: RecordQuery = {}, options?: CallOptions): Promise<unknown> {
    return this.#read({ limit, ...query }, options);
  }

  groups(query: GroupQuery, options?: CallOptions): Promise<unknown> {
    return this.#read(query, options);
  }

  #read<T>(query: object, { signal }: CallOptions = {}): Promise<T> {
    return this.source.transport.call("GET", `${this.path}${searchOf(query)}`, { signal });
  }

  subscribe(listener: (change: RecordChange<object>) => void, options: SubscribeOptions = {}): () => void {
    const hear = (event: Event): void => listener(changeOf(event));
    return this.source.live().subscribe(`${this.collection}.*`, hear, options);
  }
}

/**
 * Talks to a Socle service as a user, or anonymously until `register` or `login`.
 *
 * `new SocleClient<Collections, Queries>(…)` knows the collections and the server queries of a project, with the types of the project's
 * `.socle/types.d.ts`.
 */
export class SocleClient<
  Collections extends { [name in keyof Collections]: CollectionTypes } = object,
  Queries extends object = object,
> extends ClientBase<{
  collections: Collections;
  endpoints: object;
  queries: Queries;
}> {
  /** The files of the service. */
  readonly storage: StorageClient;
  /** The account of the signed-in user. */
  readonly auth: AuthClient;
  /** The admin API, for users with the role admin. */
  readonly admin: AdminClient;

  constructor(options: ClientOptions) {
    super({ ...options, live: liveWithChannels });
    const { transport } = this.$source;
    this.storage = new StorageClient(transport);
    this.auth = new AuthClient(transport);
    this.admin = new AdminClient(transport);
  }

  health(): Promise<Health> {
    return this.$source.transport.call("GET", "/health");
  }

  /** A collection that the types of the project know. */
  collection<Name extends keyof Collections & string>(
    name: Name,
  ): NamedClient<Collections, Name> & Listed<Collections[Name]["record"]>;
  /** A collection with records of a type that the caller says: `collection<Post>("posts")`. */
  collection<T extends SystemFields = StoredRecord>(
    name: [keyof Collections] extends [never] ? string : keyof Collections & string,
  ): CollectionClient<T>;
  collection(name: string): object {
    return new ListedRecords(this.$source, name);
  }

  /** Whether the service waits for the first admin. */
  setupStatus(): Promise<SetupStatus> {
    return this.$source.transport.call("GET", "/api/auth/setup");
  }

  /** The expiry of the token of the set-up link. Rejects with 404 after the set-up, with 401 for another token. */
  invitation(token: string): Promise<SetupInvitation> {
    return this.$source.transport.call("GET", `/api/auth/setup${searchOf({ token })}`);
  }

  /** Makes the first admin with the token of the set-up link, and signs in as this admin. */
  setUp(token: string, credentials: Credentials): Promise<User> {
    return this.$source.transport.signIn("setup", { ...credentials, token });
  }
}
