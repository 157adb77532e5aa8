/** Events about an account: the affected user, and the changes by an admin. */
import type { EventEntry } from "@socle/protocol";
import { isObject } from "../../kit/diff.ts";

function text(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

/** The user to whom the event happened; null for an event about another subject. */
export function aboutUser({ type, source, payload }: Pick<EventEntry, "type" | "source" | "payload">): string | null {
  if (source === "auth") return text(payload["userId"]) ?? (type === "auth.register" ? text(payload["id"]) : null);
  if (type.startsWith("admin.user.") || type.startsWith("admin.session.")) return text(payload["target"]);
  return null;
}

function valuesOf(value: unknown): readonly [string, unknown][] {
  return isObject(value) ? Object.entries(value) : [];
}

/** The change by an admin in a single line, "role: admin → authenticated"; empty without short values. */
export function changeOf({ type, payload }: Pick<EventEntry, "type" | "payload">): string {
  if (!type.startsWith("admin.") || !type.endsWith(".updated")) return "";
  const before = new Map(valuesOf(payload["before"]));
  return valuesOf(payload["after"])
    .filter(([name, value]) => before.has(name) && before.get(name) !== value && typeof value !== "object")
    .map(([name, value]) => `${name}: ${String(before.get(name))} → ${String(value)}`)
    .slice(0, 3)
    .join(", ");
}
