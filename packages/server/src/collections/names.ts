import { quote } from "../kernel/index.ts";

/** Names of collections and fields (contract, "Collections and fields"). */
const pattern = /^[A-Za-z][A-Za-z0-9_]{0,62}$/;

const reservedCollections = [
  "users",
  "auth",
  "admin",
  "storage",
  "realtime",
  "system",
  "function",
  "job",
  "openapi",
  "batch",
];
const reservedFields = ["id", "createdat", "updatedat"];

const form = "a name starts with a letter, goes on with letters, digits or _, and has at most 63 characters";

/** What is wrong with the name of a collection or a field, or null. */
export function nameProblem(kind: "collection" | "field", name: unknown): string | null {
  if (typeof name !== "string") return `a ${kind} needs a "name", a string`;
  if (!pattern.test(name)) return `${quote(name)} is not a ${kind} name: ${form}`;
  const reserved = kind === "collection" ? reservedCollections : reservedFields;
  if (reserved.includes(name.toLowerCase())) return `${quote(name)} is a reserved ${kind} name`;
  return null;
}
