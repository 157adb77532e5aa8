/** The grid of records while somebody scrolls fast: the first column stays, and so does the line that says where one is. */
import { afterAll, expect, test } from "bun:test";
import { complaintsOf, openDashboard, settled } from "./dashboard.ts";

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

/** Runs in the page: what each frame of a second shows. */
const watch = `new Promise((resolve) => {
  const grid = document.querySelector('[role="grid"]');
  const samples = [];
  const begin = performance.now();
  const look = () => {
    const box = grid.getBoundingClientRect();
    const cell = document.elementFromPoint(box.left + 4, box.top + box.height / 2)?.closest('[role="gridcell"]');
    const gap = cell === null || cell === undefined ? NaN : cell.getBoundingClientRect().left - box.left;
    samples.push({ isFast: "isFast" in grid.dataset, top: grid.scrollTop, gap });
    if (performance.now() - begin < 1_000) requestAnimationFrame(look);
    else resolve(samples);
  };
  look();
})`;

test("the first column stays at the edge of a grid that is scrolled aside, in a fast scroll and after it", async () => {
  const page = await dashboard.open("/collections/rows", { width: 900, height: 700 });
  await settled(page);
  const grid = page.getByRole("grid");
  await grid.evaluate((element) => element.scrollTo({ left: 300 }));
  const box = await grid.boundingBox();
  if (box === null) throw new Error("The page shows no grid");
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  const watched = page.evaluate<Sample[]>(watch);
  for (let turn = 0; turn < 10; turn++) {
    await page.mouse.wheel(0, 600);
    await page.waitForTimeout(16);
  }
  const samples = await watched;
  const fast = samples.filter(({ isFast }) => isFast);
  expect(fast.length).toBeGreaterThan(2);
  expect(samples.at(-1)?.isFast).toBe(false);
  expect(samples.at(-1)?.top).toBe(6_000);
  expect(samples.filter(({ gap }) => Math.abs(gap) > 1)).toEqual([]);
  // Back at the left edge nothing of the place before is left.
  await page.mouse.wheel(-300, 0);
  await page.mouse.wheel(0, 600);
  await page.waitForTimeout(300);
  expect(await page.evaluate<Sample[]>(watch)).not.toContainEqual(expect.objectContaining({ isFast: true }));
  expect(complaintsOf(page)).toEqual([]);
  await page.context().close();
}, 30_000);

test("a slow scroll is none; the line below says which rows are on the screen, and what its button does", async () => {
  const page = await dashboard.open("/collections/rows", { width: 900, height: 700 });
  await settled(page);
  await page.getByRole("button", { name: /^Rows 1–\d+ of 600 – Go to row$/ }).waitFor();
  const box = await page.getByRole("grid").boundingBox();
  if (box === null) throw new Error("The page shows no grid");
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  const watched = page.evaluate<Sample[]>(watch);
  for (let turn = 0; turn < 10; turn++) {
    await page.mouse.wheel(0, 72);
    await page.waitForTimeout(50);
  }
  const samples = await watched;
  expect(samples.filter(({ isFast }) => isFast)).toEqual([]);
  expect(samples.at(-1)?.top).toBe(720);
  await page.getByRole("button", { name: /^Rows 21–\d+ of 600 – Go to row$/ }).waitFor();
  await page.context().close();
}, 30_000);
