/** Tests of the plan in words, and of the reading of a refusal. */
import { expect, test } from "bun:test";
import type { CollectionDefinition, FieldDefinition, MigrationPlan, MigrationStep } from "@socle/protocol";
import { draftOf, noPermissions } from "../draft/draft.ts";
import { implicitIndexes } from "../indexes/implicit.ts";
import { effectiveRule, sentenceOf, warningsOf } from "../permissions/rules.ts";
import { lossOf, type StepWords, wordsOf } from "./plan-words.ts";
import { contradiction, filterOf, pointersIn, recordIds } from "./refusal.ts";

const before: CollectionDefinition = {
  name: "posts",
  fields: [
    { name: "title", type: "string", max: 200, required: true },
    { name: "owner", type: "relation", collection: "users", owner: true },
  ],
  permissions: { read: "public" },
};
const after: CollectionDefinition = {
  name: "posts",
  fields: [
    { name: "headline", type: "string", max: 100 },
    { name: "slug", type: "string" },
  ],
  permissions: { read: "public", create: "authenticated" },
};

function say(...steps: MigrationStep[]): StepWords[] {
  const plan: MigrationPlan = { collection: "posts", action: "update", steps, records: 120 };
  return steps.map((step) => wordsOf(step, { before, after, plan }));
}

test("steps in words", () => {
  const [add, loss, drop, rename, rules] = say(
    { step: "add", field: "slug", records: 120 },
    { step: "drop", field: "teaser", records: 7 },
    { step: "drop", field: "empty", records: 0 },
    { step: "rename", field: "headline", from: "title", records: 120 },
    { step: "rules", field: "headline", records: 120 },
  );
  expect(add).toEqual({ tone: "add", title: "Add field `slug` (string)", details: ["120 records get null"] });
  expect(loss).toEqual({ tone: "loss", title: "Drop field `teaser`: 7 records have a value", details: [] });
  expect(drop).toMatchObject({ tone: "drop", title: "Drop field `empty`" });
  expect(rename).toMatchObject({ tone: "change", title: "Rename field `title` to `headline`" });
  expect(rules?.details).toEqual(["max: 200 → 100", "The field may be empty", "120 records checked"]);
});

test("a renamed field names the indexes, the sequence and the search that follow; a renamed value its records", () => {
  const no: FieldDefinition = { name: "no", type: "integer", sequence: ["title"] };
  const named: CollectionDefinition = {
    ...before,
    fields: [...before.fields, no],
    indexes: [["title", "owner"], ["owner"]],
    search: ["title"],
  };
  const rename: MigrationStep = { step: "rename", field: "headline", from: "title", records: 120 };
  const plan: MigrationPlan = { collection: "posts", action: "update", steps: [rename], records: 120 };
  expect(wordsOf(rename, { before: named, after, plan }).details).toEqual([
    "120 records keep the values",
    "The index on title, owner follows",
    "The sequence of no follows",
    "The search follows",
  ]);
  const [values] = say({ step: "values", field: "slug", renamed: [{ from: "a", to: "b", records: 2 }], records: 9 });
  expect(values?.details[0]).toBe("a becomes b in 2 records, and in the rules");
});

test("permissions are described by their effect: an inherited rule changes, too", () => {
  const rules = (["create", "update", "delete"] as const).map((operation) => {
    return { operation, from: "public", to: operation === "create" ? "authenticated" : "owner" };
  });
  const [permissions, ofField] = say(
    { step: "permissions", rules, records: 120 },
    { step: "permissions", field: "slug", rules: [{ operation: "read", from: "public", to: "a = 1" }], records: 120 },
  );
  expect(ofField?.details).toEqual(["read: public → a = 1"]);
  expect(permissions?.details.map((line) => line.split(" · ")[0])).toEqual([
    "create: public → authenticated",
    "update: public → owner",
    "delete: public → owner",
  ]);
});

test("only lost values are a loss: a removed owner field is no loss", () => {
  const steps: MigrationStep[] = [
    { step: "drop", field: "owner", records: 0 },
    { step: "rename", field: "headline", from: "title", records: 120 },
  ];
  expect(say(...steps)[0]).toMatchObject({ tone: "drop", details: ["The owners of the records stay, hidden"] });
  expect(lossOf({ collection: "posts", action: "update", steps, records: 120 })).toBe(0);
  const drop: MigrationStep = { step: "drop", field: "a", records: 3 };
  expect(lossOf({ collection: "posts", action: "update", steps: [drop, drop], records: 120 })).toBe(6);
});

test("a step that the dashboard does not know is shown by its name", () => {
  const [step] = say(JSON.parse('{"step":"partition","records":5}'));
  expect(step).toEqual({ tone: "change", title: "partition", details: ["Concerns 5 records"] });
});

test("ids come out of a refusal, and its message stays readable", () => {
  const [a, b] = ["rec_0190a000-0000-7000-8000-000000000001", "rec_0190a000-0000-7000-8000-000000000002"];
  const some = contradiction(`cannot be unique: 9 records have a value that another has too (${a}, ${b}, …)`, "slug");
  expect(some).toEqual({
    field: "slug",
    message: "cannot be unique: 9 records have a value that another has too",
    ids: [a, b],
    hasMore: true,
  });
  expect(contradiction(`cannot be required: 1 record has no value in it (${a})`, "x").hasMore).toBe(false);
  expect(recordIds(`${a} ${a} rec_ record fil_1`)).toEqual([a]);
  expect(contradiction("field (x) is wrong", null)).toMatchObject({ message: "field (x) is wrong", ids: [] });
  expect(filterOf([a, b])).toBe(`id in ("${a}", "${b}")`);
});

test("pointers come out of a refused deletion", () => {
  expect(pointersIn('collection "authors" cannot be deleted: posts.author, books.writer point to it')).toEqual([
    { collection: "posts", field: "author" },
    { collection: "books", field: "writer" },
  ]);
  expect(pointersIn('collection "authors" cannot be deleted')).toEqual([]);
});

test("rules: own, inherited, by default; risks by their effect", () => {
  const some = { ...noPermissions, create: "authenticated" } as const;
  expect(effectiveRule(some, "read")).toEqual({ rule: "public", from: "default" });
  expect(effectiveRule(some, "create")).toEqual({ rule: "authenticated", from: null });
  expect(effectiveRule(some, "delete")).toEqual({ rule: "owner", from: "others" });
  expect(effectiveRule({ ...noPermissions, read: "owner" }, "create")).toEqual({ rule: "owner", from: "read" });
  const both = { ...noPermissions, read: "a = 1", create: "b = 2" };
  expect(effectiveRule(both, "update")).toEqual({ rule: "(b = 2) and (a = 1)", from: "others" });
  expect(warningsOf(some)).toEqual([]);
  expect(warningsOf(noPermissions)).toHaveLength(3);
  expect(warningsOf({ read: "public", create: "public", update: "owner", delete: null })).toHaveLength(2);
  expect(sentenceOf("read", "public")).toBe("Anyone may read all records.");
});

test("indexes that exist by themselves", () => {
  const names = implicitIndexes(draftOf({ ...before, permissions: { read: "owner" } }, true)).map(({ name }) => name);
  expect(names).toEqual(["id", "owner"]);
  const hidden = draftOf(
    { name: "a", fields: [{ name: "x", type: "json", unique: true }], permissions: { read: "owner" } },
    true,
  );
  expect(implicitIndexes(hidden).map(({ reason }) => reason)).toHaveLength(2);
});
