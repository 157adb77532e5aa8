/** Questions: requests for stored data, each with the answer of the model for a caller. */
import type { Generator } from "./generate.ts";
import { groupQuestion } from "./groups.ts";
import { itemsIn, type Model, type ModelCaller, type ModelRecord, recordItems } from "./model.ts";
import { compare } from "./order.ts";
import { type List, listQuestion, type Question } from "./question.ts";
import { searchQuestions } from "./searches.ts";
import { type Condition, type Literal, type Path, textOfPath, textOfRule } from "./syntax.ts";

export function questionsFor(model: Model, name: string, generator: Generator): Question[] {
  const all: List = (caller) => model.list(caller, name);
  const filters = Array.from({ length: 2 }, () => generator.condition(name, { depth: 2, hops: 3 }));
  return [
    { ...listQuestion(model, name, { search: "", list: all }), isPaged: false },
    pageQuestion(model, name),
    ...filters.map((filter) => filterQuestion(model, name, filter)),
    sortQuestion(model, name, generator),
    ...searchQuestions(model, name, generator),
    groupQuestion(model, name, generator),
    ...expandQuestions(model, name, generator),
    fieldsQuestion(model, name, generator),
    ...model.records(name).map((record) => recordQuestion(model, name, record)),
    recordQuestion(model, name, null),
  ];
}

/** All records that a caller may read. */
export function pageQuestion(model: Model, name: string): Question {
  return listQuestion(model, name, { search: "?limit=50", list: (caller) => model.list(caller, name) });
}

function filterQuestion(model: Model, name: string, filter: Condition): Question {
  return listQuestion(model, name, {
    search: `?count=exact&filter=${encodeURIComponent(textOfRule(filter))}`,
    total: true,
    refusals: (caller) => model.refusals(caller, name, filter),
    list: (caller) =>
      model.list(caller, name).filter((record) => model.matches(filter, caller, { collection: name, record })),
  });
}

function sortQuestion(model: Model, name: string, generator: Generator): Question {
  const path: Path = generator.rarely(4) ? { hops: [], field: "s" } : generator.path(name);
  const isDescending = generator.rarely(2);
  const sign = isDescending ? -1 : 1;
  return listQuestion(model, name, {
    search: `?sort=${isDescending ? "-" : ""}${textOfPath(path)}`,
    refusals: (caller) => model.refusalsOfPaths(caller, name, [path]),
    list: (caller) => {
      const value = (record: ModelRecord): Literal => model.valueFor(path, caller, { collection: name, record });
      const oldest = model.list(caller, name).reverse();
      const place = new Map(oldest.map((record, i) => [record, i]));
      return oldest.sort((a, b) => sign * (compare(value(a), value(b)) || (place.get(a) ?? 0) - (place.get(b) ?? 0)));
    },
  });
}

function expandQuestions(model: Model, name: string, generator: Generator): Question[] {
  const backward = generator.names.flatMap((from) =>
    ["r0", "r1", recordItems].filter((field) => model.target(from, field) === name).map((field) => ({ from, field })),
  );
  const ways = [["r0"], ["r1"], ["r0", generator.of(["r0", "r1"])], [recordItems, generator.of(["r0", recordItems])]];
  const forward = ways.map((relations) => forwardQuestion(model, name, relations));
  return [...forward, ...backward.map((each) => backwardQuestion(model, name, each))];
}

/** The records at the end of some relations, each beside the record before. */
function forwardQuestion(model: Model, name: string, relations: readonly string[]): Question {
  return listQuestion(model, name, {
    search: `?expand=${relations.join(".")}`,
    list: (caller) => model.list(caller, name),
    refusals: (caller) => new Set(isUnknown(model, caller, { name, relations }) ? [400] : []),
    shown: (caller, record) => expanded(model, caller, { name, record, relations }),
  });
}

/** Whether a relation does not exist for a caller. The relations behind a collection that is closed to the caller are not examined. */
function isUnknown(
  model: Model,
  caller: ModelCaller,
  { name, relations }: { name: string; relations: readonly string[] },
): boolean {
  const [relation, ...rest] = relations;
  if (relation === undefined || model.closedStatus(caller, name) !== null) return false;
  if (model.fieldStanding(caller, name, relation) === "none") return true;
  return isUnknown(model, caller, { name: model.target(name, relation), relations: rest });
}

function expanded(
  model: Model,
  caller: ModelCaller,
  { name, record, relations }: { name: string; record: ModelRecord; relations: readonly string[] },
): object {
  const shown = model.shown(caller, name, record);
  const [relation, ...rest] = relations;
  if (relation === undefined) return shown;
  const target = model.target(name, relation);
  const isVisible = model.visible(caller, name, record).has(relation);
  const found = (isVisible ? itemsIn(record[relation]) : []).flatMap((id) => model.record(target, id) ?? []);
  const beside = found
    .filter((each) => model.canRead(caller, target, each))
    .map((each) => expanded(model, caller, { name: target, record: each, relations: rest }));
  const isMultiple =
    model.field(name, relation)?.multiple === true && isVisible && model.closedStatus(caller, target) === null;
  return { ...shown, expand: { [relation]: isMultiple ? beside : (beside[0] ?? null) } };
}

function backwardQuestion(model: Model, name: string, { from, field }: { from: string; field: string }): Question {
  const step = `${from}(${field})`;
  return listQuestion(model, name, {
    search: `?expand=${step}`,
    list: (caller) => model.list(caller, name),
    refusals: (caller) => new Set(model.fieldStanding(caller, from, field) === "all" ? [] : [400]),
    shown: (caller, record) => {
      const isClosed = model.closedStatus(caller, from) !== null;
      const pointing = model.list(caller, from).filter((each) => itemsIn(each[field]).includes(record.id));
      const beside = isClosed ? null : pointing.map((each) => model.shown(caller, from, each));
      return { ...model.shown(caller, name, record), expand: { [step]: beside } };
    },
  });
}

function fieldsQuestion(model: Model, name: string, generator: Generator): Question {
  const own = new Set(["t", ...["n", "flag", "s", "u", "o", "f"].filter(() => generator.rarely(2))]);
  const inner = generator.of(["t", "s"]);
  const target = model.target(name, "r0");
  return listQuestion(model, name, {
    search: `?fields=${[...own, `r0.${inner}`].join(",")}`,
    list: (caller) => model.list(caller, name),
    refusals: (caller) => {
      const closed = [...own, "r0"].some((field) => model.fieldStanding(caller, name, field) === "none");
      const isKnown =
        model.closedStatus(caller, target) !== null || model.fieldStanding(caller, target, inner) !== "none";
      return new Set(closed || !isKnown ? [400] : []);
    },
    shown: (caller, record) => {
      const found = model.visible(caller, name, record).has("r0") ? model.record(target, record["r0"] ?? null) : null;
      const beside =
        found !== null && model.canRead(caller, target, found)
          ? model.part(caller, { collection: target, only: new Set([inner]) }, found)
          : null;
      return { ...model.part(caller, { collection: name, only: own }, record), expand: { r0: beside } };
    },
  });
}

const nothing = "rec_01900000-0000-7000-8000-000000000000";

/** A record by its id; null asks for an absent record. */
function recordQuestion(model: Model, name: string, record: ModelRecord | null): Question {
  return {
    path: `/api/${name}/${record?.id ?? nothing}`,
    isPaged: false,
    isFleeting: false,
    isUnordered: () => false,
    answerTo: (caller) => {
      const closed = model.closedStatus(caller, name);
      if (closed !== null) return { statuses: new Set([closed]) };
      if (record === null) return { statuses: new Set([404]) };
      if (model.canRead(caller, name, record)) return { body: model.shown(caller, name, record) };
      return { statuses: new Set([model.collection(name).rules.read === "owner" ? 403 : 404]) };
    },
  };
}
