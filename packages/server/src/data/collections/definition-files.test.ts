/** Definition files: names that are read, warnings about other files and folders, and the file that a refusal names. */
import { expect, test } from "bun:test";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { openApi, temporaryFolder } from "../../../test/kit.ts";

test("a byte order mark is skipped; skipped files and folders are reported", async () => {
  const folder = temporaryFolder();
  const write = (path: string, name: string): Promise<number> =>
    Bun.write(join(folder, "collections", path), `\ufeff${JSON.stringify({ name, fields: [] })}`);
  await mkdir(join(folder, "collections/folder.json"), { recursive: true });
  await write("posts.json", "posts");
  await write("Notes.JSON", "notes");
  await write("tags.json5", "tags");
  await write("shop/orders.json", "orders");
  await write("README.md", "readme");
  await write("posts.json~", "posts");
  const api = await openApi({ folder });
  expect(api.service.collections.all().map(({ name }) => name)).toEqual(["posts"]);
  const warned = api.log.filter((line) => line.startsWith("WARN"));
  expect(warned.map((line) => line.slice("WARN ".length + join(folder, "collections/").length))).toEqual(
    ["Notes.JSON", "folder.json", "shop", "tags.json5"].map(
      (path) => `${path} is no definition: definitions are files of this folder that end in .json`,
    ),
  );
});

test("a change that takes a column from a view names the files of the change", async () => {
  const folder = temporaryFolder();
  const path = join(folder, "collections/posts.json");
  const write = (field: object): Promise<number> => Bun.write(path, JSON.stringify({ name: "posts", fields: [field] }));
  await write({ name: "title", type: "string" });
  const board = { name: "board", query: "SELECT id, title FROM posts", permissions: { read: "public" } };
  await Bun.write(join(folder, "collections/board.json"), JSON.stringify(board));
  const { service } = await openApi({ folder });
  await service.close();
  await write({ name: "name", renamedFrom: "title", type: "string" });
  const refusal = openApi({ folder }).catch((thrown: unknown) => thrown);
  expect(String(await refusal)).toStartWith(`SetupError: ${path}: the view "board" reads what the change takes: `);
});
