/** The grid of records during fast scrolling: the first column stays, and so does the line that shows the position. */
import { afterAll, expect, test } from "bun:test";
import { complaintsOf, leave, openDashboard, settled } from "./dashboard.ts";

const fields = ["title", "second", "third", "fourth", "fifth", "sixth"].map((name) => ({ name, type: "string" }));
const dashboard = await openDashboard({ collections: [{ name: "rows", fields }] });
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
