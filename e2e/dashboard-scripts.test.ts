/** Functions, jobs, the log and the events in the dashboard, in a real browser. */
import { afterAll, expect, test } from "bun:test";
import { join } from "node:path";
import { complaintsOf, leave, openDashboard, settled, violationsOf } from "./dashboard.ts";
import { until } from "./kit.ts";

const failing = `export async function onCreate({ record, logger }: any) {
  if (record.title === "fails") throw new Error("No mail server answers");
  logger.info("Greeted " + record.title);
}
`;
const dashboard = await openDashboard({
  collections: [{ name: "posts", fields: [{ name: "title", type: "string" }] }],
  files: {
    "functions/posts/greet.ts": failing,
    "functions/posts/check.ts": `export const beforeCreate: BeforeCreate<"posts"> = ({ record }) => {
  if (record.title === "refused") throw new Refusal("No such title");
};
`,
    "jobs/cleanup.ts": `export const schedule = "0 3 * * *";
export default async function ({ logger }: any) {
  logger.info("Nothing to clean up");
}
`,
    "endpoints/orders/[id].ts":
      'export const access = "public";\nexport const GET = () => { throw new Error("No such order"); };\n',
    "jobs/mail.ts": `import { existsSync } from "node:fs";
export const queue = { concurrency: 2, retries: 0 };
export default async ({ payload, logger }) => {
  if (payload.to === "nobody" && !existsSync("./mended")) throw new Error("There is no such address");
  logger.info("Sent to " + payload.to);
};
`,
  },
});
afterAll(() => dashboard.server.stop());
const { api, server, folder } = dashboard;

test("a failed function is found with its line, retried after its correction, and then has no retry", async () => {
  await api("POST", "/api/posts", { title: "works" });
  await api("POST", "/api/posts", { title: "fails" });
  const page = await dashboard.open("/functions?tab=runs&status=failed");
  const row = page.getByRole("row").filter({ hasText: "No mail server answers" });
  await row.waitFor();
  expect(await page.getByRole("row").filter({ hasText: "greet.ts" }).count()).toBe(1);
  await row.getByRole("button").first().click();
  const drawer = page.getByRole("dialog", { name: "onCreate of posts/greet.ts" });
  await drawer.getByText("functions/posts/greet.ts:2").first().waitFor();
  await Bun.write(join(folder, "functions/posts/greet.ts"), failing.replace("throw new Error", "logger.warn"));
  server.signal("SIGHUP");
  while (!server.output().includes("Reloaded functions and jobs")) await Bun.sleep(10);
  await drawer.getByRole("button", { name: "Retry" }).click();
  await drawer.getByText("Completed").first().waitFor();
  expect(await drawer.getByRole("button", { name: "Retry" }).count()).toBe(0);
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
});

test("a file that does not load is shown with its line, and with the note that the last version runs; after the correction, the note is gone", async () => {
  const path = join(folder, "functions/posts/greet.ts");
  const good = await Bun.file(path).text();
  const page = await dashboard.open("/functions");
  await page.getByRole("row").filter({ hasText: "functions/posts/greet.ts" }).waitFor();
  await Bun.write(path, "export const onCreate = () => {\n  const = 1;\n};\n");
  await Bun.write(join(folder, "functions/posts/never.ts"), "export const onCreate = ;\n");
  server.signal("SIGHUP");
  const alert = page.getByRole("alert").filter({ hasText: "2 files do not load" });
  await alert.waitFor();
  await alert.getByText("functions/posts/greet.ts:2:").first().waitFor();
  await alert.getByText("The last version that did load keeps running").waitFor();
  await alert.getByText("no version of the file has ever loaded").waitFor();
  expect(await page.getByRole("row").filter({ hasText: "does not load" }).count()).toBe(2);
  await page.getByRole("navigation").getByText("2 failures to look at").waitFor({ state: "attached" });
  expect(await violationsOf(page)).toEqual([]);
  await Bun.write(path, good);
  await Bun.file(join(folder, "functions/posts/never.ts")).delete();
  server.signal("SIGHUP");
  await alert.waitFor({ state: "detached" });
  await page.getByRole("row").filter({ hasText: "does not load" }).first().waitFor({ state: "detached" });
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
});

test("an endpoint is among the functions, with its path and its failures", async () => {
  expect((await fetch(`${server.url}/api/function/orders/7`)).status).toBe(500);
  const page = await dashboard.open("/functions");
  const row = page.getByRole("row").filter({ hasText: "endpoints/orders/[id].ts" });
  await row.getByText("/api/function/orders/[id] · public").waitFor();
  await row.getByRole("link", { name: /Last failure/ }).press("Enter");
  const drawer = page.getByRole("dialog");
  await drawer.getByText("No such order").first().waitFor();
  expect(await drawer.getByRole("button", { name: "Retry" }).count()).toBe(0);
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
});

test("a hook is among the functions, with its calls", async () => {
  await fetch(`${server.url}/api/posts`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ title: "refused" }),
  });
  const page = await dashboard.open("/functions");
  const row = page.getByRole("row").filter({ hasText: "functions/posts/check.ts" });
  await row.getByText("beforeCreate", { exact: true }).waitFor();
  await row.getByText(/passed, 1 refused, 0 failed/).waitFor();
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
});

test("a queue: a run is enqueued, fails for good with its payload, is retried, and then waits no more", async () => {
  const page = await dashboard.open("/jobs");
  const row = page.getByRole("row").filter({ hasText: "mail" });
  await row.getByText("Empty").waitFor();
  await row.getByRole("button", { name: "Enqueue a run: mail" }).click();
  const dialog = page.getByRole("dialog", { name: "Enqueue a run: mail" });
  await dialog.getByRole("textbox", { name: "Payload" }).fill('{ "to": "nobody" ');
  await dialog.getByRole("button", { name: "Enqueue", exact: true }).click();
  await dialog.getByRole("alert").first().waitFor();
  await dialog.getByRole("textbox", { name: "Payload" }).fill('{ "to": "nobody" }');
  expect(await violationsOf(page)).toEqual([]);
  await dialog.getByRole("button", { name: "Enqueue", exact: true }).click();
  const drawer = page.getByRole("dialog", { name: "mail", exact: true });
  const failed = drawer.getByRole("table", { name: "Failed for good" });
  await failed.getByText("There is no such address").waitFor();
  await drawer.getByText('"to": "nobody"').waitFor();
  await row.getByText("1 failed").waitFor();
  expect(await violationsOf(page)).toEqual([]);
  await Bun.write(join(folder, "mended"), "");
  await failed.getByRole("button", { name: /^Retry run_/ }).click();
  await failed.waitFor({ state: "detached" });
  await drawer.getByText("Sent to nobody").waitFor();
  await row.getByText("1 failed").waitFor({ state: "detached" });
  await api("POST", "/api/admin/jobs/mail/enqueue", { payload: { to: "later" }, at: "2100-01-01T00:00:00Z" });
  await page.reload();
  const waiting = drawer.getByRole("table", { name: "Next runs" });
  await waiting.getByRole("button", { name: /^Delete run_/ }).click();
  await page.getByRole("dialog", { name: "Delete the run?" }).getByRole("button", { name: "Delete the run" }).click();
  await waiting.waitFor({ state: "detached" });
  await row.getByText("Empty").waitFor();
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
});

test("events of a user: by email, with the change of the role in a line; an unknown type is refused", async () => {
  const { id } = (await api("POST", "/api/admin/users", { email: "bob@example.com", password: "a long password" })) as {
    id: string;
  };
  await api("PATCH", `/api/admin/users/${id}`, { role: "admin" });
  await api("PATCH", `/api/admin/users/${id}`, { role: "authenticated" });
  const page = await dashboard.open(`/users?user=${id}`);
  await page.getByRole("link", { name: "Events about this user" }).click();
  await page.getByText("bob@example.com · role: admin → authenticated").waitFor();
  const rows = page.getByRole("listitem");
  expect(await rows.count()).toBe(4);
  expect(await rows.filter({ hasText: "posts.created" }).count()).toBe(0);
  const types = page.getByLabel("Types of events").first();
  await types.fill("role");
  await page.keyboard.press("Enter");
  await page.getByText('No type is called "role".').waitFor();
  expect(await rows.count()).toBe(4);
  expect(new URL(page.url()).searchParams.get("type")).toBeNull();
  await leave(page);
});

test("a job is run now: its run appears by itself, with its log", async () => {
  const page = await dashboard.open("/jobs");
  await page.getByText("At 03:00").first().waitFor();
  await page
    .getByRole("button", { name: /Run .*now|Run now/ })
    .first()
    .click();
  const drawer = page.getByRole("dialog", { name: "cleanup" });
  await drawer.getByText("Completed").first().waitFor();
  await drawer.getByText("Nothing to clean up").first().waitFor();
  const { items } = (await api("GET", "/api/admin/jobs/cleanup/runs")) as { items: { status: string }[] };
  expect(items.map(({ status }) => status)).toEqual(["completed"]);
  await leave(page);
});

test("an open log grows; a pause stops the growth; filters leave out lines that do not match", async () => {
  const page = await dashboard.open("/logs");
  await page.getByText("Live", { exact: true }).waitFor();
  await api("POST", "/api/posts", { title: "the first" });
  await page.getByText("Greeted the first").waitFor();
  await page.getByRole("button", { name: "Pause" }).click();
  await api("POST", "/api/posts", { title: "the second" });
  await page.getByRole("button", { name: /^Resume, \d+ new/ }).waitFor();
  expect(await page.getByText("Greeted the second").count()).toBe(0);
  await page.getByRole("button", { name: /^Resume/ }).click();
  await page.getByText("Greeted the second").waitFor();
  await page.getByRole("searchbox", { name: "Search the log" }).fill("the second");
  await page.getByText("Greeted the first").waitFor({ state: "detached" });
  expect(new URL(page.url()).searchParams.get("search")).toBe("the second");
  await page.getByText("Greeted the second").waitFor();
  await leave(page);
});

test("events appear in order, once each, with the change of a record and of an admin as a difference", async () => {
  const { id } = (await api("POST", "/api/posts", { title: "before" })) as { id: string };
  const page = await dashboard.open("/events?type=posts.updated,admin.collection.updated");
  await page.getByText("Live", { exact: true }).waitFor();
  await api("PUT", `/api/posts/${id}`, { title: "after" });
  const row = page.getByRole("button").filter({ hasText: "posts.updated" });
  await row.waitFor();
  // The stream leaves out events outside the filter, and brings no event twice.
  await api("POST", "/api/posts", { title: "another" });
  await api("PUT", "/api/admin/collections/posts", { permissions: { read: "admin" } });
  const ofAdmin = page.getByRole("button").filter({ hasText: "admin.collection.updated" });
  await ofAdmin.waitFor();
  expect([await row.count(), await page.getByRole("listitem").filter({ hasText: "posts.created" }).count()]).toEqual([
    1, 0,
  ]);
  // New events are marked in the list, and announced to screen readers.
  expect(await ofAdmin.getAttribute("data-is-new")).toBe("true");
  await page
    .getByRole("status")
    .filter({ hasText: "2 new events at the top of the list" })
    .waitFor({ state: "attached" });
  await page.locator("[data-is-new]").first().waitFor({ state: "detached" });
  await row.click();
  const drawer = page.getByRole("dialog", { name: /^(posts|admin\.collection)\.updated$/ });
  await drawer.locator("del", { hasText: "before" }).waitFor();
  await drawer.locator("ins", { hasText: "after" }).waitFor();
  expect(await drawer.getByRole("link", { name: "Open the record" }).getAttribute("href")).toContain(id);
  await page.keyboard.press("Escape");
  await drawer.waitFor({ state: "detached" });
  await ofAdmin.click();
  await drawer.getByText("permissions").first().waitFor();
  await drawer.locator("ins", { hasText: "admin" }).waitFor();
  await leave(page);
});

test("settings name the origin of a value, and no secret", async () => {
  const page = await dashboard.open("/settings?search=admin.");
  await settled(page);
  await page.getByText("SERVICE_ADMIN_EMAIL").or(page.getByText("environment")).first().waitFor();
  await page.getByText("admin.password").first().waitFor();
  expect(await page.locator("body").innerText()).not.toContain("correct horse battery");
  await leave(page);
});

test("a live setting is changed in the settings: a refused value stands at the field, and the default comes back", async () => {
  const page = await dashboard.open("/settings?search=mail.keep");
  await settled(page);
  await page.getByRole("button", { name: "Change mail.keep" }).click();
  const field = page.getByRole("textbox", { name: "Value of mail.keep" });
  expect(await field.inputValue()).toBe("30d");
  await field.fill("soon");
  await page.keyboard.press("Enter");
  await page.getByText('"soon" is not valid for "mail.keep"').waitFor();
  expect(await violationsOf(page)).toEqual([]);
  await field.fill("7d");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("changed here", { exact: true }).waitFor();
  const entry = async () =>
    ((await api("GET", "/api/admin/config")) as { keys: { key: string; value: unknown; source: string }[] }).keys.find(
      ({ key }) => key === "mail.keep",
    );
  expect(await entry()).toMatchObject({ value: 604_800_000, source: "settings" });
  await page.getByRole("button", { name: "Use the default of mail.keep" }).click();
  await page.getByText("changed here", { exact: true }).waitFor({ state: "detached" });
  expect(await entry()).toMatchObject({ value: 2_592_000_000, source: "default" });
  // A key that is no live setting has no button.
  await page.goto(`${server.url}/_/settings?search=limits.body`);
  await settled(page);
  expect(await page.getByRole("button", { name: /^Change / }).count()).toBe(0);
  await leave(page);
});

test("the code is loaded again from the settings", async () => {
  const page = await dashboard.open("/settings");
  await settled(page);
  const before = server.output().split(" Reloaded ").length;
  await page.getByRole("button", { name: "Reload code" }).click();
  await page.getByText("The service loads the code again. The log tells the outcome.").waitFor();
  await until(() => server.output().split(" Reloaded ").length > before);
  await leave(page);
});

test("the level of the log is changed in the settings, at once and until the next start, and the audit has the change", async () => {
  const page = await dashboard.open("/settings?search=log.level");
  await settled(page);
  const level = page.getByRole("combobox", { name: "In force" });
  const [now, before] = [await level.inputValue(), await api("GET", "/api/admin/logs/level")];
  expect(before).toEqual({ level: "INFO", configured: "INFO" });
  expect(now).toBe("Info");
  await level.click();
  await page.getByRole("option", { name: "Warning" }).click();
  await page.getByText("Until the next start, which takes the configured level again.").waitFor();
  expect(await api("GET", "/api/admin/logs/level")).toEqual({ level: "WARN", configured: "INFO" });
  expect(await api("GET", "/api/admin/events?type=admin.log.level")).toMatchObject({
    items: [{ payload: { before: { level: "INFO" }, after: { level: "WARN" } } }],
  });
  // The value of the configuration stays beside the control, and no other key has a control.
  expect(await page.getByRole("combobox").count()).toBe(1);
  expect(await violationsOf(page)).toEqual([]);
  await page.reload();
  await settled(page);
  expect(await level.inputValue()).toBe("Warning");
  await page.goto(`${server.url}/_/settings?search=log.`);
  await settled(page);
  expect(await page.getByRole("combobox").count()).toBe(1);
  await api("PUT", "/api/admin/logs/level", { level: "INFO" });
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
});
