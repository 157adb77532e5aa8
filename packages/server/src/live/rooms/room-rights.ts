/** Rights in a room: the rules of a definition as policies over the record of the key, or over the key. */
import { type CollectionDefinition, isRuleWord, type RoomDefinition, type Rule, USERS } from "@socle/protocol";
import { AppError, type Bearer, quote, SetupError } from "../../base/kernel/index.ts";
import { type Collections, expressionSchema, ruleSource, type UserTable } from "../../data/collections/index.ts";
import {
  collectionsIn,
  type Expression,
  type ExpressionSchema,
  operandsIn,
  parseExpression,
  toPredicate,
} from "../../data/expressions/index.ts";
import { callerOf, Policy } from "../../data/permissions/index.ts";
import type { Records } from "../../data/records/index.ts";
import type { RoomFile } from "./room-files.ts";

export type RoomRight = "join" | "send";

/** The rules of a room by the definitions of collections. */
export interface RoomPolicies {
  readonly policies: { readonly [right in RoomRight]: Policy };
  /** The collections beside the collection of the key whose changes may change a right. */
  readonly collections: ReadonlySet<string>;
  /** Whether a right may begin or end with the time. */
  readonly isTimed: boolean;
}

/** The definitions of collections that rules name. */
export interface RoomSurroundings {
  readonly users: UserTable;
  readonly definition: (name: string) => CollectionDefinition | undefined;
}

/** The schema of rules of a room whose key is a string: no record, so no fields. */
const ofString: ExpressionSchema = {
  name: "rooms with a string as key",
  table: "",
  condition: null,
  hasKey: true,
  field: () => undefined,
  fieldNames: () => [],
  follow: () => {
    throw new Error("A string has no relations");
  },
  back: () => "no record points to a string",
};

/** @throws SetupError with the file, the rule, and the position in the rule. */
export function policiesOf({ path, definition }: RoomFile, around: RoomSurroundings): RoomPolicies {
  const { name, key, send, join } = definition;
  const keyed = key === "string" ? null : (around.definition(key.collection) ?? null);
  if (key !== "string" && keyed === null)
    throw new SetupError(`${path}: "key": there is no collection ${quote(key.collection)}`);
  const schema = keyed === null ? ofString : expressionSchema(keyed, ruleSource(around.users, around.definition));
  const expressions: Expression[] = [];
  const policyOf = (right: RoomRight, rule: Rule): Policy => {
    const expression = isRuleWord(rule) ? null : parsed({ path, right, rule, schema });
    if (rule === "owner" && keyed === null)
      throw new SetupError(`${path}: "${right}": owner needs a key that is a record`);
    if (expression !== null) expressions.push(expression);
    return new Policy({
      collection: name,
      operation: "read",
      rules: [rule],
      expression: () => expression as Expression,
    });
  };
  const policies = { join: policyOf("join", join), send: policyOf("send", send) };
  // A member may read the record of the key: the right of a member ends with the right to read.
  const read = keyed?.permissions?.read;
  if (read !== undefined && !isRuleWord(read)) expressions.push(parseExpression(read, schema));
  const macros = expressions.flatMap(operandsIn).flatMap((each) => (each.type === "macro" ? [each.name] : []));
  const collections = new Set(expressions.flatMap((each) => [...collectionsIn(each)]));
  // The values of the caller but the id are in the table of users.
  if (macros.some((macro) => macro.startsWith("user.") && macro !== "user.id")) collections.add(USERS);
  return { policies, collections, isTimed: macros.some((macro) => macro === "now" || macro === "today") };
}

interface RuleText {
  readonly path: string;
  readonly right: RoomRight;
  readonly rule: Rule;
  readonly schema: ExpressionSchema;
}

function parsed({ path, right, rule, schema }: RuleText): Expression {
  try {
    return parseExpression(rule, schema);
  } catch (thrown) {
    if (thrown instanceof AppError) throw new SetupError(`${path}: "${right}", ${thrown.message}`);
    throw thrown;
  }
}

/** A right of a caller in a room of a key. */
export interface RightQuestion {
  readonly definition: RoomDefinition;
  readonly right: RoomRight;
  readonly key: string;
  readonly listener: Bearer | null;
}

export interface RightsOptions {
  readonly collections: Collections;
  readonly records: Records;
  readonly emailOf: (userId: string) => string | null;
}

/**
 * Whether a caller has a right. The record of the key must exist, also for admins, and the caller must be able to read the record. API keys
 * have no rights in rooms.
 */
export function hasRight(
  { policies }: RoomPolicies,
  { definition, right, key, listener }: RightQuestion,
  { collections, records, emailOf }: RightsOptions,
): boolean {
  if (listener !== null && "scopes" in listener) return false;
  const policy = policies[right];
  if (definition.key !== "string") {
    const collection = collections.get(definition.key.collection);
    if (collection === undefined) return false;
    const { read } = collection.policies;
    return [read, policy].every((each) => records.isAllowed(each, { collection, principal: listener, id: key }));
  }
  const decision = policy.decide(listener);
  if (decision.access !== "where") return decision.access === "all";
  const caller = callerOf(listener);
  const user = caller && {
    ...caller,
    get email() {
      return caller.id === null ? null : emailOf(caller.id);
    },
    get anonymous() {
      return caller.id === null ? null : emailOf(caller.id) === null;
    },
  };
  return toPredicate(decision.condition)({}, { now: Date.now(), user, key, related: () => null });
}
