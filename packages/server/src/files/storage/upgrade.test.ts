/** A database that an earlier version has made: the tables become the tables of this version. */
import { expect, test } from "bun:test";
import { openApi, temporaryFolder } from "../../../test/kit.ts";

test("the index of the owners of files gets the sizes, which an earlier version left out", async () => {
  const folder = temporaryFolder();
  const before = await openApi({ folder });
  await before.service.database.transact((tx) => {
    tx.run("DROP INDEX _files_user");
    tx.run("CREATE INDEX _files_user ON _files (userId)");
  });
  await before.close();
  const { service } = await openApi({ folder });
  const columns = service.database.reader.all<{ name: string }>("PRAGMA index_info(_files_user)");
  expect(columns.map(({ name }) => name)).toEqual(["userId", "size"]);
});
