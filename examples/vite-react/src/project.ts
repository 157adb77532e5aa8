// Written by socle from the collections and the code of the project. Do not edit.

/** Every collection: the types of the records, creates and updates, the field that shows the owner, and the relations. */
export type Collections = {
  tasks: {
    record: {
      id: string;
      createdAt: string;
      updatedAt: string;
      /** max 200 */
      title: string;
      /** default false */
      done: boolean | null;
    };
    create: {
      /** max 200 */
      title: string;
      /** default false */
      done?: boolean | null;
    };
    update: {
      /** max 200 */
      title?: string;
      /** default false */
      done?: boolean | null;
    };
    owner: never;
    numbers: never;
    unique: never;
    relations: {};
  };
};

/** A record: `RecordOf<"posts">`. */
export type RecordOf<Name extends keyof Collections> = Collections[Name]["record"];

/** The values of a new record, as `create` takes the values. The owner is the signed-in user. */
export type NewRecord<Name extends keyof Collections> = Omit<Collections[Name]["create"], Collections[Name]["owner"]> & Partial<Pick<Collections[Name]["create"], Collections[Name]["owner"] & keyof Collections[Name]["create"]>>;

/** The values of an update, as `update` takes the values: fields, or operators in their place. */
export type ChangesOf<Name extends keyof Collections> = Collections[Name]["update"];

/** The endpoints by method and path, without the prefix: params, query, body and answer. */
export type Endpoints = {};

/** The queues, with the payload of each. */
export type Queues = {};

/** The server queries, with the arguments and the value of each. */
export type Queries = {};

/** The rooms, with the fields of a member's state and the names of the events. */
export type Rooms = {
};

/** For `createClient<Project>`. */
export type Project = { collections: Collections; endpoints: Endpoints; queries: Queries; rooms: Rooms };

export {};
