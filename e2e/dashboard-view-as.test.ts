/** The grid and a record as another caller sees them: by the rules of the caller, without writes, with a banner. */
import { afterAll, expect, test } from "bun:test";
import { complaintsOf, leave, looks, openDashboard, overflowOf, settled, violationsOf } from "./dashboard.ts";
import { post } from "./kit.ts";

const dashboard = await openDashboard({
  collections: [
    {
      name: "notes",
      fields: [
        { name: "text", type: "string" },
        { name: "secret", type: "string", permissions: { read: '@user.role = "admin"' } },
        { name: "owner", type: "relation", collection: "users", owner: true },
      ],
      permissions: { read: "owner", create: "authenticated" },
    },
  ],
});
afterAll(() => dashboard.server.stop());
const { api, server } = dashboard;
const ann = { email: "ann@example.com", password: "correct horse battery" };
await api("POST", "/api/admin/users", ann);
const { user, accessToken } = (await (await post(`${server.url}/api/auth/login`, ann)).json()) as {
  user: { id: string };
  accessToken: string;
};
const headers = { Authorization: `Bearer ${accessToken}` };
const own = (await (await post(`${server.url}/api/notes`, { text: "mine" }, headers)).json()) as { id: string };
await api("PUT", `/api/notes/${own.id}`, { text: "mine", secret: "sealed" });
await api("POST", "/api/notes", { text: "foreign", secret: "sealed" });

test("the grid shows the records of the user without hidden fields, and offers no change; the end shows all again", async () => {
  const page = await dashboard.open("/collections/notes");
  await page.getByText("foreign").first().waitFor();
  await page.getByRole("button", { name: "More actions" }).click();
  await page.getByRole("menuitem", { name: "View as …" }).click();
  await page.getByRole("combobox", { name: "Choose a user" }).fill("ann");
  await page.getByRole("option", { name: "ann@example.com" }).click();
  const banner = page.getByRole("region", { name: "View as another caller" });
  await banner.getByText("ann@example.com").waitFor();
  await banner.getByText("Hidden fields: secret.").waitFor();
  await page.getByText("mine").first().waitFor();
  expect(await page.getByText("foreign").count()).toBe(0);
  expect(await page.getByText("sealed").count()).toBe(0);
  expect(await page.getByRole("columnheader", { name: "secret" }).count()).toBe(0);
  expect(await page.getByRole("button", { name: "New record" }).count()).toBe(0);
  const written: string[] = [];
  page.on("request", (request) => {
    if (/POST|PATCH|PUT|DELETE/.test(request.method()) && !request.url().endsWith("/view-as"))
      written.push(request.url());
  });
  await page.locator('[data-cell="0:0"]').click();
  for (const key of ["Enter", "x", "Escape", "Delete", "n"]) await page.keyboard.press(key);
  await settled(page);
  expect(written).toEqual([]);
  await banner.getByRole("button", { name: "End the view" }).click();
  await page.getByText("foreign").first().waitFor();
  expect(await page.getByText("sealed").count()).toBeGreaterThan(0);
  const { items } = (await api("GET", "/api/admin/events?type=admin.user.viewed")) as { items: { payload: object }[] };
  expect(items[0]?.payload).toMatchObject({ target: user.id });
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
});

test("the panel of a record shows the record as a user, after a choice of the user", async () => {
  const page = await dashboard.open(`/collections/notes?record=${own.id}`);
  await page.getByRole("textbox", { name: "secret" }).waitFor();
  await page.getByRole("button", { name: "View as …" }).click();
  await page.getByRole("combobox", { name: "Choose a user" }).fill("ann");
  await page.getByRole("option", { name: "ann@example.com" }).click();
  await page.waitForURL(/as=usr_/);
  const panel = page.getByRole("dialog", { name: "Record of notes" });
  await panel.getByText("mine").waitFor();
  expect([await panel.getByText("sealed").count(), await panel.getByRole("textbox").count()]).toEqual([0, 0]);
  expect(await violationsOf(page)).toEqual([]);
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
});

test("a record is shown as the user sees the record; a refusal is shown, and the session of the admin goes on", async () => {
  for (const look of looks) {
    const page = await dashboard.open(`/collections/notes?as=${user.id}&record=${own.id}`, look);
    const panel = page.getByRole("dialog");
    await panel.getByText("mine").waitFor();
    await panel.getByText("Hidden fields: secret.").waitFor();
    expect(await panel.getByRole("textbox").count()).toBe(0);
    await settled(page);
    expect([await violationsOf(page), await overflowOf(page)]).toEqual([[], 0]);
    await page.keyboard.press("Escape");
    await panel.waitFor({ state: "detached" });
    await settled(page);
    expect([await violationsOf(page), await overflowOf(page)]).toEqual([[], 0]);
    expect(complaintsOf(page)).toEqual([]);
    await leave(page);
  }
  const page = await dashboard.open("/collections/notes?as=anonymous");
  await page.getByRole("region", { name: "View as another caller" }).waitFor();
  await page.getByRole("alert").first().waitFor();
  await page.getByRole("button", { name: "End the view" }).click();
  await page.getByText("foreign").first().waitFor();
  await leave(page);
});
