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

test.each([
  ["plain", '{\n  "auth": { "registration": false },\n  "log": {},\n  "auth": {}\n}', '"auth"', 4],
  ["nested", '{ "auth": {\n "a": "x:\\"y", "b": ["a", {"a": 1}],\n "a": 2 } }', '"a"', 3],
  ["with comments", '{ // "port": 1,\n  "port": 8080,\n  /* "port": */ "port": 9090,\n}', '"port"', 3],
  ["escaped", '{ "a": 1, "\\u0061": 2 }', '"a"', 1],
])("a repeated key is refused with the line: %s", async (name, text, key, line) => {
  const file = join(folder, `twice-${name}.json`);
  await Bun.write(file, text);
  expect(readJsonFile(file)).rejects.toThrow(`the key ${key} stands twice in an object, again in line ${line}`);
});

test("a key may stand in several objects, and in texts", async () => {
  const file = join(folder, "once.json");
  const value = { a: { a: '{ "a": 1, "a": 2 } // a' }, b: [{ a: 1 }, { a: [[]] }], "a b": "a" };
  await Bun.write(file, JSON.stringify(value));
  expect(await readJsonFile(file)).toEqual(value);
});
