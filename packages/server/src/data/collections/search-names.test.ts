/** Names of searched collections: the tables in which FTS5 keeps one search table may have the name of another search table. */
import { expect, test } from "bun:test";
import { openApi } from "../../../test/kit.ts";

const searched = (name: string): object => ({ name, fields: [{ name: "a", type: "string" }], search: ["a"] });
const api = await openApi({ collections: [searched("posts")] });
const token = await api.admin();

async function make(body: object): Promise<readonly [number, unknown]> {
  const answer = await api.request("POST", "/api/admin/collections", { token, body });
  return [answer.status, answer.body["error"]?.["message"]];
}

test.each(["posts_data", "posts_IDX", "Posts_content", "posts_docsize", "posts_config"])(
  "%s cannot be searched beside posts",
  async (name) => {
    expect(await make(searched(name))).toEqual([
      400,
      `collections "posts" and "${name}" cannot both be searched: the words of "posts" are kept in a table of the name that "${name}" needs`,
    ]);
    expect(await make({ ...searched(name), search: undefined })).toEqual([201, undefined]);
  },
);

test("nor the other way round", async () => {
  expect(await make(searched("notes_data"))).toEqual([201, undefined]);
  const [status, message] = await make(searched("notes"));
  expect([status, message]).toEqual([400, expect.stringContaining('"notes" and "notes_data" cannot both be searched')]);
  expect(await make(searched("notes_more"))).toEqual([201, undefined]);
});
