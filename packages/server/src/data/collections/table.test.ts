import { expect, test } from "bun:test";
import { parseDefinition } from "./index.ts";
import { planMigration } from "./plan.ts";
import { touchesRecords } from "./table.ts";

const text = (name: string, more: object = {}) => ({ name, type: "string", ...more });
const relation = (name: string, more: object = {}) => ({ name, type: "relation", collection: "users", ...more });
const unique = (...fields: string[]) => ({ fields, unique: true });

const cases: [string, object, object, boolean][] = [
  ["nothing", { fields: [text("a")] }, { fields: [text("a")] }, false],
  ["an index that comes", { fields: [text("a")] }, { fields: [text("a")], indexes: [["a"]] }, true],
  ["a unique one", { fields: [text("a")] }, { fields: [text("a")], indexes: [unique("a", "createdAt")] }, true],
  [
    "a unique one that serves a unique field already: the records are asked",
    { fields: [text("a", { unique: true })] },
    { fields: [text("a", { unique: true })], indexes: [unique("a")] },
    true,
  ],
  ["an index that goes", { fields: [text("a")], indexes: [["a", "createdAt"]] }, { fields: [text("a")] }, false],
  [
    "one for another",
    { fields: [text("a")], indexes: [["a"]] },
    { fields: [text("a")], indexes: [["updatedAt"]] },
    true,
  ],
  [
    "one that goes, and leaves a relation without",
    { fields: [relation("r")], indexes: [unique("r")] },
    { fields: [relation("r")] },
    true,
  ],
  [
    "a rename of an indexed field",
    { fields: [text("a"), relation("r", { owner: true })], indexes: [["a", "r"]] },
    {
      fields: [text("b", { renamedFrom: "a" }), relation("by", { owner: true, renamedFrom: "r" })],
      indexes: [["b", "by"]],
    },
    false,
  ],
  ["lists by owner", { fields: [] }, { fields: [], permissions: { read: "owner" } }, true],
  ["lists by owner no longer", { fields: [], permissions: { read: "owner" } }, { fields: [] }, false],
  [
    "lists by owner, who is indexed",
    { fields: [relation("r", { owner: true })] },
    { fields: [relation("r", { owner: true })], permissions: { read: "owner" } },
    false,
  ],
];

test.each(cases)("whether a migration touches the records: %s", async (_name, before, after, touches) => {
  const [old, next] = [parseDefinition({ name: "p", ...before }), parseDefinition({ name: "p", ...after })];
  expect(touchesRecords(planMigration(old.definition, next))).toBe(touches);
});
