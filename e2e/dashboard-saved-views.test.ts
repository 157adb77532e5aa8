/** Saved views of a grid: saved, opened by address, changed, shared, deleted; a view that names a gone field says so. */
import { afterAll, expect, test } from "bun:test";
import { complaintsOf, leave, looks, openDashboard, overflowOf, settled, violationsOf } from "./dashboard.ts";

const fields = [
  { name: "title", type: "string" },
  { name: "state", type: "string" },
  { name: "note", type: "string" },
];
const dashboard = await openDashboard({ collections: [{ name: "tasks", fields }] });
afterAll(() => dashboard.server.stop());
const { api } = dashboard;
for (const [title, state] of [
  ["one", "open"],
  ["two", "done"],
])
  await api("POST", "/api/tasks", { title, state });
const views = "/api/admin/collections/tasks/saved-views";
const open = `/collections/tasks?filter=${encodeURIComponent('state = "open"')}&sort=title`;

test("a view keeps filter, sort and columns for all admins; its address opens the view; changes are saved on request", async () => {
  const page = await dashboard.open(open);
  await page.getByRole("button", { name: "Columns", exact: true }).click();
  await page.getByRole("checkbox", { name: "note" }).uncheck();
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Views" }).click();
  await page.getByRole("menuitem", { name: "Save as a view…" }).click();
  await page.getByRole("dialog").locator("input:focus").waitFor();
  await page.keyboard.type("Open tasks");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "View: Open tasks" }).waitFor();
  expect(await api("GET", views)).toMatchObject({
    items: [{ name: "Open tasks", filter: 'state = "open"', sort: "title", columns: { hidden: ["note"] } }],
  });
  await page.getByRole("button", { name: "View: Open tasks" }).click();
  await page.getByRole("menuitemradio", { name: "All records" }).click();
  await page.getByText("two").waitFor();
  await leave(page);

  const other = await dashboard.open("/collections/tasks?view=Open%20tasks");
  await other.waitForURL(/filter=/);
  await other.getByText("one").first().waitFor();
  await other.getByRole("columnheader", { name: "state" }).waitFor();
  expect(await other.getByRole("columnheader", { name: "note" }).count()).toBe(0);
  expect(await other.getByText("two").count()).toBe(0);
  const clear = other.getByRole("button", { name: "Clear the filter" });
  await clear.click();
  await other.getByText("two").waitFor();
  // The view that is chosen again is as saved.
  await other.getByRole("button", { name: "View: Open tasks (changed)" }).click();
  await other.getByRole("menuitemradio", { name: "Open tasks" }).click();
  await other.getByRole("button", { name: "View: Open tasks", exact: true }).waitFor();
  await other.getByText("two").waitFor({ state: "detached" });
  expect(await other.getByRole("menu").count()).toBe(0);
  await clear.click();
  await other.getByText("two").waitFor();
  await other.getByRole("button", { name: "View: Open tasks (changed)" }).click();
  await other.getByRole("menuitem", { name: "Save the changes of Open tasks" }).click();
  await other.getByRole("button", { name: "View: Open tasks", exact: true }).waitFor();
  const { items } = (await api("GET", views)) as { items: object[] };
  expect(items[0]).not.toHaveProperty("filter");
  expect(complaintsOf(other)).toEqual([]);
  await leave(other);
});

test("a view that names gone fields says so and shows its records; a view that is gone says so", async () => {
  await api("PUT", `${views}/Old`, {
    sort: "title",
    columns: { order: ["title", "note"], hidden: [], widths: { note: 90 } },
  });
  await api("PUT", "/api/admin/collections/tasks", { fields: fields.filter(({ name }) => name !== "note") });
  for (const look of looks) {
    const page = await dashboard.open("/collections/tasks?view=Old", look);
    await page.getByText("The view names a field that is gone: note.").waitFor();
    await page.getByText("two").first().waitFor();
    await settled(page);
    expect([await violationsOf(page), await overflowOf(page)]).toEqual([[], 0]);
    await page.getByRole("button", { name: /View: Old/ }).click();
    await page.getByRole("menuitem", { name: "Delete the view" }).waitFor();
    if (look === looks.at(-1)) {
      await page.getByRole("menuitem", { name: "Delete the view" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Delete the view" }).click();
      await page.getByRole("button", { name: "Views", exact: true }).waitFor();
    }
    expect(complaintsOf(page)).toEqual([]);
    await leave(page);
  }
  const page = await dashboard.open("/collections/tasks?view=Old");
  await page.getByText("There is no view “Old” any more.").waitFor();
  await page.getByText("one").first().waitFor();
  await leave(page);
});
