/**
 * Large records in the dashboard: a field of megabytes stays editable, and a form of many fields shows the first screen at once.
 */
import { afterAll, expect, test } from "bun:test";
import { complaintsOf, leave, openDashboard, violationsOf } from "./dashboard.ts";

const many = Array.from({ length: 200 }, (_, i) => ({ name: `field_${i}`, type: i % 10 === 3 ? "json" : "string" }));
const dashboard = await openDashboard({
  collections: [
    { name: "documents", fields: [{ name: "data", type: "json" }] },
    { name: "wide", fields: many },
  ],
  config: { limits: { body: "16MiB" } },
});
afterAll(() => dashboard.server.stop());
const { api } = dashboard;

test("a JSON field of 5 MB is shown by its beginning; an editor without colours takes keys, and a save includes the last key", async () => {
  const data = Array.from({ length: 60_000 }, (_, id) => ({
    id,
    name: `Item number ${id}`,
    tags: ["one", "two", "three"],
  }));
  expect(JSON.stringify(data).length).toBeGreaterThan(3_500_000);
  const { id } = (await api("POST", "/api/documents", { data })) as { id: string };
  const page = await dashboard.open(`/collections/documents?record=${id}`);
  const field = page.locator('[data-field="data"]');
  await field.getByRole("button", { name: "Edit anyway" }).waitFor();
  expect(await field.getByRole("textbox").count()).toBe(0);
  await field.getByText('"Item number 0"').waitFor();
  expect(await violationsOf(page)).toEqual([]);
  await field.getByRole("button", { name: "Edit anyway" }).click();
  const editor = field.getByRole("textbox", { name: "data" });
  await editor.and(page.locator(":focus")).waitFor();
  await page.keyboard.press("Control+Home");
  await page.keyboard.type("x");
  await field.getByText("This is not valid JSON yet.").first().waitFor();
  await page.keyboard.press("Backspace");
  await page.keyboard.press("Control+End");
  for (let i = 0; i < 2; i += 1) await page.keyboard.press("Backspace");
  // The save follows the last key at once: the field is told of that key first.
  await page.keyboard.type(', "the end"]');
  await page.keyboard.press("Control+s");
  await page.getByRole("status").filter({ hasText: "Saved" }).waitFor();
  const saved = (await api("GET", `/api/documents/${id}`)) as { data: unknown[] };
  expect([saved.data.length, saved.data.at(-1)]).toEqual([60_001, "the end"]);
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
});

test("a record of 200 fields draws the first screen, and then the others", async () => {
  await api("POST", "/api/wide", { field_0: "first", field_199: "last" });
  const page = await dashboard.open("/collections/wide");
  // The number of fields in each state of the page that the browser could have drawn.
  await page.evaluate(`
    window.counts = [];
    new MutationObserver(() => {
      const now = document.querySelectorAll("[data-field]").length;
      if (now > 0 && now !== window.counts.at(-1)) window.counts.push(now);
    }).observe(document.body, { childList: true, subtree: true });
  `);
  await page.getByRole("button", { name: "Open the record" }).first().click();
  await page.locator('[data-field="field_199"] input').waitFor({ state: "attached" });
  const counts = await page.evaluate<number[]>("counts");
  expect(counts[0]).toBeLessThan(30);
  expect(counts.at(-1)).toBe(200);
  expect(await page.locator('[data-field="field_199"] input').inputValue()).toBe("last");
  expect(await page.locator('[data-field="field_0"] input').inputValue()).toBe("first");
  await leave(page);
});
