import { expect, test } from "bun:test";
import { isLossy, schemaDiff } from "./commands/schema.ts";

test("added and removed indexes are shown, and are no loss", () => {
  const [fields, records] = [["a", "b"], 3];
  const changes = [
    {
      collection: "posts",
      action: "update" as const,
      records,
      steps: [
        { step: "index" as const, fields, unique: false, on: false, records },
        { step: "index" as const, fields, unique: true, on: true, records },
      ],
    },
  ];
  expect(schemaDiff(changes)).toBe("posts (3 records)\n  ~ a, b: the index goes\n  ~ a, b: a unique index comes\n");
  expect(isLossy(changes)).toBe(false);
});
