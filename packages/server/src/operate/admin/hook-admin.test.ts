/** Hooks for admins: in the list of functions, and in the metrics. */
import { expect, test } from "bun:test";
import { openScripts } from "../../../test/scripts.ts";

const posts = { name: "posts", fields: [{ name: "title", type: "string", max: 10 }] };

test("hooks are listed beside functions with their calls, and the metrics count the calls; a file that does not load refuses", async () => {
  const api = await openScripts({
    collections: [posts],
    settings: { SERVICE_SCRIPTS_HOOK_TIMEOUT: "2s" },
    files: {
      "functions/posts/b.ts": `
        export const options = { retries: 2, timeout: "1s" };
        export const onCreate = () => {};
        export const beforeCreate = ({ record }) => {
          if (record.title === "refuse") throw new Refusal("no");
          if (record.title === "throw") throw new Error("broken");
          if (record.title === "text") return "text";
          if (record.title === "long") return { title: "x".repeat(11) };
        };`,
      "functions/posts/a.ts": "export const beforeCreate = () => {};",
      "functions/posts/c.ts": "export const beforeDelete = () => { return missing( };",
      "functions/users/a.ts": "export const beforeLogin = () => {}; export const beforeRegister = () => {};",
    },
  });
  const token = await api.admin();
  const titles = ["one", "two", "refuse", "throw", "text", "long"];
  const statuses = await Promise.all(
    titles.map(async (title) => (await api.request("POST", "/api/posts", { body: { title } })).status),
  );
  expect(statuses).toEqual([201, 201, 400, 503, 503, 400]);
  const [made] = (await api.request<{ items: { id: string }[] }>("GET", "/api/posts")).body.items;
  expect((await api.request("DELETE", `/api/posts/${made?.id}`)).status).toBe(503);
  const { items } = (await api.request<{ items: object[] }>("GET", "/api/admin/functions", { token })).body;
  const hook = (filePath: string, type: string, eventType: string) => ({
    collection: filePath.split("/")[1],
    type,
    eventType,
    filePath,
    handler: type,
    timeout: 2_000,
    retries: 0,
  });
  const calls = (passed: number, refused: number, failed: number) => ({ calls: { passed, refused, failed } });
  expect(items).toEqual([
    { ...hook("functions/posts/a.ts", "beforeCreate", "posts.created"), ...calls(6, 0, 0) },
    {
      collection: "posts",
      type: "create",
      eventType: "posts.created",
      filePath: "functions/posts/b.ts",
      handler: "onCreate",
      timeout: 1_000,
      retries: 2,
    },
    { ...hook("functions/posts/b.ts", "beforeCreate", "posts.created"), ...calls(2, 1, 3) },
    { ...hook("functions/posts/c.ts", "beforeDelete", "posts.deleted"), ...calls(0, 0, 1) },
    { ...hook("functions/users/a.ts", "beforeRegister", "auth.register"), ...calls(0, 0, 0) },
    { ...hook("functions/users/a.ts", "beforeLogin", "auth.login"), ...calls(1, 0, 0) },
  ]);
  const metrics = new TextDecoder().decode((await api.request("GET", "/metrics", { token })).bytes);
  const ofB = 'file="functions/posts/b.ts",hook="beforeCreate"';
  for (const [end, count] of Object.entries({ passed: 2, refused: 1, failed: 3 }))
    expect(metrics).toContain(`socle_hook_calls_total{${ofB},end="${end}"} ${count}\n`);
  expect(metrics).toContain(`socle_hook_duration_seconds_count{${ofB}} 6\n`);
  expect(metrics).toContain('socle_hook_duration_seconds_count{file="functions/posts/c.ts",hook="beforeDelete"} 0\n');
  // A file that is gone is counted no more.
  await api.save({ "functions/posts/b.ts": "export const onUpdate = () => {};" });
  const later = new TextDecoder().decode((await api.request("GET", "/metrics", { token })).bytes);
  expect(later).not.toContain(ofB);
  expect(later).toContain('socle_hook_calls_total{file="functions/posts/a.ts",hook="beforeCreate",end="passed"} 6\n');
});
