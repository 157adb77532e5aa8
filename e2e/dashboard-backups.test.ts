/** The backups page of the dashboard: a backup is made, verified, downloaded and deleted; a damaged backup is told; the commands work. */
import { afterAll, expect, test } from "bun:test";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { BackupEntry, Page as List } from "@socle/protocol";
import { complaintsOf, leave, looks, openDashboard, overflowOf, settled, violationsOf } from "./dashboard.ts";
import { serve, singleService, socle, temporaryFolder, until } from "./kit.ts";

singleService("restore");
const place = join(temporaryFolder(), "live");
const dashboard = await openDashboard({
  collections: [{ name: "notes", fields: [{ name: "title", type: "string" }], permissions: { read: "public" } }],
  config: { backup: { continuous: place, schedule: "0 3 * * *", keep: 3 } },
});
afterAll(() => dashboard.server.stop());
const { api, folder } = dashboard;
const target = join(folder, "backups");

async function stored(): Promise<BackupEntry[]> {
  return ((await api("GET", "/api/admin/backups")) as List<BackupEntry>).items;
}

test("a backup is made, verified and downloaded; a damaged backup is told; a backup is deleted", async () => {
  await api("POST", "/api/notes", { title: "kept" });
  const page = await dashboard.open("/backups");
  await page.getByRole("heading", { name: "No backup yet" }).waitFor();
  await page.getByText("At 03:00, UTC").waitFor();
  await page.getByText("All writes are copied in time").waitFor();
  expect(await violationsOf(page)).toEqual([]);
  await page.locator("h1").focus();
  await page.keyboard.press("n");
  const row = page.getByRole("table", { name: "Stored backups" }).getByRole("row").nth(1);
  await row.getByText("Complete").waitFor();
  const [name = ""] = readdirSync(target);
  await row.getByText("not since the start").waitFor();
  await row.getByRole("button", { name: `Verify ${name}` }).click();
  await row.getByText("Whole").waitFor();

  // Without `showSaveFilePicker`, the browser downloads the file.
  await page.evaluate("delete window.showSaveFilePicker");
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    row.getByRole("button", { name: `Download ${name}` }).click(),
  ]);
  expect(download.suggestedFilename()).toBe(name);
  expect(readFileSync((await download.path()) ?? "")).toEqual(readFileSync(join(target, name)));

  const bytes = readFileSync(join(target, name));
  const middle = Math.floor(bytes.length / 2);
  bytes[middle] = (bytes[middle] ?? 0) ^ 1;
  writeFileSync(join(target, name), bytes);
  // The first cell of a row opens the drawer.
  await row.locator("[data-opener]").focus();
  await page.keyboard.press("Enter");
  const drawer = page.getByRole("dialog", { name: "Backup" });
  await drawer.getByRole("list", { name: "Findings of the verification" }).getByText("1 record, 1 user").waitFor();
  await drawer.getByRole("button", { name: "Verify", exact: true }).click();
  await drawer.getByText("Damaged", { exact: true }).waitFor();
  await drawer.getByText("is damaged or cut off, and was not used").waitFor();
  expect(await drawer.getByText("Whole", { exact: true }).count()).toBe(0);
  expect(await violationsOf(page)).toEqual([]);
  await drawer.getByRole("button", { name: "Delete", exact: true }).click();
  const question = page.getByRole("dialog", { name: "Delete this backup?" });
  await question.getByRole("button", { name: "Delete the backup" }).click();
  await page.getByRole("heading", { name: "No backup yet" }).waitFor();
  expect(readdirSync(target)).toEqual([]);
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
});

test("the commands of the page restore the backup, and a moment of the continuous backup, into another folder", async () => {
  await api("POST", "/api/admin/backups");
  await until(async () => (await stored())[0]?.state === "completed");
  const [entry] = await stored();
  const page = await dashboard.open(`/backups?backup=${entry?.name}`);
  const shown = await page.getByRole("dialog").getByRole("region", { name: "Into another folder" }).innerText();
  await page.keyboard.press("Escape");
  await page.getByText("Restore", { exact: true }).first().click();
  const moment = await page.getByRole("region", { name: "Into another folder" }).innerText();
  await leave(page);
  for (const [commands, address] of [
    [shown, join(target, entry?.name ?? "")],
    [moment, place],
  ] as const) {
    expect(commands).toContain(`socle restore ${address}\n`);
    const cwd = temporaryFolder();
    const { code, stdout } = await socle(["restore", address], { cwd });
    expect([code, stdout]).toEqual([0, expect.stringContaining("Restored")]);
    const restored = await serve(cwd);
    const list = (await (await fetch(`${restored.url}/api/notes`)).json()) as { items: { title: string }[] };
    expect(list.items.map(({ title }) => title)).toEqual(["kept"]);
    expect(await restored.stop()).toBe(0);
  }
});

test("in each look, axe finds nothing, and nothing scrolls sideways", async () => {
  await api("POST", "/api/admin/backups");
  await until(async () => (await stored()).every(({ state }) => state === "completed"));
  const [entry] = await stored();
  for (const look of looks) {
    for (const path of ["/backups", `/backups?backup=${entry?.name}`]) {
      const page = await dashboard.open(path, look);
      await settled(page);
      expect(await violationsOf(page)).toEqual([]);
      expect(await overflowOf(page)).toBe(0);
      expect(complaintsOf(page)).toEqual([]);
      await leave(page);
    }
  }
});
