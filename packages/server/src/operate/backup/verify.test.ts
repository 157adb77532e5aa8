/** The references that `socle verify` looks at: single ids, ids in arrays, and owners. */
import { expect, test } from "bun:test";
import { openApi, type TestApi } from "../../../test/kit.ts";
import { dataPathsOf } from "../../app/index.ts";
import { system } from "../../base/kernel/index.ts";
import { verifyData } from "./verify.ts";

async function referencesIn({ config }: TestApi): Promise<string[]> {
  const findings = await verifyData(dataPathsOf(config), { isRepair: false });
  return findings.filter(({ subject }) => subject === "references").map(({ text }) => text);
}

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
  const texts = () => referencesIn(api);
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

test("names that a table or a column cannot have unchanged", async () => {
  const to = { type: "relation", collection: "sqlite_labels" };
  const api = await openApi({
    collections: [
      { name: "sqlite_labels", fields: [] },
      {
        name: "target",
        fields: [
          { name: "rowid", ...to },
          { name: "oid", ...to, multiple: true },
        ],
      },
    ],
  });
  const { records } = api.service;
  const texts = () => referencesIn(api);
  const label = (await records.create("sqlite_labels", system, {})).record.id;
  await records.create("target", system, { rowid: label, oid: [label] });
  expect(await texts()).toEqual(["every id points to something"]);
  await records.delete("sqlite_labels", system, label);
  expect(await texts()).toEqual([
    "target.rowid: 1 record with an id that is not in sqlite_labels",
    "target.oid: 1 record with an id that is not in sqlite_labels",
  ]);
});
