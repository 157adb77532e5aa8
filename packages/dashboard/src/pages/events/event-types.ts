/** The types of events that a filter may name. */

/** Types other than the types of records. */
const otherTypes = [
  "auth.*",
  "auth.login",
  "auth.register",
  "auth.logout",
  "auth.failed",
  "auth.locked",
  "storage.*",
  "storage.uploaded",
  "storage.deleted",
  "function.*",
  "function.started",
  "function.completed",
  "function.failed",
  "job.*",
  "job.started",
  "job.completed",
  "job.failed",
  "admin.*",
  "admin.user.*",
  "admin.user.created",
  "admin.user.updated",
  "admin.user.password",
  "admin.user.deleted",
  "admin.session.deleted",
  "admin.collection.*",
  "admin.collection.created",
  "admin.collection.updated",
  "admin.collection.deleted",
  "admin.file.updated",
  "admin.job.run",
  "admin.job.deleted",
  "admin.function.retried",
  "backup.*",
  "system.*",
] as const;

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
