/** The inbox of failures in the dashboard: a row for each cause, one number in the navigation, retry, resolve and mute; and the retry of a whole queue. */
import { afterAll, expect, test } from "bun:test";
import { join } from "node:path";
import type { FailurePage } from "@socle/protocol";
import { complaintsOf, leave, looks, openDashboard, violationsOf } from "./dashboard.ts";

const letters = `import { existsSync } from "node:fs";
export const queue = { retries: 0 };
export default ({ payload }) => {
  if (!existsSync("./mended")) throw new Error("No letter for " + payload);
};
`;
const dashboard = await openDashboard({
  collections: [{ name: "orders", fields: [{ name: "title", type: "string" }] }],
  files: {
    "functions/orders/receipt.ts":
      'export const onCreate = ({ record }) => {\n  throw new Error("No receipt for " + JSON.stringify(record.title));\n};\n',
    "endpoints/pay.ts":
      'export const access = "public";\nexport const GET = () => {\n  throw new Error("The bank is away");\n};\n',
    "jobs/letters.ts": letters,
  },
});
afterAll(() => dashboard.server.stop());
const { api, folder, server } = dashboard;
const failures = async (query = ""): Promise<FailurePage> =>
  (await api("GET", `/api/admin/failures${query}`)) as FailurePage;

test("causes are rows with their counts, the number in the navigation follows, and a row is resolved and muted", async () => {
  for (const title of ["one", "two", "three"]) await api("POST", "/api/orders", { title });
  for (let n = 0; n < 2; n++) await fetch(`${server.url}/api/function/pay`);
  for (let n = 0; n < 60; n++) await api("POST", "/api/admin/jobs/letters/enqueue", { payload: `${n}` });
  while ((await failures()).items.reduce((sum, { count }) => sum + count, 0) < 65) await Bun.sleep(20);
  for (const look of looks) {
    const page = await dashboard.open("/failures", look);
    const row = page.getByRole("row").filter({ hasText: "No receipt for …" });
    await row.getByText("3", { exact: true }).waitFor();
    await page.getByRole("row").filter({ hasText: "The bank is away" }).waitFor();
    expect(await violationsOf(page)).toEqual([]);
    expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
    await row.getByRole("button", { name: "No receipt for …", exact: true }).click();
    const drawer = page.getByRole("dialog", { name: "Failures" });
    await drawer.getByText("functions/orders/receipt.ts:2").first().waitFor();
    await drawer.getByRole("link", { name: /^run_/ }).nth(2).waitFor();
    expect(await violationsOf(page)).toEqual([]);
    expect(complaintsOf(page)).toEqual([]);
    await leave(page);
  }
  const page = await dashboard.open("/failures");
  const number = page.getByRole("navigation");
  await number.getByText("3 open failures").waitFor({ state: "attached" });
  await page.getByRole("button", { name: "Resolve: The bank is away" }).click();
  await number.getByText("2 open failures").waitFor({ state: "attached" });
  await page.getByRole("button", { name: "Mute: No receipt for …" }).click();
  await number.getByText("1 open failure", { exact: true }).waitFor({ state: "attached" });
  // An endpoint has no retry, and a muted cause is not open.
  expect(await page.getByRole("row").filter({ hasText: "No receipt" }).count()).toBe(0);
  await fetch(`${server.url}/api/function/pay`);
  const row = page.getByRole("row").filter({ hasText: "Seen again" });
  await row.getByText("The bank is away").waitFor();
  expect(await row.getByRole("button", { name: /^Retry/ }).count()).toBe(0);
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
});

test("a retry of a whole queue covers all pages, and goes on when the page is closed", async () => {
  await Bun.write(join(folder, "mended"), "");
  const page = await dashboard.open("/jobs?job=letters");
  await page.getByRole("button", { name: "Retry 60 failed runs" }).click();
  const dialog = page.getByRole("dialog", { name: "Retry 60 failed runs?" });
  await dialog.getByRole("button", { name: "Retry 60 failed runs" }).click();
  await page.getByText("60 runs wait again").waitFor();
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
  for (;;) {
    const { items } = await failures("?kind=queue");
    if (items[0]?.retry?.status === "completed") break;
    await Bun.sleep(20);
  }
  const { items } = await failures("?kind=queue");
  expect(items[0]?.retry).toMatchObject({ total: 60, done: 60, failed: 0 });

  const after = await dashboard.open(`/failures?group=${items[0]?.id}`);
  await after.getByRole("dialog").getByText("60 of 60 runs over").waitFor();
  await leave(after);
});
