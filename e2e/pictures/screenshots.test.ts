/** Pictures of the dashboard's pages for the documentation (`npm run screenshots`). */
import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { settled } from "../dashboard.ts";
import { openFilledDashboard, pages } from "../dashboard-data.ts";
import { root } from "../kit.ts";

const dashboard = await openFilledDashboard();

test.each(["light", "dark"] as const)("every page, %s", async (theme) => {
  for (const [name, path] of Object.entries(pages)) {
    const page = await dashboard.open(path, { theme, width: 1_280, height: 800 });
    await settled(page);
    // Charts and pictures come a moment later than the text. The page of the log follows the service, and never becomes idle.
    await page.waitForLoadState("networkidle", { timeout: 2_000 }).catch(() => undefined);
    await page.waitForTimeout(600);
    const file = join(root, `docs/images/${name}-${theme}.png`);
    await page.screenshot({ path: file });
    expect(existsSync(file)).toBe(true);
    await page.context().close();
  }
});
