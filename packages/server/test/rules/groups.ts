/** Groups and aggregates by the model of rules. */
import type { Generator } from "./generate.ts";
import type { Model, ModelRecord } from "./model.ts";
import { compare } from "./order.ts";
import type { Question } from "./question.ts";
import { type Literal, type Path, textOfPath, textOfRule } from "./syntax.ts";

type Aggregate = "sum" | "min" | "max";
interface Aggregated {
  readonly called: Aggregate;
  readonly path: Path;
}

/** Groups by some paths, of the records that fulfil a filter. */
export function groupQuestion(model: Model, name: string, generator: Generator): Question {
  const keys = generator.keys(name);
  const aggregated = aggregates(name, generator);
  const filter = generator.rarely(2) ? generator.condition(name, { depth: 1, hops: 2 }) : null;
  const query = new URLSearchParams({
    ...(keys.length > 0 && { group: keys.map(textOfPath).join(",") }),
    aggregate: ["count", ...aggregated.map(nameOf)].join(","),
    ...(filter !== null && { filter: textOfRule(filter) }),
  });
  return {
    path: `/api/${name}?${query}`,
    isPaged: true,
    isFleeting: false,
    isUnordered: () => false,
    answerTo: (caller) => {
      const closed = model.closedStatus(caller, name);
      if (closed !== null) return { statuses: new Set([closed]) };
      const refusals = model.refusalsOfPaths(caller, name, [...keys, ...aggregated.map(({ path }) => path)]);
      for (const status of filter === null ? [] : model.refusals(caller, name, filter)) refusals.add(status);
      if (refusals.size > 0) return { statuses: refusals };
      const records = model
        .list(caller, name)
        .filter((record) => filter === null || model.matches(filter, caller, { collection: name, record }));
      const valueAt = (path: Path, record: ModelRecord): Literal =>
        model.valueFor(path, caller, { collection: name, record });
      const valuesAt = (path: Path, record: ModelRecord): Literal[] => {
        const values = model.valuesFor(path, caller, { collection: name, record });
        return values.length === 0 ? [null] : values;
      };
      const items = groupsOf(records, keys, valuesAt).map(({ values, members }) => ({
        ...Object.fromEntries(keys.map((key, i) => [textOfPath(key), values[i]])),
        count: members.length,
        ...Object.fromEntries(
          aggregated.map((each) => [
            nameOf(each),
            aggregateOf(
              each,
              members.map((member) => valueAt(each.path, member)),
            ),
          ]),
        ),
      }));
      return { body: { items, hasMore: false } };
    },
  };
}

function aggregates(name: string, generator: Generator): Aggregated[] {
  const aggregated: Aggregated[] = [];
  if (generator.rarely(2)) aggregated.push({ called: "sum", path: { hops: [], field: "n" } });
  const called = generator.of(["min", "max"] as const);
  // A boolean has no least value.
  const path = generator.rarely(3) ? { hops: [], field: "s" } : generator.path(name);
  if (path.field !== "flag") aggregated.push({ called, path });
  return aggregated;
}

function nameOf({ called, path }: Aggregated): string {
  return `${called}(${textOfPath(path)})`;
}

interface Group {
  readonly values: readonly Literal[];
  readonly members: ModelRecord[];
}

/**
 * The groups in the order of their values. Without a key, all records are a single group. By a multiple field, a record is in the
 * group of each item.
 */
function groupsOf(
  records: readonly ModelRecord[],
  keys: readonly Path[],
  valuesAt: (path: Path, record: ModelRecord) => readonly Literal[],
): Group[] {
  const groups = new Map<string, Group>();
  if (keys.length === 0) groups.set("[]", { values: [], members: [] });
  for (const record of records) {
    let tuples: (readonly Literal[])[] = [[]];
    for (const key of keys) tuples = tuples.flatMap((tuple) => valuesAt(key, record).map((value) => [...tuple, value]));
    for (const values of tuples) {
      const id = JSON.stringify(values);
      const group = groups.get(id) ?? { values, members: [] };
      group.members.push(record);
      groups.set(id, group);
    }
  }
  return [...groups.values()].sort((a, b) => {
    for (const [i, value] of a.values.entries()) {
      const order = compare(value, b.values[i] ?? null);
      if (order !== 0) return order;
    }
    return 0;
  });
}

function aggregateOf({ called }: Aggregated, all: readonly Literal[]): Literal {
  const values = all.filter((value) => value !== null);
  if (called === "sum") return values.reduce((sum: number, value) => sum + Number(value), 0);
  const sorted = values.toSorted(compare);
  return (called === "min" ? sorted[0] : sorted.at(-1)) ?? null;
}
