/** The plan of a schema change in the form for callers: the steps, with the number of records that each step concerns. */
import { FIELD_OPERATIONS, type MigrationPlan, type MigrationStep, OPERATIONS } from "@socle/protocol";
import {
  type CollectionPlan,
  countDropped,
  type RuleSite,
  rulesAt,
  type SchemaChange,
} from "../../data/collections/index.ts";
import type { SlowReader } from "../../store/database/index.ts";

/** A change and the plans, before the change. */
interface ToldChange {
  readonly change: SchemaChange;
  readonly plans: readonly CollectionPlan[];
  readonly reader: SlowReader;
  /** The number of records of a collection; 0 for an unknown collection. */
  readonly recordsOf: (name: string) => Promise<number>;
}

/** A change for a caller, with the records that each step concerns. */
export async function tellChange({ change, plans, reader, recordsOf }: ToldChange): Promise<MigrationPlan[]> {
  const told: MigrationPlan[] = [];
  for (const name of change.drop) {
    const records = await recordsOf(name);
    told.push({ collection: name, action: "delete", steps: [{ step: "delete", records }], records });
  }
  for (const plan of plans) {
    const all = await recordsOf((plan.before ?? plan.after).name);
    const steps: MigrationStep[] = [];
    for (const step of plan.steps) {
      const { stricter: _, ...shown } = { stricter: null, ...step };
      const concerned = "field" in step || step.step === "index" || step.step === "search" ? all : 0;
      const rules = step.step === "permissions" ? { rules: changedRules(plan, step.field ?? null) } : {};
      const records = step.step === "drop" ? await countDropped(reader, plan, step.field) : concerned;
      steps.push({ ...shown, ...rules, records });
    }
    const action = plan.before === null ? "create" : "update";
    told.push({ collection: plan.after.name, action, steps, records: all });
  }
  return told;
}

/**
 * The rules of a collection, or of a field, that a plan changes, with the default rules filled in: a field without a
 * rule is `public` to readers of the record.
 */
function changedRules(plan: CollectionPlan, field: string | null): NonNullable<MigrationStep["rules"]> {
  const sites: RuleSite[] =
    field === null
      ? [...OPERATIONS, "history" as const].map((operation) => ({ field, operation }))
      : FIELD_OPERATIONS.map((operation) => ({ field, operation }));
  return sites.flatMap((site) => {
    const { from, to } = rulesAt(plan, site);
    return from === to ? [] : [{ operation: site.operation, from, to }];
  });
}
