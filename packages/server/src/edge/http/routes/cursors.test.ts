/** The content of cursors, which the caller can read: no part is hidden. */
import { expect, test } from "bun:test";
import { openApi } from "../../../../test/kit.ts";

const { request, admin } = await openApi({
  collections: [
    {
      name: "authors",
      fields: [
        { name: "name", type: "string" },
        { name: "isOpen", type: "boolean" },
        { name: "pin", type: "string", permissions: { read: "admin" } },
      ],
      permissions: { read: "isOpen = true" },
    },
    { name: "posts", fields: [{ name: "author", type: "relation", collection: "authors" }] },
  ],
});
const token = await admin();

async function create(collection: string, body: object): Promise<string> {
  return (await request<{ id: string }>("POST", `/api/${collection}`, { body, token })).body.id;
}

test("a list that is sorted by an unreadable record has no value of that record", async () => {
  const authors = [
    await create("authors", { name: "a hidden name", isOpen: false, pin: "1" }),
    await create("authors", { name: "an open name", isOpen: true, pin: "2" }),
  ];
  for (const author of authors) for (let n = 0; n < 2; n++) await create("posts", { author });
  const values: unknown[] = [];
  for (let cursor: string | null = ""; cursor !== null; ) {
    const path: string = `/api/posts?${new URLSearchParams({ sort: "author.name", limit: "1", cursor })}`;
    const page = await request<{ nextCursor: string | null }>("GET", path);
    cursor = page.body.nextCursor;
    // The content stands behind the signature.
    if (cursor !== null) values.push(JSON.parse(Buffer.from(cursor.slice(22), "base64url").toString())[1]);
  }
  expect(values).toEqual([[null], [null], ["an open name"]]);
  expect((await request("GET", "/api/posts?sort=author.pin&limit=1")).status).toBe(400);
});
