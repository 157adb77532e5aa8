/**
 * The dashboard's grid over a million records, in Chromium: how long the first rows take after a click on the collection, and how many
 * frames a second are drawn while somebody scrolls. `BENCH_ONLY=dashboard npm run bench`.
 */
import { Database } from "bun:sqlite";
import { mkdir } from "node:fs/promises";
import type { Page } from "playwright-core";
import { launchBrowser } from "../e2e/chromium.ts";
import { executable } from "./executable.ts";
import { median } from "./median.ts";
import { startServer } from "./server.ts";

const records = 1_000_000;
const rounds = 5;
const scrollMs = 4_000;
const credentials = { email: "admin@example.com", password: "a long password" };
const env = { SERVICE_ADMIN_EMAIL: credentials.email, SERVICE_ADMIN_PASSWORD: credentials.password };

const definition = {
  name: "items",
  fields: [
    { name: "title", type: "string" },
    { name: "body", type: "text" },
    { name: "count", type: "integer" },
    { name: "score", type: "float" },
    { name: "done", type: "boolean" },
    { name: "at", type: "datetime" },
  ],
};

function insertRecords(path: string): void {
  using database = new Database(path);
  const insert = database.prepare(
    "INSERT INTO items (id, createdAt, updatedAt, title, body, count, score, done, at) VALUES (?, ?1, ?1, ?, ?, ?, ?, ?, ?1)".replaceAll(
      "?1",
      "'2026-01-01T00:00:00.000Z'",
    ),
  );
  const text = "A text of a hundred characters or so, as a note or a comment might have it, with an é and a 漢字.";
  database.transaction(() => {
    for (let n = 0; n < records; n++)
      insert.run(`rec_${Bun.randomUUIDv7()}`, `Item number ${n}`, text, n, n / 7, n % 2);
  })();
}

/** Milliseconds from a click on the collection to the first row on the screen. */
async function firstRows(page: Page): Promise<number> {
  return page.evaluate<number>(`new Promise((resolve) => {
    const link = [...document.querySelectorAll('a[href$="/collections/items"]')].at(-1);
    const start = performance.now();
    const look = () => {
      if (document.querySelector('[data-cell="0:1"]') === null) requestAnimationFrame(look);
      else requestAnimationFrame(() => resolve(performance.now() - start));
    };
    link.click();
    look();
  })`);
}

/** Frames a second while the wheel turns. @param pixels of each turn, 60 times a second. */
async function framesWhileScrolling(page: Page, pixels: number): Promise<number> {
  const box = await page.getByRole("grid").boundingBox();
  if (box === null) throw new Error("The page shows no grid");
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  const frames = page.evaluate<number>(`new Promise((resolve) => {
    let frames = 0;
    const start = performance.now();
    const count = (now) => {
      if (now - start >= ${scrollMs}) resolve((frames * 1000) / (now - start));
      else { frames += 1; requestAnimationFrame(count); }
    };
    requestAnimationFrame(count);
  })`);
  let isOver = false;
  const wheel = (async () => {
    while (!isOver) {
      await page.mouse.wheel(0, pixels);
      await Bun.sleep(16);
    }
  })();
  const result = await frames;
  isOver = true;
  await wheel;
  return result;
}

export async function measureDashboard(work: string): Promise<void> {
  const folder = `${work}/dashboard`;
  await mkdir(`${folder}/collections`, { recursive: true });
  await Bun.write(`${folder}/collections/items.json`, JSON.stringify(definition));
  const start = () => startServer([executable], folder, env);
  await (await start()).stop();
  insertRecords(`${folder}/socle.db`);
  const server = await start();
  const browser = await launchBrowser();
  try {
    const page = await (await browser.newContext({ viewport: { width: 1_280, height: 800 } })).newPage();
    await page.goto(`${server.url}/_/login`);
    await page.getByLabel("Email").fill(credentials.email);
    await page.getByLabel("Password", { exact: true }).fill(credentials.password);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    const times: number[] = [];
    for (let round = 0; round < rounds; round++) {
      await page.goto(`${server.url}/_/collections`);
      await page
        .getByRole("link", { name: /^items/ })
        .first()
        .waitFor();
      times.push(await firstRows(page));
    }
    const slow: number[] = [];
    const fast: number[] = [];
    for (let round = 0; round < 3; round++) {
      await page.goto(`${server.url}/_/collections/items`);
      await page.locator('[data-cell="0:1"]').waitFor();
      slow.push(await framesWhileScrolling(page, 60));
      fast.push(await framesWhileScrolling(page, 600));
    }
    console.log(`\nThe dashboard's grid over ${records.toLocaleString("en")} records`);
    console.log(
      `  first rows after a click: median ${median(times).toFixed(0)} ms, longest ${Math.max(...times).toFixed(0)} ms (aim 300)`,
    );
    console.log(
      `  frames a second while scrolling slowly: ${median(slow).toFixed(0)}, fast: ${median(fast).toFixed(0)} (aim 50)`,
    );
  } finally {
    await browser.close();
    await server.stop();
  }
}
