/** The plan of a schema change in the form for callers: the steps, with the number of records that each step concerns. */
import { FIELD_OPERATIONS, type MigrationPlan, type MigrationStep, type NamingFile, OPERATIONS } from "@socle/protocol";
import type { CodeFile } from "../../code/script-host/index.ts";
import {
  type CollectionPlan,
  countDropped,
  countText,
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
      const { stricter: _, renamed: __, ...shown } = { stricter: null, renamed: null, ...step };
      const concerned = "field" in step || step.step === "index" || step.step === "search" ? all : 0;
      const rules = step.step === "permissions" ? { rules: changedRules(plan, step.field ?? null) } : {};
      const records = step.step === "drop" ? await countDropped(reader, plan, step.field) : concerned;
      steps.push({ ...shown, ...rules, ...(await tellValues(reader, plan, step)), records });
    }
    const action = plan.before === null ? "create" : "update";
    told.push({ collection: plan.after.name, action, steps, records: all });
  }
  return told;
}

/** The renamed values of a step, with the records that have the value. */
async function tellValues(
  reader: SlowReader,
  plan: CollectionPlan,
  step: CollectionPlan["steps"][number],
): Promise<Pick<MigrationStep, "renamed">> {
  if (step.step !== "values" || step.renamed === undefined) return {};
  const { field } = step;
  const renamed: NonNullable<MigrationStep["renamed"]>[number][] = [];
  for (const { from, to } of step.renamed)
    renamed.push({ from, to, records: await countText(reader, plan, { field, text: from }) });
  return { renamed };
}

/** Named files, and named lines of a file, at most. */
const [maxFiles, maxLines] = [100, 20];

/** The files of code with the old names of a plan as words: a word may mean something else. */
export function filesNaming(plan: MigrationPlan, code: () => readonly CodeFile[]): NamingFile[] {
  const names = plan.steps.flatMap(({ step, from = "", renamed = [] }) =>
    step === "rename" || step === "renameCollection" ? [from] : renamed.map((value) => value.from),
  );
  if (names.length === 0) return [];
  const words = names.map((name) => ({
    name,
    word: new RegExp(`(?<![\\p{L}\\p{N}_])${RegExp.escape(name)}(?![\\p{L}\\p{N}_])`, "u"),
  }));
  const files = code().flatMap(({ path, content }): NamingFile[] => {
    const found = words.filter(({ word }) => word.test(content));
    if (found.length === 0) return [];
    const lines = content.split("\n").flatMap((line, i) => (found.some(({ word }) => word.test(line)) ? [i + 1] : []));
    return [{ path, names: found.map(({ name }) => name), lines: lines.slice(0, maxLines) }];
  });
  return files.slice(0, maxFiles);
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
