/**
 * Types of queries: conditions, orders and selections by the types of a project's collections, and the resulting items. The
 * declarations of a project (`.socle/types.d.ts`) contain the text of this file without the imports.
 */
import type { JsonValue, StoredRecord, SystemFields } from "../collections.ts";

/** A value in a filter. */
export type FilterValue = string | number | boolean | null | Date | readonly FilterValue[];

/** The types of a collection, as `socle client`, `socle dev` and `socle types` write the types. */
export interface CollectionTypes {
  /** A record of a view has the times that the query names. */
  record: Pick<SystemFields, "id">;
  /** Never for a view, which nobody writes; so is `update`. */
  create: object;
  update: object;
  /** The field that shows the owner, which the service fills; never for a collection without an owner field. */
  owner: PropertyKey;
  /** The unique fields, by which an upsert finds a record. */
  unique?: PropertyKey;
  /** The collections that relations point to, by field. */
  relations?: object;
}

/** The collections of a client without types. */
export interface AnyCollections {
  [name: string]: {
    record: StoredRecord;
    create: { [field: string]: unknown };
    update: { [field: string]: unknown };
    owner: never;
  };
}

/** A user, in a project that defines no fields of users. */
interface PlainUser extends SystemFields {
  /** Null for an anonymous user. */
  email: string | null;
  role: string;
  verified: boolean;
}

export type RecordIn<C, Name> = Name extends keyof C
  ? C[Name] extends { record: infer Found }
    ? Found
    : StoredRecord
  : Name extends "users"
    ? PlainUser
    : StoredRecord;

type RelationsIn<C, Name> = Name extends keyof C
  ? C[Name] extends { relations: infer Found }
    ? Found
    : unknown
  : unknown;

/** `comments(post)`, by name with the collection: the records that point to a record of a collection. */
type BackwardIn<C, Name> = {
  [From in keyof C & string]: {
    [Field in keyof RelationsIn<C, From> & string as RelationsIn<C, From>[Field] extends Name
      ? `${From}(${Field})`
      : never]: From;
  };
}[keyof C & string];

/** The collection at a relation, or at `collection(field)`. */
type TargetIn<C, Name, Path> = Path extends keyof RelationsIn<C, Name>
  ? RelationsIn<C, Name>[Path]
  : Path extends `${infer From}(${string})`
    ? From
    : never;

type RelationNames<C, Name> = keyof RelationsIn<C, Name> & string;
type BackwardNames<C, Name> = Keys<BackwardIn<C, Name>> & string;
/** The keys of any member of a union. */
type Keys<T> = T extends unknown ? keyof T : never;
type IsMultiple<Value> = [NonNullable<Value>] extends [readonly unknown[]] ? true : false;
type IsPlace<Value> = [NonNullable<Value>] extends [{ lat: number; lon: number }] ? true : false;
type IsVector<Value> = [NonNullable<Value>] extends [readonly number[]] ? true : false;
type IsJson<Value> = [JsonValue] extends [Value] ? true : false;

/** A value in a condition. A time may be a `Date`. */
type Given<Value> = Value | ([NonNullable<Value>] extends [string] ? Date : never);

/** The comparisons with a value; all of them must hold. */
interface Comparisons<Value> {
  eq?: Given<Value>;
  ne?: Given<Value>;
  gt?: NonNullable<Given<Value>>;
  gte?: NonNullable<Given<Value>>;
  lt?: NonNullable<Given<Value>>;
  lte?: NonNullable<Given<Value>>;
  /** Equal to one of the values; no record has this condition with an empty array. */
  in?: readonly Given<Value>[];
  /** Contains the text, without regard to case. */
  contains?: string;
  lacks?: string;
}

type JsonCondition =
  | (string | number | boolean | null)
  | readonly (string | number)[]
  | Comparisons<string | number | boolean | null>
  | { [member: string]: JsonCondition };

/** The condition on a field that is no relation. */
type ValueCondition<Value> =
  IsJson<Value> extends true
    ? JsonCondition
    : true extends IsPlace<Value> | IsVector<Value>
      ? // A filter has the distance of a place: filter`distance(place, ${lat}, ${lon}) < 5km`.
        null | { eq?: null; ne?: null }
      : [NonNullable<Value>] extends [readonly (infer Item)[]]
        ? Item | null | readonly Item[] | Comparisons<Item | null>
        : Given<Value> | readonly Given<Value>[] | Comparisons<Value>;

/** The condition on records at the end of a relation to many: in the order of the names, for some, for each, for no record. */
interface Quantifiers<Condition> {
  some?: Condition;
  every?: Condition;
  none?: Condition;
}

type RelationCondition<C, Target, Value> =
  | (string | null)
  | readonly string[]
  | Comparisons<string | null>
  | (IsMultiple<Value> extends true ? Quantifiers<Where<C, Target>> : Where<C, Target>);

/** A condition on the records of a collection: every named field must have the value, or fulfil the comparisons. */
export type Where<C, Name> = string extends keyof C ? { [name: string]: unknown } : KnownWhere<C, Name>;

type KnownWhere<C, Name> = {
  [Field in keyof RecordIn<C, Name>]?: Field extends RelationNames<C, Name>
    ? RelationCondition<C, TargetIn<C, Name, Field>, RecordIn<C, Name>[Field]>
    : ValueCondition<RecordIn<C, Name>[Field]>;
} & { [Path in BackwardNames<C, Name>]?: Quantifiers<Where<C, TargetIn<C, Name, Path>>> } & {
  $and?: readonly Where<C, Name>[];
  $or?: readonly Where<C, Name>[];
  $not?: Where<C, Name>;
};

/** The fields with a single value that has an order. */
type OrderedFields<C, Name> = {
  [Field in keyof RecordIn<C, Name> & string]: true extends
    | IsMultiple<RecordIn<C, Name>[Field]>
    | IsPlace<RecordIn<C, Name>[Field]>
    ? never
    : Field;
}[keyof RecordIn<C, Name> & string];

type PlaceFields<C, Name> = {
  [Field in keyof RecordIn<C, Name> & string]: IsPlace<RecordIn<C, Name>[Field]> extends true ? Field : never;
}[keyof RecordIn<C, Name> & string];

/** Relations to one record, whose fields a list can be sorted and grouped by. */
type PathsToOne<C, Name> = {
  [Field in RelationNames<C, Name>]: Field extends keyof RecordIn<C, Name>
    ? IsMultiple<RecordIn<C, Name>[Field]> extends true
      ? never
      : `${Field}.${OrderedFields<C, TargetIn<C, Name, Field>>}`
    : never;
}[RelationNames<C, Name>];

type SortPath<C, Name> = OrderedFields<C, Name> | PathsToOne<C, Name>;
/** `distance(place, lat, lon)`, in metres. */
type DistanceOrder<C, Name> =
  | `distance(${PlaceFields<C, Name>},${string})`
  | {
      [Field in RelationNames<C, Name>]: `distance(${Field}.${PlaceFields<C, TargetIn<C, Name, Field>>},${string})`;
    }[RelationNames<C, Name>];

type VectorFields<C, Name> = {
  [Field in keyof RecordIn<C, Name> & string]: IsVector<RecordIn<C, Name>[Field]> extends true ? Field : never;
}[keyof RecordIn<C, Name> & string];

/** `nearest(embedding, [0.1, 0.2])`: the nearest vectors first. */
type NearestOrder<C, Name> =
  | `nearest(${VectorFields<C, Name>},${string})`
  | {
      [Field in RelationNames<C, Name>]: `nearest(${Field}.${VectorFields<C, TargetIn<C, Name, Field>>},${string})`;
    }[RelationNames<C, Name>];

type SortKey<C, Name> = SortPath<C, Name> | DistanceOrder<C, Name> | NearestOrder<C, Name>;
/** A name, a path, a distance or the nearest vectors; `-` before the key sorts in descending order. */
export type Order<C, Name> = SortKey<C, Name> | `-${SortKey<C, Name>}`;

type RelatedNames<C, Name> = RelationNames<C, Name> | BackwardNames<C, Name>;

/** Names of fields, and for relations the selected fields of the records there: `{ project: ["name"] }`. */
export type Selection<C, Name> = string extends keyof C
  ? string | { readonly [path: string]: readonly Selection<C, Name>[] }
  : KnownSelection<C, Name>;

type KnownSelection<C, Name> =
  | (keyof RecordIn<C, Name> & string)
  | { readonly [Path in RelatedNames<C, Name>]?: readonly Selection<C, TargetIn<C, Name, Path>>[] };

/** The record, the records, or null: as many as the relation leads to. */
type AtRelation<C, Name, Path, Found> = Path extends keyof RecordIn<C, Name>
  ? IsMultiple<RecordIn<C, Name>[Path]> extends true
    ? Found[]
    : Found | null
  : Found[];

type Flat<T> = { [Key in keyof T]: T[Key] };
/** The selected relations, as one object. */
type RelationsOf<S> = S extends readonly (infer Part)[]
  ? { [Path in Keys<Exclude<Part, string>>]: Extract<Part, { readonly [Key in Path]: unknown }>[Path] }
  : never;

/** The shape of an item with selected fields. */
export type SelectedItem<C, Name, S extends readonly unknown[]> = string extends keyof C
  ? StoredRecord
  : SelectedRecord<C, Name, S>;

type SelectedRecord<C, Name, S extends readonly unknown[]> = Flat<
  Pick<RecordIn<C, Name>, Extract<S[number], keyof RecordIn<C, Name>>> & {
    [Path in keyof RelationsOf<S>]: RelationsOf<S>[Path] extends readonly unknown[]
      ? AtRelation<C, Name, Path, SelectedItem<C, TargetIn<C, Name, Path>, RelationsOf<S>[Path]>>
      : never;
  }
>;

/** `project`, `project.client`, `comments(post)`: up to two levels. */
export type ExpandPath<C, Name> = string extends keyof C ? string : KnownPath<C, Name>;

type KnownPath<C, Name> = {
  [Path in RelatedNames<C, Name>]: Path | `${Path}.${RelatedNames<C, TargetIn<C, Name, Path>>}`;
}[RelatedNames<C, Name>];

type HeadOf<Path> = Path extends `${infer Head}.${string}` ? Head : Path;
type RestOf<Path, Head extends string> = Path extends `${Head}.${infer Rest}` ? Rest : never;

/** An item with records in the place of ids. */
export type ExpandedItem<C, Name, Paths, Item = RecordIn<C, Name>> = [Paths] extends [never]
  ? Item
  : string extends keyof C
    ? StoredRecord
    : Flat<
        Omit<Item, HeadOf<Paths> & PropertyKey> & {
          [Head in HeadOf<Paths> & string]: AtRelation<
            C,
            Name,
            Head,
            ExpandedItem<C, TargetIn<C, Name, Head>, RestOf<Paths, Head>>
          >;
        }
      >;

type Unit = "year" | "month" | "week" | "day" | "hour";
/** A part of `group`: a name, a path, or a time with a unit. */
export type GroupPart<C, Name> = SortPath<C, Name> | `${OrderedFields<C, Name>}:${Unit}`;
export type AggregatePart<C, Name> = "count" | `${"sum" | "avg" | "min" | "max"}(${SortPath<C, Name>})`;

type ValueAt<C, Name, Path> = Path extends keyof RecordIn<C, Name>
  ? RecordIn<C, Name>[Path]
  : Path extends `${infer Head}.${infer Rest}`
    ? ValueAt<C, TargetIn<C, Name, Head>, Rest> | null
    : string | null;

/** A group: under each part of `group` and `aggregate` the value. */
export type GroupItem<C, Name, Groups, Aggregates> = Flat<
  { [Part in Groups & string]: ValueAt<C, Name, Part> } & {
    [Part in Aggregates & string]: Part extends "count" | `sum(${string}`
      ? number
      : Part extends `avg(${string}`
        ? number | null
        : Part extends `${string}(${infer Path})`
          ? ValueAt<C, Name, Path> | null
          : never;
  }
>;

/** The steps that a query, a collection and a query of groups share. `Self` is the query that a step gives. */
export interface Steps<C, Name, Self> {
  /** Adds a condition; all conditions of a query must hold. */
  where(condition: Where<C, Name>): Self;
  /** Adds a condition in the filter language: `` filter`due < @now && title ~ ${text}` ``. */
  filter(text: string | TemplateStringsArray, ...values: readonly FilterValue[]): Self;
  /** Records with the words in the searched fields, the best matches first. `snippet` names fields of which the text around matches is answered. */
  search(words: string, options?: { snippet?: readonly string[] }): Self;
  /** The number of items of a page: 1 to 1,000; 1,000 by default. */
  limit(items: number): Self;
  /** The time zone of `@today` in the filter and of the units of groups, such as `Europe/Berlin`; by default UTC. */
  zone(zone: string): Self;
}
