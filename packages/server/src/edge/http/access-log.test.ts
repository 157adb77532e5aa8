/** The access log: off without the key, and without the secret parts of an address. */
import { expect, test } from "bun:test";
import { openApi } from "../../../test/kit.ts";

const entriesOf = async (percent: string | null) => {
  const api = await openApi({
    collections: [{ name: "posts", fields: [] }],
    settings: percent === null ? {} : { SERVICE_LOG_ACCESS: percent },
  });
  await api.request("GET", "/api/posts?token=secret");
  await api.request("GET", "/api/nothing");
  await api.request("POST", "/api/posts", { body: {} });
  return api.parts.admin.log.entries().filter(({ source }) => source === "access");
};

test("no request is logged by default", async () => {
  expect(await entriesOf(null)).toEqual([]);
});

test("each request is an entry, without the query of its address", async () => {
  const entries = await entriesOf("100");
  expect(
    entries.map(({ message, fields }) => [message, fields?.["method"], fields?.["path"], fields?.["status"]]),
  ).toEqual([
    ["Request", "GET", "/api/posts", 200],
    ["Request", "GET", "/api/nothing", 404],
    ["Request", "POST", "/api/posts", 201],
  ]);
  for (const { fields } of entries) {
    expect(fields).toMatchObject({ requestId: expect.any(String), ms: expect.any(Number), address: "test" });
    expect(JSON.stringify(fields)).not.toContain("secret");
  }
});
