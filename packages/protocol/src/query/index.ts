/** Queries as values, which the client and code in the service share: steps, conditions, values in filters, and their types. */
export { Query, QueryBuilder, type QuerySource } from "./builder.ts";
export { filter } from "./filter.ts";
export { type Item, type QueryParts, type Selected, shaperOf } from "./parts.ts";
export type {
  AggregatePart,
  AnyCollections,
  CollectionTypes,
  ExpandedItem,
  ExpandPath,
  FilterValue,
  GroupItem,
  GroupPart,
  Order,
  RecordIn,
  SelectedItem,
  Selection,
  Steps,
  Where,
} from "./types.ts";
export { type Condition, filterOf, isComparison, isCondition } from "./where.ts";
