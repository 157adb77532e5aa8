import { expect, test } from "bun:test";
import { openApi } from "../../test/kit.ts";
import { Plans } from "./plans.ts";

const fields = ["a", "b", "c"].map((name) => ({ name, type: "integer" }));
const { service } = await openApi({ collections: [{ name: "t", fields, indexes: [["a"], ["a", "b"], ["c"]] }] });
const collection = service.records.collection("t");

test.each([
  ["", "_seq DESC", 0, true],
  ["WHERE _seq < 5", "_seq DESC", 1, true],
  ["WHERE a = 1", "_seq DESC", 1, true],
  ["WHERE a = 1 AND _seq < 5", "_seq DESC", 2, true],
  ["WHERE a = 1 AND b = 2", "_seq DESC", 2, true],
  ["WHERE a = 1 AND b > 2", "b, _seq", 2, true],
  ["", "c DESC, _seq DESC", 0, true],
  ["WHERE c > 1 AND c < 9", "c, _seq", 2, true],
  // What an index does not answer: another field, a search besides, an order that has to be made.
  ["WHERE b = 1", "_seq DESC", 1, false],
  ["WHERE a = 1 AND c = 2", "_seq DESC", 2, false],
  ["WHERE a = 1 AND a = 2", "_seq DESC", 2, false],
  ["WHERE a = 1", "c, _seq", 1, false],
  ["WHERE c > 1", "_seq DESC", 1, false],
  ["", "b, _seq", 0, false],
  ["", "a, c, _seq", 0, false],
])("%s ORDER BY %s", async (where, order, constraints, expected) => {
  const { reader } = service.database;
  const sql = `SELECT id FROM t ${where.replace(/\d/g, "?")} ORDER BY ${order} LIMIT 5`;
  const values = (where.match(/\d/g) ?? []).map(Number);
  const plans = new Plans();
  expect(plans.known(collection, sql)).toBeUndefined();
  const plan = await plans.learn(reader, collection, { sql, values });
  expect(plan.answered === constraints).toBe(expected);
  if (expected) expect(plan.isSorting).toBe(false);
  expect(plans.known(collection, sql)).toEqual(plan);
});
