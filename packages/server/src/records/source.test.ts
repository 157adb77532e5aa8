/** Tests of sources: the weight of a row, which is asked for before large rows are read. */
import { expect, test } from "bun:test";
import { openApi } from "../../test/kit.ts";
import { modelOf } from "./model.ts";
import { recordSource } from "./source.ts";

const fields = [
  { name: "text", type: "text" },
  { name: "n", type: "integer" },
  { name: "x", type: "float" },
  { name: "is", type: "boolean" },
  { name: "more", type: "json" },
];
const api = await openApi({ collections: [{ name: "t", fields }] });
const source = recordSource(modelOf(api.service.records.collection("t")), "all");

test("a row weighs what its texts take; numbers, which stand behind them in the row, are not read for it", async () => {
  await api.request("POST", "/api/t", { body: { text: "é".repeat(1_000), n: 123_456, x: 0.5, is: true, more: null } });
  const weight = source.weight(["text", "n", "x", "is", "more"]);
  const row = await api.service.database.reader.get<{ bytes: number }>(`SELECT ${weight} AS bytes FROM t`);
  expect(row?.bytes).toBe(2_000 + 4 * 4);
  for (const { name, type } of fields) expect(weight.includes(`"${name}"`)).toBe(type === "text" || type === "json");
});
