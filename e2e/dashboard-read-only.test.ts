/** The bar of a read-only service: above every page, with the end of the mode. */
import { afterAll, expect, test } from "bun:test";
import { complaintsOf, leave, looks, openDashboard, violationsOf } from "./dashboard.ts";

const dashboard = await openDashboard({
  collections: [{ name: "posts", fields: [{ name: "title", type: "string" }] }],
});
afterAll(() => dashboard.server.stop());
const { api } = dashboard;

test("the bar tells of the mode on each page, and the button of the bar ends the mode", async () => {
  await api("POST", "/api/posts", { title: "one" });
  await api("PUT", "/api/admin/read-only", { on: true });
  for (const look of looks)
    for (const path of ["/", "/collections/posts"]) {
      const page = await dashboard.open(path, look);
      await page.getByRole("region", { name: "The service is read-only" }).getByText("an admin").waitFor();
      expect(await violationsOf(page)).toEqual([]);
      expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
      const shots = process.env["SHOTS"];
      if (shots)
        await page.screenshot({ path: `${shots}/ro-${look.theme}-${look.width}${path.replaceAll("/", "-")}.png` });
      expect(complaintsOf(page)).toEqual([]);
      await leave(page);
    }
  const page = await dashboard.open("/");
  await page.getByRole("button", { name: "Accept changes again" }).click();
  await page.getByText("The service accepts changes again").waitFor();
  await page.getByRole("region", { name: "The service is read-only" }).waitFor({ state: "detached" });
  expect(await api("GET", "/api/admin/read-only")).toMatchObject({ on: false });
});
