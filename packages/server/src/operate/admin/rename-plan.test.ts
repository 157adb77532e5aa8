/** The plan of a rename: records, rules and relations of other collections, and files of code that name the old name. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { openApi, temporaryFolder } from "../../../test/kit.ts";

const text = (name: string, more: object = {}) => ({ name, type: "string", ...more });
const tasks = {
  name: "tasks",
  fields: [
    text("title"),
    text("state", { values: ["new", "wip"] }),
    text("tags", { multiple: true, values: ["a", "b"] }),
  ],
  permissions: { read: 'state != "wip" || title != ""', create: "public" },
};
const notes = {
  name: "notes",
  fields: [text("text"), { name: "task", type: "relation", collection: "tasks" }],
  permissions: { read: 'task.title != "" && task.state != "wip"', create: "public" },
};
const others = { name: "others", fields: [text("title")], permissions: { read: 'title != ""', create: "public" } };

const folder = temporaryFolder();
await Bun.write(
  join(folder, "functions/tasks/on-create.ts"),
  "// subtitle and titles are other words\nexport const onCreate = ({ record }) => record.title;\n",
);
await Bun.write(join(folder, "lib/shared.ts"), 'export const open = ["wip"];\nexport const none = 1;\n');
const { request, admin } = await openApi({ folder, collections: [tasks, notes, others] });
const token = await admin();
for (const body of [{ state: "wip" }, { state: "wip", tags: ["a", "b"] }, { state: "new" }])
  await request("POST", "/api/tasks", { token, body });

async function planOf(change: object) {
  const { status, body } = await request("PUT", "/api/admin/collections/tasks?dryRun=true", { token, body: change });
  expect(status).toBe(200);
  return body;
}

test("a field: the rules of other collections with old and new text, and the lines of code with the name as a word", async () => {
  const [, ...rest] = tasks.fields;
  const plan = await planOf({
    fields: [text("headline", { renamedFrom: "title" }), ...rest],
    permissions: { ...tasks.permissions, read: 'state != "wip" || headline != ""' },
  });
  expect<unknown>(plan["steps"]).toContainEqual({ step: "rename", field: "headline", from: "title", records: 3 });
  const rules = [{ operation: "read", from: notes.permissions.read, to: 'task.headline != "" && task.state != "wip"' }];
  expect<unknown>(plan["following"]).toEqual([
    { collection: "notes", steps: [{ step: "permissions", rules: expect.arrayContaining(rules), records: 0 }] },
  ]);
  expect<unknown>(plan["code"]).toEqual([{ path: "functions/tasks/on-create.ts", names: ["title"], lines: [2] }]);
});

test("values: the records that have the value, also among items; the collection: relations that follow", async () => {
  const [title] = tasks.fields;
  const plan = await planOf({
    fields: [
      title,
      text("state", { values: ["new", { name: "doing", renamedFrom: "wip" }] }),
      text("tags", { multiple: true, values: ["a", { name: "c", renamedFrom: "b" }] }),
    ],
  });
  const renamed = (plan["steps"] as unknown as { renamed?: object[] }[]).flatMap((step) => step.renamed ?? []);
  expect(renamed).toEqual([
    { from: "wip", to: "doing", records: 2 },
    { from: "b", to: "c", records: 1 },
  ]);
  expect<unknown>(plan["code"]).toEqual([{ path: "lib/shared.ts", names: ["wip"], lines: [1] }]);
  const moved = await planOf({ name: "jobs", renamedFrom: "tasks" });
  expect<unknown>(moved["following"]).toMatchObject([
    { collection: "notes", steps: [{ step: "follow", field: "task", from: "tasks", to: "jobs" }] },
  ]);
});

test("a change without a rename names no file and no other collection", async () => {
  const plan = await planOf({ fields: [...tasks.fields, text("more")] });
  expect(Object.keys(plan)).toEqual(["collection", "action", "steps", "records"]);
});
