/** Error messages quote the caller's input, shortened, from any part of the request. */
import { expect, test } from "bun:test";
import { openApi } from "../../../test/kit.ts";

const fields = Array.from({ length: 400 }, (_, i) => ({ name: `${"long_".repeat(11)}${i}`, type: "string" }));
const { request, admin } = await openApi({
  collections: [
    { name: "posts", fields: [{ name: "title", type: "string" }] },
    { name: "wide", fields },
  ],
});
const token = await admin();
const long = "x".repeat(12_000);
const list = Array.from({ length: 20_000 }, (_, i) => i);

const requests: readonly (readonly [method: string, path: string, body?: unknown])[] = [
  ["GET", `/api/${long}`],
  ["GET", `/api/posts/${long}`],
  ["PUT", `/api/posts/${long}`, {}],
  ["DELETE", `/api/posts/${long}`],
  ["GET", `/api/storage/${long}`],
  ["DELETE", `/api/storage/${long}`],
  ["GET", `/api/admin/jobs/${long}/runs`],
  ["GET", `/api/admin/users/${long}`],
  ["GET", `/api/admin/collections/${long}`],
  ["GET", `/api/admin/events?type=!${long}`],
  ["GET", `/api/admin/logs?level=${long}`],
  ["GET", `/api/posts?filter=${long}`],
  ["GET", `/api/posts?filter=title = "${long}`],
  ["GET", `/api/posts?filter=title ${long} 1`],
  ["GET", `/api/posts?sort=${long}`],
  ["GET", `/api/posts?fields=${long}`],
  ["GET", `/api/posts?expand=${long}(a)`],
  ["GET", `/api/posts?limit=${long}`],
  ["GET", `/api/posts?cursor=${long}`],
  ["POST", "/api/posts", long],
  ["POST", "/api/posts", `{"a":${long}}`],
  ["POST", "/api/posts", { [long]: 1 }],
  ["POST", "/api/posts", { title: list }],
  ["POST", "/api/auth/login", { email: list, password: 1 }],
  ["POST", "/api/auth/register", { email: long, password: long }],
  ["POST", "/api/admin/collections", { name: long, fields: [] }],
  ["POST", "/api/admin/collections", { name: "a", fields: [{ name: long, type: list, [long]: 1 }] }],
  ["PATCH", "/api/admin/users/x", { [long]: 1 }],
];

const shown = requests.map(
  ([method, path, body], i) => [`${i}: ${method} ${path.slice(0, 40)}`, { method, path, body }] as const,
);
test.each(shown)("%s", async (_, { method, path, body }) => {
  const answer = await request(method, path, { token, ...(body !== undefined && { body }) });
  expect(answer.status).toBeGreaterThanOrEqual(400);
  expect(answer.status).toBeLessThan(500);
  expect(answer.bytes.byteLength).toBeLessThan(1_000);
});

test("probable names are suggested for the first few unknown keys", async () => {
  const body = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`${"long_".repeat(11)}y${i}`, 1]));
  const { body: answer } = await request<{ error: { details: { message: string }[] } }>("POST", "/api/wide", { body });
  expect(answer.error.details).toHaveLength(50);
  expect(answer.error.details.filter(({ message }) => message.includes("did you mean"))).toHaveLength(5);
});
