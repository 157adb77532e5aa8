/** The cause of a run: the user, and the functions, jobs and hooks in between. */
import { expect, test } from "bun:test";
import { openScripts } from "../../../test/scripts.ts";

const names = ["a", "b", "c"];
const collections = names.map((name) => ({ name, fields: [{ name: "n", type: "integer" }] }));
const tell = "console.log(JSON.stringify({ at, user: cause.user?.email ?? null, chain: cause.chain }));";

test("is known to each function and hook, through all functions and hooks before", async () => {
  const api = await openScripts({
    collections,
    files: {
      "functions/a/one.ts": `
        const at = "one";
        export const onCreate = async ({ cause, db }) => { ${tell} await db.collection("b").create({ n: 1 }); };`,
      "functions/b/two.ts": `
        const at = "two";
        export const beforeCreate = async ({ cause, db }) => { ${tell} await db.collection("c").create({ n: 2 }); };`,
      "functions/c/three.ts": `const at = "three"; export const onCreate = ({ cause }) => { ${tell} };`,
      "jobs/four.ts": `
        export const schedule = "0 0 1 1 *";
        export default ({ db }) => db.collection("c").create({ n: 3 });`,
    },
  });
  const told = () =>
    api.log
      .filter((line) => line.includes('"chain"'))
      .map((line) => JSON.parse(line.slice(line.indexOf("{"))) as unknown);
  const { accessToken: token } = await api.register("a@example.com");
  await api.request("POST", "/api/a", { body: {}, token });
  await api.scripts.functions.settled();
  const user = "a@example.com";
  const one = "functions/a/one.ts:onCreate";
  expect(told()).toEqual([
    { at: "one", user, chain: [] },
    { at: "two", user, chain: [one] },
    { at: "three", user, chain: [one, "functions/b/two.ts:beforeCreate"] },
  ]);
  await api.scripts.run({ kind: "job", name: "four" }, () => undefined);
  await api.scripts.functions.settled();
  expect(told().at(-1)).toEqual({ at: "three", user: null, chain: ["jobs/four.ts:default"] });
});
