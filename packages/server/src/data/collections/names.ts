/** Names of collections and fields: which ones are allowed. */
import { isReservedCollectionName, NAME_PATTERN } from "@socle/protocol";
import { quote } from "../../base/kernel/index.ts";

const reservedFields = ["id", "createdat", "updatedat"];

const form = "a name starts with a letter, goes on with letters, digits or _, and has at most 63 characters";

/** The problem of a name of a collection or a field, or null. */
export function nameProblem(kind: "collection" | "field", name: unknown): string | null {
  if (typeof name !== "string") return `a ${kind} needs a "name", a string`;
  if (!NAME_PATTERN.test(name)) return `${quote(name)} is not a ${kind} name: ${form}`;
  const isReserved =
    kind === "collection" ? isReservedCollectionName(name) : reservedFields.includes(name.toLowerCase());
  if (isReserved) return `${quote(name)} is a reserved ${kind} name`;
  return null;
}
