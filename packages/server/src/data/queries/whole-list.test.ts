import { expect, test } from "bun:test";
import { openApi } from "../../../test/kit.ts";

const api = await openApi({
  collections: [
    { name: "big", fields: [{ name: "text", type: "text" }] },
    { name: "mixed", fields: [{ name: "text", type: "text" }] },
  ],
});

async function readPages(name: string): Promise<{ sizes: number[]; ids: string[] }> {
  const { records, queries } = api.service;
  const { first, rest } = await queries.whole(records.collection(name), null);
  const pages = [first];
  for (let page = await rest?.next(); page?.done === false; page = await rest?.next()) pages.push(page.value);
  return { sizes: pages.map((page) => page.length), ids: pages.flat().map(({ id }) => id) };
}

async function create(name: string, bytes: number): Promise<string> {
  const { body } = await api.request<{ id: string }>("POST", `/api/${name}`, { body: { text: "x".repeat(bytes) } });
  return body.id;
}

test("a page of large records holds a single record, also the first page", async () => {
  const ids: string[] = [];
  for (let i = 0; i < 5; i++) ids.push(await create("big", 100_000));
  const read = await readPages("big");
  expect(read.ids).toEqual(ids.reverse());
  expect(read.sizes).toEqual([1, 1, 1, 1, 1]);
});

test("a page ends with the record that exceeds its bytes; no record is left out or repeated", async () => {
  const ids: string[] = [];
  for (let i = 0; i < 150; i++) ids.push(await create("mixed", i % 40 === 0 ? 100_000 : 10));
  const read = await readPages("mixed");
  expect(read.ids).toEqual(ids.reverse());
  expect(Math.max(...read.sizes)).toBeLessThan(100);
  const { items } = (await api.request<{ items: { id: string }[] }>("GET", "/api/mixed")).body;
  expect(items.map(({ id }) => id)).toEqual(ids);
});

test("a list that is stopped before its end leaves no read transaction open", async () => {
  const { records, queries } = api.service;
  const { rest } = await queries.whole(records.collection("big"), null);
  await rest?.return();
  expect(await rest?.next()).toEqual({ done: true, value: undefined });
});
