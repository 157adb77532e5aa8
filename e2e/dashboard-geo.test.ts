/** Places in the dashboard: the cell, the edit in the cell and in the drawer, the map, the schema, and texts that are no place. */
import { afterAll, expect, test } from "bun:test";
import { complaintsOf, leave, looks, openDashboard, settled, violationsOf } from "./dashboard.ts";

const dashboard = await openDashboard({
  collections: [
    {
      name: "shops",
      fields: [
        { name: "name", type: "string" },
        { name: "place", type: "geo" },
      ],
      indexes: [["place"]],
    },
  ],
});
afterAll(() => dashboard.server.stop());
interface Shop {
  readonly id: string;
  readonly place: object | null;
}
const make = async (name: string, place: object | null): Promise<Shop> =>
  (await dashboard.api("POST", "/api/shops", { name, place })) as Shop;
const shop = await make("Mitte", { lat: 52.52, lon: 13.405 });
await make("Nowhere", null);
const placeNow = async (): Promise<object | null> =>
  ((await dashboard.api("GET", `/api/shops/${shop.id}`)) as Shop).place;

test("a place is edited in its cell; a text that is no place stays in the cell with the reason, and is not saved", async () => {
  const page = await dashboard.open("/collections/shops");
  await settled(page);
  const cell = page.getByRole("gridcell", { name: "52.52, 13.405" });
  await cell.dblclick();
  const input = page.getByRole("textbox", { name: "place" });
  await input.fill("91, 0");
  await page.keyboard.press("Enter");
  await page
    .getByText(/a number from -90 to 90|a latitude and a longitude/)
    .first()
    .waitFor();
  expect(await placeNow()).toEqual({ lat: 52.52, lon: 13.405 });
  await input.fill("-33.86, 151.2");
  await page.keyboard.press("Enter");
  await page.getByRole("gridcell", { name: "-33.86, 151.2" }).waitFor();
  expect(await placeNow()).toEqual({ lat: -33.86, lon: 151.2 });
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
});

test("the drawer has the place with a link to a map, and saves another place or an empty place", async () => {
  const page = await dashboard.open(`/collections/shops?record=${shop.id}`);
  await settled(page);
  const input = page.getByRole("textbox", { name: "place" });
  const link = page.getByRole("link", { name: "Open in OpenStreetMap" });
  expect(await link.getAttribute("href")).toContain("mlat=-33.86&mlon=151.2");
  await input.fill("somewhere");
  await page.getByText("Write a latitude and a longitude in degrees: 52.52, 13.405.").waitFor();
  expect(await link.count()).toBe(0);
  await input.fill("48.8566,2.3522");
  await link.waitFor();
  await page.getByRole("button", { name: /^Save/ }).first().click();
  await page.getByRole("gridcell", { name: "48.8566, 2.3522" }).waitFor();
  expect(await placeNow()).toEqual({ lat: 48.8566, lon: 2.3522 });
  expect(complaintsOf(page)).toEqual([]);
  await leave(page);
});

test("a filter by distance finds the shops", async () => {
  const filter = encodeURIComponent("distance(place, 48.86, 2.35) < 5km");
  const page = await dashboard.open(`/collections/shops?filter=${filter}`);
  await settled(page);
  await page.getByRole("gridcell", { name: "48.8566, 2.3522" }).waitFor();
  expect(await page.getByText("Nowhere").count()).toBe(0);
  await leave(page);
});

test.each([...looks])("the record and the schema look right: $theme, $width", async (look) => {
  for (const path of [`/collections/shops?record=${shop.id}`, "/collections/shops/schema"]) {
    const page = await dashboard.open(path, look);
    await settled(page);
    expect(await violationsOf(page)).toEqual([]);
    expect(complaintsOf(page)).toEqual([]);
    await leave(page);
  }
});
