/** Changes of definitions that carry the stored values along: a wider type, renamed values, renamed collections. */
import { describe, expect, test } from "bun:test";
import { openApi } from "../../../test/kit.ts";
import { project } from "../../../test/project.ts";

describe("an integer becomes a float", () => {
  const integer = { name: "n", type: "integer", unique: true, default: 5, min: -(2 ** 53) + 1 };
  const definition = (field: object) => ({
    name: "sums",
    fields: [{ name: "group", type: "string" }, field],
    indexes: [["group", "n"]],
  });

  test("every value stays, with the index, the default and the bounds", async () => {
    const { default: _, ...start } = integer;
    const p = await project(definition(start));
    const numbers = [2 ** 53 - 1, -(2 ** 53) + 1, 0, 7, null];
    for (const n of numbers) await p.add("sums", { group: "a", n });
    const before = await p.api.request("GET", "/api/sums?sort=n");
    const api = await p.restart(definition({ ...start, unique: true, type: "float", max: 2 ** 53 }));
    expect((await api.request("GET", "/api/sums?sort=n")).body).toEqual(before.body);
    expect((await api.request("POST", "/api/sums", { body: { n: 7 } })).status).toBe(400);
    expect((await api.request("POST", "/api/sums", { body: { n: 2 ** 54 } })).status).toBe(400);
    expect((await api.request("POST", "/api/sums", { body: { n: 0.5 } })).status).toBe(201);
    const found = await api.request("GET", `/api/sums?filter=${encodeURIComponent("n = 7")}`);
    expect(found.body["items"]).toHaveLength(1);
    const sum = await api.request("GET", `/api/sums?group=group&aggregate=${encodeURIComponent("max(n),sum(n)")}`);
    expect<unknown>(sum.body["items"]).toContainEqual({ group: "a", "max(n)": 2 ** 53 - 1, "sum(n)": 7 });
  });

  test("the plan names both types; a rename goes along", async () => {
    const { request, admin } = await openApi({ collections: [definition({ name: "n", type: "integer" })] });
    const token = await admin();
    await request("POST", "/api/sums", { body: { n: 3 } });
    const body = {
      fields: [
        { name: "group", type: "string" },
        { name: "x", type: "float", renamedFrom: "n" },
      ],
    };
    const planned = await request("PUT", "/api/admin/collections/sums?dryRun=true", { token, body });
    expect<unknown>(planned.body["steps"]).toEqual([
      { step: "rename", field: "x", from: "n", records: 1 },
      { step: "type", field: "x", from: "integer", to: "float", records: 1 },
    ]);
    expect((await request("PUT", "/api/admin/collections/sums", { token, body })).status).toBe(200);
    expect((await request("GET", "/api/sums")).body["items"]).toMatchObject([{ x: 3 }]);
  });

  test("a float becomes no integer, and a sequence no float", async () => {
    const { request, admin } = await openApi({
      collections: [
        { name: "floats", fields: [{ name: "n", type: "float" }] },
        { name: "numbers", fields: [{ name: "n", type: "integer", sequence: true }] },
      ],
    });
    const token = await admin();
    const to = async (name: string, field: object): Promise<unknown> =>
      (await request("PUT", `/api/admin/collections/${name}`, { token, body: { fields: [field] } })).body["error"];
    expect(await to("floats", { name: "n", type: "integer" })).toMatchObject({
      message: 'field "n": its type cannot change from float to integer; add a field with another name',
    });
    expect(await to("numbers", { name: "n", type: "float", sequence: true })).toMatchObject({
      message: 'field "n": "sequence" means nothing on type float; it is for integer',
    });
  });
});
