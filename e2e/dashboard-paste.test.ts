/** A paste from a spreadsheet into the grid: a preview with counts and refusals, the change, and one undo. */
import { afterAll, expect, test } from "bun:test";
import type { RecordList } from "@socle/protocol";
import type { Page } from "playwright-core";
import { complaintsOf, leave, looks, openDashboard, overflowOf, settled, violationsOf } from "./dashboard.ts";

const dashboard = await openDashboard({
  collections: [
    {
      name: "tasks",
      fields: [
        { name: "title", type: "string", required: true },
        { name: "size", type: "integer", max: 99 },
        { name: "no", type: "integer", sequence: true },
      ],
    },
  ],
});
afterAll(() => dashboard.server.stop());
const { api } = dashboard;
for (const title of ["one", "two", "three"]) await api("POST", "/api/tasks", { title, size: 1 });
const address = "/collections/tasks?sort=no";

async function stored(): Promise<unknown[]> {
  const { items } = (await api("GET", "/api/tasks?sort=no")) as RecordList;
  return items.map(({ title, size }) => [title, size]);
}

/** Dispatches the paste of a text to an element. */
function dispatch(page: Page, selector: string, pasted: string): Promise<void> {
  return page.evaluate(`{
    const clipboardData = new DataTransfer();
    clipboardData.setData("text/plain", ${JSON.stringify(pasted)});
    const paste = new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true });
    document.querySelector(${JSON.stringify(selector)}).dispatchEvent(paste);
  }`);
}

/** Pastes onto the cell of a row and a column. */
async function paste(page: Page, cell: string, pasted: string): Promise<void> {
  const selector = `[data-cell="${cell}"]`;
  await page.locator(selector).click();
  await page.locator(selector).focus();
  await dispatch(page, selector, pasted);
}

test("the preview counts the cells and lists the refusals; the paste changes the rest, and one undo takes all back", async () => {
  for (const look of looks) {
    const page = await dashboard.open(address, look);
    await page.getByText("one").first().waitFor();
    const before = await stored();
    await paste(page, "0:0", 'first\t10\t7\n"two\nlines"\t100\nthree\t1\nfourth\t4\n');
    const dialog = page.getByRole("dialog", { name: "Paste into the grid" });
    await dialog.getByText("3 cells of 2 records change, 2 have the value already.").waitFor();
    await dialog.getByText("The service numbers no.").waitFor();
    await dialog.getByText("1 row below the last loaded record.").waitFor();
    await dialog.getByText("3 places are refused:").waitFor();
    expect(await stored()).toEqual(before);
    await settled(page);
    expect([await violationsOf(page), await overflowOf(page)]).toEqual([[], 0]);
    await page.keyboard.press("Enter");
    await page.getByText("2 records changed").waitFor();
    expect(await stored()).toEqual([
      ["first", 10],
      ["two\nlines", 1],
      ["three", 1],
    ]);
    await dialog.waitFor({ state: "detached" });
    await page.keyboard.press("Control+z");
    await page.getByText("one").first().waitFor();
    expect(await stored()).toEqual(before);
    expect(complaintsOf(page)).toEqual([]);
    await leave(page);
  }
});

test("a paste into the control of a cell is for the control, and Escape leaves all records as they are", async () => {
  const page = await dashboard.open(address);
  await page.getByText("one").first().waitFor();
  const before = await stored();
  await paste(page, "1:1", "5");
  await page.getByRole("dialog").getByText("1 cell of 1 record changes").waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await page.locator('[data-cell="1:1"]').focus();
  await page.keyboard.press("Enter");
  const input = '[data-cell="1:1"] input';
  await page.locator(input).waitFor();
  await dispatch(page, input, "7");
  await settled(page);
  expect(await page.getByRole("dialog").count()).toBe(0);
  await page.keyboard.press("Escape");
  expect(await stored()).toEqual(before);
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
});
