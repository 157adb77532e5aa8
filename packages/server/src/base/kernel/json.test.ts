/** Files of JSON that people write: comments, and a byte order mark. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { temporaryFolder } from "../../../test/kit.ts";
import { readJsonFile } from "./json.ts";

const folder = temporaryFolder();

test.each([
  ["plain", '{ "a": [1] }'],
  ["with a byte order mark", '\ufeff{ "a": [1] }'],
  ["with comments", '// one\n{ "a": [1,], }'],
  ["with a byte order mark and comments", '\ufeff// one\n{ "a": [1,], }'],
])("%s", async (name, text) => {
  const file = join(folder, `${name}.json`);
  await Bun.write(file, text);
  expect(await readJsonFile(file)).toEqual({ a: [1] });
});

test("a byte order mark inside of a file stays an error", async () => {
  const file = join(folder, "inside.json");
  await Bun.write(file, '{ "a": 1 }\ufeff');
  expect(readJsonFile(file)).rejects.toThrow("is not JSON");
});
