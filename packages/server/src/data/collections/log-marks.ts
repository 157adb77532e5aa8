/** The marks of collections in the event log: after a migration, and of collections that were stored before marks existed. */
import type { CollectionDefinition } from "@socle/protocol";
import { isWider, narrowerThan, wordOf } from "../permissions/index.ts";
import type { Collection, LogMarks } from "./collection.ts";
import type { CollectionPlan } from "./plan.ts";

/**
 * The marks of a collection that was stored before marks existed. The former rules and fields are unknown, so all events
 * up to `seq` count as written under every narrower rule, and with other fields.
 */
export function marksOfOlder({ permissions }: Pick<CollectionDefinition, "permissions">, seq: number): LogMarks {
  const narrower = narrowerThan(permissions?.read ?? "public");
  return { created: 0, fields: seq, widened: Object.fromEntries(narrower.map((rule) => [rule, seq])) };
}

/** The marks of a collection after a migration whose event has a seq. */
export function marksAfter({ after, steps }: CollectionPlan, before: Collection | null, seq: number): LogMarks {
  if (before === null) return { created: seq, fields: seq, names: seq, widened: {} };
  const hasOtherNames = steps.some(
    (each) =>
      ["drop", "rename", "multiple"].includes(each.step) || (each.step === "values" && each.renamed !== undefined),
  );
  const names = hasOtherNames ? seq : (before.logMarks.names ?? before.logMarks.fields);
  // Older events have the old name; events of the new name are of a collection that is gone.
  if (before.name !== after.name) {
    const formerNames = [...new Set([...(before.logMarks.formerNames ?? []), before.name])];
    return { created: seq, fields: seq, names, widened: {}, renamed: seq, formerNames };
  }
  const { created, fields, widened, renamed, formerNames } = before.logMarks;
  // Older events may hold values that the new rules of a field hide.
  const movesFields = hasOtherNames || steps.some((each) => each.step === "permissions" && each.field !== undefined);
  const { rule } = before.policies.read;
  const isWidened = isWider(after.permissions?.read ?? "public", rule);
  const word = wordOf(rule);
  return {
    created,
    fields: movesFields ? seq : fields,
    names,
    widened: isWidened ? { ...widened, [word]: seq } : widened,
    ...(renamed !== undefined && { renamed }),
    ...(formerNames !== undefined && { formerNames }),
  };
}

/** Whether an event belongs to a dropped collection of the same name. @param event of the collection, by the name of its type. */
export function isOfPredecessor(
  event: { readonly seq: number; readonly timestamp: string },
  { logMarks, createdAt }: Pick<Collection, "logMarks" | "createdAt">,
): boolean {
  // A collection from a version without marks has only the time.
  return logMarks.created === 0 ? event.timestamp < createdAt : event.seq <= logMarks.created;
}
