/** The collection that docs/rules.md prints for rules of fields, checked against the page. */
import { expect, test } from "bun:test";
import type { StoredRecord } from "@socle/protocol";
import { openApi } from "../../../../test/kit.ts";

const page = await Bun.file(new URL("../../../../../../docs/rules.md", import.meta.url)).text();
const [, json = ""] = /```json\n\/\/ collections\/webhooks.json\n([\s\S]*?)```/.exec(page) ?? [];
const api = await openApi({ collections: [JSON.parse(json)] });
const admin = await api.admin();
const [owner, other] = [await api.register("owner@example.com"), await api.register("other@example.com")];

test("the owner, another user and an admin see and write the fields that the rules allow", async () => {
  const body = { address: "https://example.com", secret: "s", note: "n", isShared: false };
  const made = await api.request<StoredRecord>("POST", "/api/webhooks", { token: owner.accessToken, body });
  expect(made.status).toBe(201);
  const path = `/api/webhooks/${made.body.id}`;
  const get = async (token: string) => (await api.request<StoredRecord>("GET", path, { token })).body;
  const put = async (token: string, change: object) => (await api.request("PUT", path, { token, body: change })).status;
  expect(Object.keys(await get(owner.accessToken))).toEqual(Object.keys(await get(admin)));
  expect(await get(other.accessToken)).not.toContainAnyKeys(["secret", "note"]);
  expect(await put(owner.accessToken, { failures: 3 })).toBe(403);
  expect(await put(admin, { failures: 3 })).toBe(200);
  expect(await put(owner.accessToken, { ...(await get(owner.accessToken)), isShared: true })).toBe(200);
  expect(await get(other.accessToken)).toMatchObject({ note: "n", failures: 3 });
  expect(await get(other.accessToken)).not.toContainKey("secret");
});

test("a field that is hidden in some records is open to `fields`, and not to `filter`", async () => {
  const status = async (search: string) =>
    (await api.request("GET", `/api/webhooks?${search}`, { token: other.accessToken })).status;
  expect([await status("fields=note"), await status("filter=note = 'n'"), await status("sort=secret")]).toEqual([
    200, 400, 400,
  ]);
});
