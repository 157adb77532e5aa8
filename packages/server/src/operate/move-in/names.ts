/** Names of collections and fields that Socle takes, for names of another service; values of a field, and fields of an index. */
import {
  DEFINITION_LIMITS,
  type FieldDefinition,
  isReservedCollectionName,
  isSystemFieldName,
  USERS,
} from "@socle/protocol";

const words = ["null", "true", "false"];
/** The fields of accounts, and the fields that a move adds. */
const ofUsers = ["email", "role", "verified", "password"];
const ofMove = ["sourceid", "sourcecollection"];

/** The name itself, or the nearest name that is allowed and not taken, with `_` behind. `taken` gets the name in lower case. */
function allowed(name: string, isRefused: (lower: string) => boolean, taken: Set<string>): string {
  const plain = name.replace(/\W/g, "_").replace(/^_+/, "").slice(0, 60);
  let found = /^[A-Za-z]/.test(plain) ? plain : `n${plain}`;
  if (found !== name || isRefused(found.toLowerCase())) found += "_";
  while (taken.has(found.toLowerCase())) found += "_";
  taken.add(found.toLowerCase());
  return found;
}

export function collectionNameFor(name: string, taken: Set<string>): string {
  return allowed(name, (lower) => lower === USERS || isReservedCollectionName(lower), taken);
}

export function fieldNameFor(name: string, collection: string, taken: Set<string>): string {
  const refused = [...words, ...ofMove, ...(collection === USERS ? ofUsers : [])];
  return allowed(name, (lower) => isSystemFieldName(lower) || refused.includes(lower), taken);
}

/** Whether Socle takes the values of a field: some lines without space at an end. */
export function areValues(values: readonly string[] = []): values is readonly string[] {
  const { values: most, valueLength } = DEFINITION_LIMITS;
  const isLine = (text: string): boolean =>
    text !== "" && text.length <= valueLength && text.trim() === text && !/\p{Cc}/u.test(text);
  return values.length > 0 && values.length <= most && values.every(isLine);
}

/** Whether Socle takes an index over some fields of a collection. */
export function isIndexable(names: readonly string[], fields: ReadonlyMap<string, FieldDefinition>): boolean {
  const isTakable = (name: string): boolean => {
    const field = fields.get(name);
    if (field === undefined) return name === "createdAt" || name === "updatedAt";
    return field.type !== "json" && field.multiple !== true;
  };
  return names.length <= DEFINITION_LIMITS.indexFields && names.every(isTakable);
}

const times: Readonly<Record<string, readonly string[]>> = {
  createdAt: ["created_at", "createdat", "inserted_at"],
  updatedAt: ["updated_at", "updatedat", "modified_at"],
};

/** The time of a record that a field of another service has by the name. */
export function timeNamed(name: string): string | undefined {
  return Object.entries(times).find(([, names]) => names.includes(name.toLowerCase()))?.[0];
}
