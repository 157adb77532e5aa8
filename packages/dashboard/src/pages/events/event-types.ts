/** The types of events that a filter may name. */

/** The subjects of types other than the types of records, with the ends of their types. */
const subjects: { readonly [subject: string]: readonly string[] } = {
  auth: ["login", "register", "logout", "failed", "locked"],
  storage: ["uploaded", "deleted"],
  function: ["started", "completed", "failed"],
  job: ["started", "completed", "failed"],
  admin: [],
  "admin.user": ["created", "updated", "password", "deleted"],
  "admin.session": ["deleted"],
  "admin.collection": ["created", "updated", "deleted"],
  "admin.file": ["updated"],
  "admin.job": ["run", "deleted"],
  "admin.sql": ["run"],
  "admin.function": ["retried"],
  backup: [],
  system: [],
};
const otherTypes = Object.entries(subjects).flatMap(([name, ends]) => ["*", ...ends].map((end) => `${name}.${end}`));

const recordEnds = ["*", "created", "updated", "deleted"] as const;

export function typesOf(collections: readonly string[]): string[] {
  return [...collections.flatMap((name) => recordEnds.map((end) => `${name}.${end}`)), ...otherTypes];
}

/** Whether events of a type can exist. The log may hold events of a deleted collection. */
export function isKnownType(type: string): boolean {
  if (type === "*" || otherTypes.some((known) => known === type)) return true;
  if (/^[A-Za-z]\w*\.(?:created|updated|deleted|\*)$/.test(type)) return true;
  return type.endsWith("*") && otherTypes.some((known) => known.startsWith(type.slice(0, -1)));
}
