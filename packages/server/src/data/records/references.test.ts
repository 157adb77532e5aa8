/** The lookups of relations' targets: many lookups take turns with the event loop. */
import { expect, test } from "bun:test";
import { openApi } from "../../../test/kit.ts";
import { system } from "../../base/kernel/index.ts";
import { mayNameManyFiles } from "./changes.ts";
import { recordTableOf } from "./record-table.ts";
import { References } from "./references.ts";

const ids = Array.from({ length: 51 }, (_, i) => `fil_${i}`);

test.each([
  ["an array", ids],
  ["an operator", { $remove: ["fil_x"], $add: ids }],
])("the event loop turns while the files of %s are looked up", async (_name, given) => {
  const files = { name: "files", type: "file", multiple: true };
  const { service } = await openApi({ collections: [{ name: "albums", fields: [files] }] });
  const references = new References({
    collections: service.collections,
    lookups: {
      userExists: () => true,
      fileAccess: () => {
        Bun.sleepSync(2);
        return "readable";
      },
    },
    rights: service.records.rights,
  });
  const table = recordTableOf(service.records.collection("albums"));
  let turns = 0;
  const timer = setInterval(() => {
    turns += 1;
  });
  await service.database.transactLong("test", (tx) =>
    references.lookAhead(tx, { table, principal: system }, { body: { files: given }, before: null }),
  );
  clearInterval(timer);
  expect(turns).toBeGreaterThan(5);
  expect(mayNameManyFiles({ files: given })).toBeTrue();
});

test("few files, and files that an operator removes, are not looked up ahead", () => {
  for (const files of [ids.slice(1), { $add: ids.slice(1) }, { $remove: ids }, { $add: null }, {}, null, "fil_1"])
    expect(mayNameManyFiles({ files })).toBeFalse();
});
