/** The references that `socle verify` looks at: single ids, ids in arrays, and owners. */
import { expect, test } from "bun:test";
import { openApi } from "../../test/kit.ts";
import { dataPathsOf } from "../app/index.ts";
import { system } from "../kernel/index.ts";
import { verifyData } from "./verify.ts";

test("an id that leads nowhere is found, alone and in an array", async () => {
  const to = { type: "relation", collection: "labels" };
  const api = await openApi({
    collections: [
      { name: "labels", fields: [] },
      {
        name: "tasks",
        fields: [
          { name: "first", ...to },
          { name: "all", ...to, multiple: true },
          { name: "tags", type: "string", multiple: true },
        ],
      },
    ],
  });
  const { records } = api.service;
  const texts = async (): Promise<string[]> =>
    (await verifyData(dataPathsOf(api.config), { isRepair: false }))
      .filter(({ subject }) => subject === "references")
      .map(({ text }) => text);
  const make = async (name: string, body: object) => (await records.create(name, system, { ...body })).record.id;
  const [one, two] = [await make("labels", {}), await make("labels", {})];
  await make("tasks", { first: one, all: [two, one], tags: ["no id"] });
  await make("tasks", { all: [two] });
  await make("tasks", {});
  expect(await texts()).toEqual(["every id points to something"]);
  await records.delete("labels", system, two);
  expect(await texts()).toEqual(["tasks.all: 2 records with an id that is not in labels"]);
  await records.delete("labels", system, one);
  expect(await texts()).toEqual([
    "tasks.first: 1 record with an id that is not in labels",
    "tasks.all: 2 records with an id that is not in labels",
  ]);
});
