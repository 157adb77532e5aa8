/** Selection: the changes that an undo takes back, as a caller names them, and as pages of the event log. */
import { AppError, parseDatetime, quote } from "../../base/kernel/index.ts";
import type { Waiter } from "../../store/database/index.ts";
import type { EventLog, LoggedEvent } from "../../store/events/index.ts";

/** The changes at some seqs; those of a request, batch, import, run or undo by the id; or those of a user since a time. */
export type UndoSelection =
  | { readonly events: readonly number[] }
  | { readonly cause: string }
  | { readonly by: string; readonly since: number };

/** The most events that a request may name. */
const maxEvents = 1_000;
const causes = ["request", "batch", "import", "run", "undo"] as const;
const allowed = `"events", ${causes.map((name) => `"${name}"`).join(", ")}, or "by" and "since"`;

/** @throws AppError `bad_request`. */
export function readSelection(body: Record<string, unknown>): UndoSelection {
  const names = Object.keys(body).toSorted();
  if (names.join() === "by,since") return { by: readText(body, "by"), since: readTime(body["since"]) };
  const [name, ...others] = names;
  if (name === undefined || others.length > 0)
    throw new AppError("bad_request", `The body must name the changes by one of ${allowed}.`);
  if (name === "events") return { events: readEvents(body["events"]) };
  if (causes.some((cause) => cause === name)) return { cause: readText(body, name) };
  throw new AppError("bad_request", `${quote(name)} names no changes; allowed: ${allowed}.`);
}

function readText(body: Record<string, unknown>, name: string): string {
  const value = body[name];
  if (typeof value === "string" && value !== "" && value.length <= 200) return value;
  throw new AppError("bad_request", `"${name}" must be an id, not ${quote(value)}.`);
}

function readTime(value: unknown): number {
  const time = typeof value === "string" ? parseDatetime(value) : null;
  if (time !== null) return Date.parse(time);
  throw new AppError("bad_request", `"since" must be a time such as "2026-03-01T14:00:00Z", not ${quote(value)}.`);
}

function readEvents(value: unknown): readonly number[] {
  const isGood = (seq: unknown): seq is number => typeof seq === "number" && Number.isSafeInteger(seq) && seq > 0;
  const isList = Array.isArray(value) && value.length > 0 && value.length <= maxEvents && value.every(isGood);
  if (isList) return [...new Set<number>(value)].sort((a, b) => b - a);
  throw new AppError(
    "bad_request",
    `"events" must be an array of 1 to ${maxEvents} numbers: "seq" of GET /api/admin/events and of a history.`,
  );
}

/** The kind of a change of a record; null for any other event. */
export function kindOf({ source, type, subject }: LoggedEvent): "created" | "updated" | "deleted" | null {
  if (source !== "collections" || type.startsWith("system.") || subject === null) return null;
  const kind = type.slice(type.lastIndexOf(".") + 1);
  return kind === "created" || kind === "updated" || kind === "deleted" ? kind : null;
}

/** The newest changes of a selection before a seq, newest first, at most `limit`. */
export async function changesOf(
  events: EventLog,
  selection: UndoSelection,
  { before, limit, waiter }: { before: number; limit: number; waiter: Waiter },
): Promise<readonly LoggedEvent[]> {
  if ("events" in selection) {
    const seqs = selection.events.filter((seq) => seq < before).slice(0, limit);
    return seqs.flatMap((seq) => events.at(seq) ?? []).filter((event) => kindOf(event) !== null);
  }
  const found: LoggedEvent[] = [];
  for (let end = before; found.length < limit; ) {
    const part = { before: end, limit: limit - found.length };
    const page =
      "cause" in selection
        ? await events.about({ key: selection.cause, ...part }, waiter)
        : await events.by({ actor: selection.by, since: selection.since, ...part }, waiter);
    // The events of a run are also the steps of the run.
    const isCause = ({ cause }: LoggedEvent): boolean => !("cause" in selection) || cause?.id === selection.cause;
    found.push(...page.filter((event) => kindOf(event) !== null && isCause(event)));
    const last = page.at(-1);
    if (last === undefined) break;
    end = last.seq;
  }
  return found;
}
