/** The lookups of what a record points to: many of them take turns with the event loop. */
import { expect, test } from "bun:test";
import { openApi } from "../../test/kit.ts";
import { system } from "../kernel/index.ts";
import { recordTableOf } from "./record-table.ts";
import { References } from "./references.ts";

test("the event loop turns while the files of an array are looked up", async () => {
  const files = { name: "files", type: "file", multiple: true };
  const { service } = await openApi({ collections: [{ name: "albums", fields: [files] }] });
  const references = new References({
    collections: service.collections,
    lookups: {
      userExists: () => true,
      fileStanding: () => {
        Bun.sleepSync(2);
        return "there";
      },
    },
  });
  const table = recordTableOf(service.records.collection("albums"));
  const ids = Array.from({ length: 50 }, (_, i) => `fil_${i}`);
  let turns = 0;
  const timer = setInterval(() => {
    turns += 1;
  }, 0);
  const body = { values: [JSON.stringify(ids)], problems: [], before: null };
  await service.database.transact((tx) => references.check(tx, { table, principal: system }, body));
  clearInterval(timer);
  expect(turns).toBeGreaterThan(5);
});
