/** Definitions for the collections of an export, with findings on all that differs. Every collection is for admins alone. */
import { type CollectionDefinition, DEFINITION_LIMITS, type FieldDefinition } from "@socle/protocol";
import { fieldNameFor } from "../names.ts";
import { type ReportFinding, sourceIdField } from "../source.ts";
import type { FirebaseWorld, MovedCollection, MovedField } from "./world.ts";

export const closed = { read: "admin", create: "admin", update: "admin", delete: "admin" } as const;

/** The field of users with what the account at Firebase has beside an address and a password. */
export function accountField({ fields }: MovedCollection): string {
  return fieldNameFor("account", "users", new Set(fields.map(({ to }) => to.toLowerCase())));
}

export function definitionOf(
  placed: MovedCollection,
  world: FirebaseWorld,
  report: ReportFinding,
): CollectionDefinition {
  const fields = placed.fields
    .filter(({ to }) => to !== "createdAt" && to !== "updatedAt")
    .map((field) => fieldOf(field, placed, report));
  for (const name of placed.left)
    report("left", `${placed.from}.${name}: bytes are no value of a field: store the bytes as files`);
  if (!placed.isUsers) return { name: placed.to, fields: [...fields, sourceIdField], permissions: closed };
  const account: FieldDefinition = {
    name: accountField(placed),
    type: "json",
    permissions: { read: "admin", update: "admin" },
  };
  const permissions = { read: "admin", update: "admin" };
  const isOwn = world.source.hasUsers ? [account] : [];
  return { name: placed.to, fields: [...fields, ...isOwn, sourceIdField], permissions };
}

function fieldOf(placed: MovedField, { from }: MovedCollection, report: ReportFinding): FieldDefinition {
  const { to, part, type, items, target, shape } = placed;
  const tell = (text: string): void => report("other", `${from}${part === "field" ? `.${placed.from}` : ""}: ${text}`);
  const field: FieldDefinition = { name: to, type };
  if (items > 0) {
    field.multiple = true;
    if (items > DEFINITION_LIMITS.itemsByDefault) field.max = DEFINITION_LIMITS.items;
  }
  if (target !== null) field.collection = target.to;
  if (part === "parent") field.required = true;
  if (part === "profile") Object.assign(field, { required: true, unique: true });
  if (part !== "field" && target?.isUsers) field.owner = true;
  if (part === "document") tell(`has more names of fields than a collection takes: each document is JSON in ${to}`);
  if (part === "profile") tell(`the ids are ids of users: ${to} leads to the user`);
  if (shape === null) return field;
  if (to !== placed.from) tell(`is named ${to}`);
  const kinds = [...shape.kinds];
  if (kinds.length === 0) tell("is empty in every document, and is JSON");
  else if (kinds.length > 1 && type === "json") tell(`has values of several types (${kinds.join(", ")}), and is JSON`);
  else if (kinds[0] === "array" && type === "json")
    tell("is an array in JSON: a multiple field has distinct texts or references, neither empty nor null");
  else if (items > 0) tell("is a multiple field: null is an empty array");
  if (kinds.includes("text") && target !== null) tell("has ids of users alone, and is a relation");
  else if (shape.ofUsers === "some")
    tell("has ids of users beside other texts, and is no relation: the ids are the new ids");
  if (kinds.length === 1 && kinds[0] === "reference" && target === null)
    tell(
      `leads to ${[...shape.targets].join(", ")}, and is no relation: a text with the id of the record, or the path of a document that is not there`,
    );
  return field;
}

/** The blocks of `firestore.rules` for a collection, as comments for the file of the definition. */
export function commentsOf(rules: string | null, names: string): string[] {
  const last = names.split("/").at(-1);
  const lines = (rules ?? "").split("\n");
  const blocks = lines.flatMap((line, at) => {
    const [, path = ""] = /\bmatch\s+(\S+)\s*\{/.exec(line) ?? [];
    const segments = path.split("/");
    const isOf = segments.at(-2) === last || path.includes("=**}");
    return isOf ? blockAt(lines, at) : [];
  });
  return [
    ...(blocks.length > 0 ? ["The rules of Firestore, which are not translated:", ...blocks] : []),
    'Closed to all but admins. Write "permissions" in place: "public" for "if true", "authenticated" for "request.auth != null",',
    '"owner" or FIELD = @user.id for "request.auth.uid == resource.data.FIELD".',
  ];
}

/** The lines until the braces of the first line are closed. */
function blockAt(lines: readonly string[], at: number): string[] {
  let level = 0;
  const end = lines.findIndex((line, index) => {
    if (index < at) return false;
    for (const [brace] of line.replace(/\{[\w=*]+\}|\/\/.*/g, "").matchAll(/[{}]/g)) level += brace === "{" ? 1 : -1;
    return level <= 0;
  });
  return lines.slice(at, end === -1 ? undefined : end + 1).map((line) => `  ${line.trimEnd()}`);
}
