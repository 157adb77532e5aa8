/** The slow queries of the dashboard: groups of the log with times, the proposed index that is added after a review, and the plan before and after. */
import { afterAll, expect, test } from "bun:test";
import type { CollectionEntry } from "@socle/protocol";
import { complaintsOf, leave, looks, openDashboard, overflowOf, violationsOf } from "./dashboard.ts";

const dashboard = await openDashboard({
  collections: [
    {
      name: "posts",
      fields: [
        { name: "status", type: "string" },
        { name: "views", type: "integer" },
      ],
      permissions: { read: "public" },
    },
  ],
  config: { log: { slowQuery: 0 } },
});
afterAll(() => dashboard.server.stop());
const { api } = dashboard;
for (let views = 0; views < 20; views++)
  await api("POST", "/api/posts", { status: views % 2 ? "open" : "done", views });
for (const status of ["open", "done", "held"])
  await api("GET", `/api/posts?filter=${encodeURIComponent(`status = "${status}"`)}&sort=-views`);

test("queries of one form are a row; the proposed index is added after the review, and the plan uses the index", async () => {
  for (const look of looks) {
    const page = await dashboard.open("/queries", look);
    await page.getByText("status = …").first().waitFor();
    expect(await violationsOf(page)).toEqual([]);
    expect(await overflowOf(page)).toBe(0);
    await leave(page);
  }
  const page = await dashboard.open("/queries");
  const row = page.getByRole("row").filter({ hasText: "status = … · sorted by -views" });
  await row.getByText("3", { exact: true }).waitFor();
  await row.getByText("status, views").waitFor();
  await row.locator("[data-opener]").focus();
  await page.keyboard.press("Enter");
  const drawer = page.getByRole("dialog", { name: "Slow queries" });
  const now = drawer.getByRole("region", { name: "Now", exact: true });
  await now.getByText("SCAN posts").waitFor();
  expect(await violationsOf(page)).toEqual([]);
  await drawer.getByRole("button", { name: "Add the index status, views to posts" }).click();
  const review = page.getByRole("dialog", { name: "Review changes to posts" });
  // Nothing has changed before the review is confirmed.
  expect(((await api("GET", "/api/admin/collections/posts")) as CollectionEntry).indexes).toEqual([]);
  await review.getByRole("button", { name: /^Apply/ }).click();
  await drawer
    .getByRole("region", { name: "Plan after" })
    .getByText(/SEARCH posts USING INDEX/)
    .waitFor();
  await drawer.getByRole("region", { name: "Plan before" }).getByText("SCAN posts").waitFor();
  expect(((await api("GET", "/api/admin/collections/posts")) as CollectionEntry).indexes).toEqual([
    ["status", "views"],
  ]);
  expect(await drawer.getByRole("button", { name: /^Add the index/ }).count()).toBe(0);
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
});

test("the page of the events has the audit", async () => {
  await api("POST", "/api/admin/sql", { sql: "SELECT 'for the audit' AS a" });
  const page = await dashboard.open("/events");
  await page.getByRole("link", { name: "Audit" }).click();
  await page.getByText("admin.sql.run").first().waitFor();
  await page.getByRole("list").getByText("posts.created").first().waitFor({ state: "detached" });
  await leave(page);
});
