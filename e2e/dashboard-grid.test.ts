/** The grid of records during fast scrolling: the first column stays, and so does the line that shows the position. */
import { afterAll, expect, test } from "bun:test";
import { complaintsOf, leave, openDashboard, settled, violationsOf } from "./dashboard.ts";

const fields = ["title", "second", "third", "fourth", "fifth", "sixth"].map((name) => ({ name, type: "string" }));
const tickets = {
  name: "tickets",
  fields: [
    { name: "number", type: "integer" },
    { name: "title", type: "string" },
    { name: "stage", type: "string", values: ["open", "waiting", "done"] },
    ...["first", "second", "third", "fourth"].map((name) => ({ name, type: "string" })),
    { name: "remark", type: "string" },
  ],
};
const dashboard = await openDashboard({ collections: [{ name: "rows", fields }, tickets] });
afterAll(() => dashboard.server.stop());

const create = { method: "create", collection: "rows", body: { title: "A row" } };
const operations = Array.from({ length: 600 }, () => create);
for (let at = 0; at < operations.length; at += 100)
  await dashboard.api("POST", "/api/batch", { operations: operations.slice(at, at + 100) });

interface Sample {
  readonly isFast: boolean;
  readonly top: number;
  /** Pixels between the left edges of the grid and of a first cell on the screen. */
  readonly gap: number;
}

/** Runs in the page: scrolls by so many pixels in each of ten frames, and answers the rows of each frame until the grid is at rest. */
const scroll = (pixels: number): string => `new Promise((resolve) => {
  const grid = document.querySelector('[role="grid"]');
  const samples = [];
  let turns = 0;
  let atRest = 0;
  const look = () => {
    const box = grid.getBoundingClientRect();
    const cell = document.elementFromPoint(box.left + 4, box.top + box.height / 2)?.closest('[role="gridcell"]');
    const gap = cell === null || cell === undefined ? NaN : cell.getBoundingClientRect().left - box.left;
    const isFast = "isFast" in grid.dataset;
    samples.push({ isFast, top: grid.scrollTop, gap });
    if (turns < 10) grid.scrollBy({ top: ${pixels}, behavior: "instant" });
    else if (!isFast) atRest += 1;
    turns += 1;
    if (atRest < 5) requestAnimationFrame(look);
    else resolve(samples);
  };
  requestAnimationFrame(look);
})`;

test("the first column stays at the edge of a grid that is scrolled aside, during and after a fast scroll", async () => {
  const page = await dashboard.open("/collections/rows", { width: 900, height: 700 });
  await settled(page);
  const grid = page.getByRole("grid");
  await grid.evaluate((element) => element.scrollTo({ left: 300 }));
  const samples = await page.evaluate<Sample[]>(scroll(600));
  expect(samples.filter(({ isFast }) => isFast).length).toBeGreaterThan(2);
  expect(samples.at(-1)).toMatchObject({ isFast: false, top: 6_000 });
  expect(samples.filter(({ gap }) => Math.abs(gap) > 1)).toEqual([]);
  // Back at the left edge nothing of the place before is left.
  await grid.evaluate((element) => element.scrollTo({ left: 0 }));
  const after = await page.evaluate<Sample[]>(scroll(600));
  expect(after.filter(({ gap }) => Math.abs(gap) > 1)).toEqual([]);
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
});

test("a slow scroll is no fast scroll; the line below names the visible rows, and the action of its button", async () => {
  const page = await dashboard.open("/collections/rows", { width: 900, height: 700 });
  await settled(page);
  await page.getByRole("button", { name: /^Rows 1–\d+ of 600 – Go to row$/ }).waitFor();
  const samples = await page.evaluate<Sample[]>(scroll(72));
  expect(samples.filter(({ isFast }) => isFast)).toEqual([]);
  expect(samples.at(-1)?.top).toBe(720);
  await page.getByRole("button", { name: /^Rows 21–\d+ of 600 – Go to row$/ }).waitFor();
  await leave(page);
});

test("the title is pinned and opens the record; values of an enum are chips of differing colours; the id comes after the fields", async () => {
  const long = "a long text ".repeat(5);
  for (const [n, stage] of ["open", "waiting", "done"].entries())
    await dashboard.api("POST", "/api/tickets", {
      ...{ number: n, title: `Ticket ${n}`, stage, first: long, second: long, third: long, fourth: long },
      remark: n === 1 ? "the needle" : "hay",
    });
  const page = await dashboard.open("/collections/tickets", { width: 1_280 });
  await settled(page);
  const headers = await page.getByRole("columnheader").allInnerTexts();
  expect(headers.slice(1, 4).map((header) => header.trim())).toEqual(["title", "number", "stage"]);
  // The width follows the values: a short number has less room than a long text.
  const widthOf = async (name: string) => (await page.getByRole("columnheader", { name }).boundingBox())?.width ?? 0;
  expect(await widthOf("number")).toBeLessThan(130);
  expect(await widthOf("first")).toBeGreaterThan(300);
  const chips = page.locator("[role=gridcell] [data-hue]");
  expect((await chips.allInnerTexts()).toSorted()).toEqual(["done", "open", "waiting"]);
  const coloursOf = () =>
    page.evaluate<string[]>(
      "[...document.querySelectorAll('[data-hue]')].map((chip) => getComputedStyle(chip).backgroundColor)",
    );
  const colours = await coloursOf();
  expect(new Set(colours).size).toBe(3);
  await chips.first().hover();
  expect(await coloursOf()).toEqual(colours);
  expect(await violationsOf(page)).toEqual([]);
  await page.getByRole("button", { name: "Open the record" }).first().click();
  await page.getByRole("dialog", { name: /^Ticket 2/ }).waitFor();
  await leave(page);
});

test("the column of a hit comes into view and is marked; without a search no column is marked", async () => {
  const page = await dashboard.open("/collections/tickets", { width: 1_024 });
  await settled(page);
  expect(await page.locator("[role=columnheader][data-is-found]").count()).toBe(0);
  const cell = page.getByRole("gridcell").filter({ hasText: "the needle" });
  expect((await cell.boundingBox())?.x).toBeGreaterThan(1_024);
  await page.getByRole("searchbox").or(page.getByPlaceholder("Search in all texts")).first().fill("needle");
  await page.locator("[role=columnheader][data-is-found]").waitFor();
  const box = await cell.boundingBox();
  expect((box?.x ?? 2_000) + (box?.width ?? 0)).toBeLessThanOrEqual(1_024);
  expect((await page.locator("[role=columnheader][data-is-found]").allInnerTexts()).map((name) => name.trim())).toEqual(
    ["remark"],
  );
  await leave(page);
});

test("below 1,200 pixels the navigation is a rail of icons with names, and the user's choice stays", async () => {
  const page = await dashboard.open("/collections/tickets", { width: 1_024 });
  await settled(page);
  const navigation = page.getByRole("navigation", { name: "Pages" });
  const width = async () => (await navigation.boundingBox())?.width ?? 0;
  expect(await width()).toBeLessThan(80);
  expect(await violationsOf(page)).toEqual([]);
  await navigation.getByRole("link", { name: "Users" }).waitFor();
  await page.getByRole("button", { name: "Unfold the menu" }).click();
  await page.getByRole("button", { name: "Fold the menu" }).waitFor();
  expect(await width()).toBeGreaterThan(200);
  await page.reload();
  await settled(page);
  expect(await width()).toBeGreaterThan(200);
  await leave(page);
});
