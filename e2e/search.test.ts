/** Full-text search against the executable: through a restart, a backup, a vacuum, and from SQL of a function. */
import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { join } from "node:path";
import type { RecordPage } from "@socle/protocol";
import { SocleClient } from "../packages/client/src/index.ts";
import { post, project, serve, socle } from "./kit.ts";

const notes = {
  name: "notes",
  fields: [
    { name: "title", type: "string" },
    { name: "body", type: "text" },
  ],
  search: ["title", "body"],
};

async function found(url: string, search: string): Promise<string[]> {
  const page: RecordPage<{ title: string }> = await new SocleClient({ baseUrl: url })
    .collection("notes")
    .page({ search, snippet: "title", sort: "title" });
  return page.items.map(({ title }) => title);
}

test("the words stay with the records", async () => {
  const cwd = await project({ collections: [notes] });
  const first = await serve(cwd);
  for (const title of ["Crème brûlée", "東京都庁", "Plain"])
    expect((await post(`${first.url}/api/notes`, { title, body: "text" })).status).toBe(201);
  expect(await found(first.url, "text")).toEqual(["Crème brûlée", "Plain", "東京都庁"]);
  expect(await socle(["backup", "one.socle"], { cwd })).toMatchObject({ code: 0 });
  await first.stop();
  expect(await socle(["verify", "one.socle"], { cwd })).toMatchObject({ code: 0 });
  expect(await socle(["vacuum"], { cwd })).toMatchObject({ code: 0 });
  const second = await serve(cwd);
  expect([await found(second.url, "creme"), await found(second.url, "京都")]).toEqual([["Crème brûlée"], ["東京都庁"]]);
  expect((await post(`${second.url}/api/notes`, { title: "After" })).status).toBe(201);
  expect(await found(second.url, "aft*")).toEqual(["After"]);
  await second.stop();
  using database = new Database(join(cwd, "socle.db"), { readonly: true });
  expect(database.query("PRAGMA integrity_check").all()).toEqual([{ integrity_check: "ok" }]);
});
