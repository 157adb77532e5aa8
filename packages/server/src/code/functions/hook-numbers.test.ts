/** Hooks before writes of records that are numbered. */
import { expect, test } from "bun:test";
import { openScripts } from "../../../test/scripts.ts";

const posts = {
  name: "posts",
  fields: [
    { name: "title", type: "string" },
    { name: "slug", type: "string" },
    { name: "note", type: "string" },
    { name: "number", type: "integer", sequence: ["slug"] },
  ],
};

test("a numbered record: an update shows the present number, a create shows no number", async () => {
  const api = await openScripts({
    collections: [posts],
    files: {
      "functions/posts/a.ts": `
        export const beforeCreate = ({ record }) => { console.log("create", "number" in record); };
        export const beforeUpdate = ({ record, previous }) => {
          console.log("update", record.slug, record.number, previous.number);
          return { ...record, title: "hooked" };
        };`,
    },
  });
  const first = await api.request("POST", "/api/posts", { body: { title: "one" } });
  await api.request("POST", "/api/posts", { body: { title: "two" } });
  const { body: third } = await api.request("POST", "/api/posts", { body: { title: "three" } });
  expect([first.body, third]).toMatchObject([{ number: 1 }, { number: 3 }]);
  const path = `/api/posts/${String(third["id"])}`;
  expect((await api.request("PUT", path, { body: { slug: null, title: "x" } })).body).toMatchObject({ number: 3 });
  // The hook sees the number of the former count.
  expect((await api.request("PUT", path, { body: { slug: "b" } })).body).toMatchObject({
    number: 1,
    title: "hooked",
  });
  for (const line of ["create false", "update null 3 3", "update b 3 3"])
    expect(api.log.some((each) => each.includes(line))).toBeTrue();
  expect(api.log.some((each) => each.includes("create true"))).toBeFalse();
});

test("a batch of numbered records: each record gets a number of its own", async () => {
  const api = await openScripts({
    collections: [posts],
    files: {
      "functions/posts/a.ts":
        'export const beforeCreate = ({ record }) => record.title === "c" ? { slug: "b" } : {}; export const beforeUpdate = () => {};',
    },
  });
  const post = (title: string, slug: string): object => ({
    method: "create",
    collection: "posts",
    body: { title, slug },
  });
  const move = (n: number): object => ({
    method: "update",
    collection: "posts",
    id: { $ref: n },
    body: { slug: "b" },
  });
  const body = { operations: [post("a", "a"), post("b", "a"), post("c", "a"), post("d", "b"), move(0), move(1)] };
  const answer = await api.request<{ results: { body: object }[] }>("POST", "/api/batch", { body });
  expect(answer.status).toBe(200);
  const numbers = answer.body.results.map((result) => Object.values(result.body).slice(-3));
  expect(numbers.map(([slug, , n]) => [slug, n])).toEqual([
    ["a", 1],
    ["a", 2],
    ["b", 1],
    ["b", 2],
    ["b", 3],
    ["b", 4],
  ]);
});
