/** The filter's form in a real browser: the picker of a field is typed into, and an empty value filters nothing. */
import { afterAll, expect, test } from "bun:test";
import { complaintsOf, leave, openDashboard, settled } from "./dashboard.ts";

const readings = {
  name: "readings",
  fields: [
    { name: "sensor", type: "string" },
    { name: "value", type: "integer" },
    { name: "place", type: "string" },
  ],
};
const dashboard = await openDashboard({ collections: [readings] });
afterAll(() => dashboard.server.stop());
for (const value of [1, 2, 3]) await dashboard.api("POST", "/api/readings", { sensor: "north", value });

test("letters in the field picker search all fields; Enter takes the first match, and applies nothing without a match", async () => {
  const page = await dashboard.open("/collections/readings");
  await settled(page);
  await page.getByRole("button", { name: "Filter", exact: true }).click();
  const form = page.getByRole("dialog", { name: "Filter" });
  const field = form.getByRole("combobox", { name: "Field" });
  await field.and(page.locator(":focus")).waitFor();
  await page.keyboard.type("nothing");
  await form.getByText("No field has that name.").waitFor();
  await page.keyboard.press("Enter");
  expect(await form.count()).toBe(1);
  expect(new URL(page.url()).searchParams.get("filter")).toBeNull();
  await field.fill("");
  await page.keyboard.type("val");
  expect(await form.getByRole("option").allTextContents()).toEqual(["value"]);
  await page.keyboard.press("Enter");
  expect(await field.inputValue()).toBe("value");
  // A letter in the closed picker begins a search, too.
  await page.keyboard.type("p");
  expect(await form.getByRole("option").allTextContents()).toEqual(["place", "updatedAt"]);
  await page.keyboard.press("Escape");
  expect(await field.inputValue()).toBe("value");
  await form.getByRole("textbox", { name: "Value" }).fill("2");
  await page.keyboard.press("Enter");
  await form.waitFor({ state: "detached" });
  await page.getByRole("button", { name: /^Rows 1–1 of 1/ }).waitFor();
  expect(new URL(page.url()).searchParams.get("filter")).toBe("value = 2");
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
});

test("a condition without a value is refused at its place", async () => {
  const page = await dashboard.open("/collections/readings");
  await settled(page);
  await page.getByRole("button", { name: "Filter", exact: true }).click();
  const form = page.getByRole("dialog", { name: "Filter" });
  await form.getByRole("textbox", { name: "Value" }).press("Enter");
  await form.getByText("A text", { exact: true }).waitFor();
  expect(new URL(page.url()).searchParams.get("filter")).toBeNull();
  await leave(page);
});
