/** Events about an account: whose it is, and the changes that an admin has made to it. */
import type { EventEntry } from "@socle/protocol";

function text(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

/** The user to whom it happened; null where it is about something else. */
export function aboutUser({ type, source, payload }: Pick<EventEntry, "type" | "source" | "payload">): string | null {
  if (source === "auth") return text(payload["userId"]) ?? (type === "auth.register" ? text(payload["id"]) : null);
  if (type.startsWith("admin.user.") || type.startsWith("admin.session.")) return text(payload["target"]);
  return null;
}

function valuesOf(value: unknown): readonly [string, unknown][] {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? Object.entries(value) : [];
}

/** The change of an admin in one line, "role: admin → authenticated"; empty where there is nothing short to say. */
export function changeOf({ type, payload }: Pick<EventEntry, "type" | "payload">): string {
  if (!type.startsWith("admin.") || !type.endsWith(".updated")) return "";
  const before = new Map(valuesOf(payload["before"]));
  return valuesOf(payload["after"])
    .filter(([name, value]) => before.has(name) && before.get(name) !== value && typeof value !== "object")
    .map(([name, value]) => `${name}: ${String(before.get(name))} → ${String(value)}`)
    .slice(0, 3)
    .join(", ");
}
