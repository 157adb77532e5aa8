/** The lookups of relations' targets: many lookups take turns with the event loop. */
import { expect, test } from "bun:test";
import { openApi } from "../../../test/kit.ts";
import { system } from "../../base/kernel/index.ts";
import { recordTableOf } from "./record-table.ts";
import { References } from "./references.ts";

test("the event loop turns while the files of an array are looked up", async () => {
  const files = { name: "files", type: "file", multiple: true };
  const { service } = await openApi({ collections: [{ name: "albums", fields: [files] }] });
  const references = new References({
    collections: service.collections,
    lookups: {
      userExists: () => true,
      isReadableFile: () => {
        Bun.sleepSync(2);
        return true;
      },
    },
    rights: service.records.rights,
  });
  const table = recordTableOf(service.records.collection("albums"));
  const ids = Array.from({ length: 50 }, (_, i) => `fil_${i}`);
  let turns = 0;
  const timer = setInterval(() => {
    turns += 1;
  });
  await service.database.transactLong("test", (tx) =>
    references.lookAhead(tx, { table, principal: system }, { body: { files: ids }, before: null }),
  );
  clearInterval(timer);
  expect(turns).toBeGreaterThan(5);
});
