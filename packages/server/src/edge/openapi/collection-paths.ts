/** Paths of collections: the routes of records, for each collection that the reader of the document may know. */
import {
  type CollectionDefinition,
  effectiveRules,
  isRuleWord,
  isView,
  OPERATIONS,
  type Operation,
  type Rule,
  USERS,
} from "@socle/protocol";
import { needsUser, parseSyntax } from "@socle/protocol/filter";
import { isAdmin, type Principal } from "../../base/kernel/index.ts";
import type { Collection } from "../../data/collections/index.ts";
import type { Policy } from "../../data/permissions/index.ts";
import { type DescribedCollection, uniqueFieldsOf } from "./collection-schemas.ts";
import type { DescribedRoute, RouteDescription } from "./description.ts";
import { operationOf, type Paths, templateOf } from "./operations.ts";

/** In the path and the schemas of a description, the name of a collection. */
export const collectionMark = ":collection";

const verbs: { readonly [operation in Operation | "history"]: string } = {
  history: "read",
  read: "read",
  create: "create",
  update: "update",
  delete: "remove",
};

/** A collection as a caller may know the collection; null if the caller may do nothing there. */
export function describedFor(
  { definition, history, policies, fieldPolicies }: Collection,
  principal: Principal,
): Omit<DescribedCollection, "knows"> | null {
  const isAllowed = (policy: Policy): boolean => policy.decide(principal).access !== "none";
  const operations: (Operation | "history")[] = OPERATIONS.filter((each) => isAllowed(policies[each]));
  if (operations.length === 0) return null;
  if (isAllowed(history) && isAllowed(policies.read)) operations.push("history");
  return {
    definition,
    operations: new Set(operations),
    unread: fieldPolicies?.limits("read", principal)?.closed ?? new Set(),
    unwritten: fieldPolicies?.limits("update", principal)?.closed ?? new Set(),
    isForAdmins: isAdmin(principal),
  };
}

/** The operations that some rule allows. */
function operationsOn(definition: CollectionDefinition): readonly Operation[] {
  if (isView(definition)) return ["read"];
  return definition.name === USERS ? ["read", "update"] : OPERATIONS;
}

/** A collection as admins know the collection. */
export function describedForAdmins(definition: CollectionDefinition): Omit<DescribedCollection, "knows"> {
  const all = new Set<Operation | "history">([...operationsOn(definition), "history"]);
  if (isView(definition)) all.delete("history");
  return { definition, operations: all, unread: new Set(), unwritten: new Set(), isForAdmins: true };
}

/** The description without the parameters of a search and of a trash that the collection does not have; `by` has the unique fields. */
function fitting(description: RouteDescription, collection: DescribedCollection): RouteDescription {
  const { definition, unread } = collection;
  if (description.query === undefined) return description;
  const { by, ...query } = description.query;
  if (by !== undefined) {
    const schema = { ...by.schema, enum: uniqueFieldsOf(collection) };
    return { ...description, query: { by: { ...by, schema } } };
  }
  const canSearch = definition.search?.some((field) => !unread.has(field)) === true;
  const absent = [...(canSearch ? [] : ["search", "snippet"]), ...(definition.trash === undefined ? ["trash"] : [])];
  const present = Object.entries(query).filter(([name]) => !absent.includes(name));
  return { ...description, query: Object.fromEntries(present) };
}

const restorePath = "/restore";

function isShown({ path, access, operation, query }: DescribedRoute, collection: DescribedCollection): boolean {
  if (query?.["by"] !== undefined && uniqueFieldsOf(collection).length === 0) return false;
  if (path.endsWith(restorePath) && collection.definition.trash === undefined) return false;
  if (path.endsWith("/export") && isView(collection.definition)) return false;
  return (
    operation !== undefined && collection.operations.has(operation) && (access !== "admin" || collection.isForAdmins)
  );
}

/** The verb and the path that the id of an operation is made of: `listPosts`, `readPostsById`, `upsertPosts`, `importPosts`. */
function idOf(
  name: string,
  { path, method, operation = "read", query }: DescribedRoute,
): { verb: string; named: string } {
  const [, transfer] = /\/(import|export|query)$/.exec(path) ?? [];
  if (transfer !== undefined) return { verb: transfer, named: name };
  if (path.endsWith(restorePath))
    return { verb: "restore", named: path.replace(collectionMark, name).slice(0, -restorePath.length) };
  const isList = operation === "read" && !path.includes(":id");
  if (operation === "history" && method === "DELETE")
    return { verb: "erase", named: path.replace(collectionMark, name) };
  const verb = query?.["by"] === undefined ? verbs[operation] : "upsert";
  return { verb: isList ? "list" : verb, named: path.replace(collectionMark, name) };
}

/** Whether a rule may hold for a caller without a sign-in. */
function admitsAnonymous(rule: Rule): boolean {
  return isRuleWord(rule) ? rule === "public" : !needsUser(parseSyntax(rule));
}

/** The paths of a collection. */
export function collectionPaths(routes: readonly DescribedRoute[], collection: DescribedCollection): Paths {
  const { name, permissions, history } = collection.definition;
  const effective = effectiveRules(permissions);
  const rules = { ...effective, history: [...effective.read, history?.read ?? "admin"] };
  const paths: Paths = {};
  for (const each of routes) {
    if (!isShown(each, collection)) continue;
    const { path, method, tag, access, operation = "read" } = each;
    const own = path.replace(collectionMark, name);
    const isOpen = access === "rules" && rules[operation].every(admitsAnonymous);
    const site = { path: own, method, tag: `${tag}: ${name}`, ...idOf(name, each) };
    const at = templateOf(own);
    paths[at] = { ...paths[at], [method.toLowerCase()]: operationOf(fitting(each, collection), site, isOpen) };
  }
  // Also in the references to schemas, and in summaries.
  return JSON.parse(JSON.stringify(paths).replaceAll(collectionMark, name)) as Paths;
}
