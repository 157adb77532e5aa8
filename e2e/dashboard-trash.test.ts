/** The page of the trash: a deleted record is restored, and an admin empties the trash. */
import { afterAll, expect, test } from "bun:test";
import { complaintsOf, leave, looks, openDashboard, violationsOf } from "./dashboard.ts";

const dashboard = await openDashboard({
  collections: [{ name: "notes", trash: "30d", fields: [{ name: "title", type: "string" }] }],
});
afterAll(() => dashboard.server.stop());
const { api } = dashboard;

async function titles(query = ""): Promise<unknown[]> {
  const { items } = (await api("GET", `/api/notes${query}`)) as { items: { title: string }[] };
  return items.map(({ title }) => title);
}

test("the menu of the records leads to the trash; in the trash, a record is restored and the rest is removed for good", async () => {
  for (const title of ["first", "second", "third"]) {
    const { id } = (await api("POST", "/api/notes", { title })) as { id: string };
    if (title !== "third") await api("DELETE", `/api/notes/${id}`);
  }
  for (const look of looks) {
    const page = await dashboard.open("/collections/notes/trash", look);
    await page.getByRole("button", { name: "Restore second" }).waitFor();
    expect(await violationsOf(page)).toEqual([]);
    expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
    expect(complaintsOf(page)).toEqual([]);
    await leave(page);
  }
  const page = await dashboard.open("/collections/notes");
  await page.getByRole("button", { name: "More actions" }).click();
  await page.getByRole("menuitem", { name: "Trash" }).click();
  await page.getByRole("button", { name: "Restore first" }).click();
  await page.getByText("first is restored").waitFor();
  await page.getByRole("button", { name: "Restore first" }).waitFor({ state: "detached" });
  expect((await titles()).sort()).toEqual(["first", "third"]);
  expect(await titles("?trash=only")).toEqual(["second"]);
  await page.getByRole("button", { name: "Empty the trash" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Empty the trash" }).click();
  await page.getByText("The trash is empty").waitFor();
  expect(await titles("?trash=only")).toEqual([]);
  expect((await titles()).sort()).toEqual(["first", "third"]);
});
