/** Places in the dashboard: the cell, the edit in the cell and in the drawer, the maps, the schema, and texts that are no place. */
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
  const refused = page.waitForResponse((response) => response.status() === 400);
  await page.keyboard.press("Enter");
  await refused;
  await page.getByText("Enter saves, Esc cancels").waitFor();
  // The reason of the control says how a person writes a place; the reason of the service names the form of the API.
  await page.getByText("Write a latitude and a longitude in degrees: 52.52, 13.405.").waitFor();
  expect(await page.getByText("an object such as").count()).toBe(0);
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

test("the map of a record shows the place; a click and Enter choose another place, and no other host is asked", async () => {
  const page = await dashboard.open("/");
  const hosts = new Set<string>();
  page.on("request", (request) => hosts.add(new URL(request.url()).origin));
  await page.goto(`${dashboard.server.url}/_/collections/shops?record=${shop.id}`);
  await settled(page);
  const map = page.getByRole("application", { name: "place on the map" });
  await map.locator("g").waitFor();
  const input = page.getByRole("textbox", { name: "place" });
  const before = await input.inputValue();
  await map.click({ position: { x: 20, y: 40 } });
  const clicked = await input.inputValue();
  expect(clicked).not.toBe(before);
  // A degree has 23 pixels: France is in the middle, and the click is to the north-west.
  const [lat = 0, lon = 0] = clicked.split(",").map(Number);
  expect([lat > 49 && lat < 52, lon > -16 && lon < 0]).toEqual([true, true]);
  await map.focus();
  for (const key of ["ArrowRight", "+", "ArrowUp"]) await page.keyboard.press(key);
  expect(await input.inputValue()).toBe(clicked);
  await page.keyboard.press("Enter");
  const chosen = await input.inputValue();
  expect([chosen === clicked, /^\d+\.\d+, \d+\.\d+$/.test(chosen)]).toEqual([false, true]);
  expect(await placeNow()).toEqual({ lat: 48.8566, lon: 2.3522 });
  // The numbers stay: a typed place moves the map.
  await input.fill("-17.7, 179.99");
  await map.locator("g").waitFor();
  expect([...hosts]).toEqual([dashboard.server.url]);
  expect(complaintsOf(page)).toEqual([]);
  page.on("dialog", (dialog) => dialog.accept());
  await leave(page);
});

test("the list is a map: records with a place, neighbours over the antimeridian, several records at a place", async () => {
  const suva = await make("Suva", { lat: -18.14, lon: 178.44 });
  await make("Apia", { lat: -13.83, lon: -171.76 });
  const page = await dashboard.open("/collections/shops");
  await page.getByRole("button", { name: "Show as a map" }).click();
  await page.waitForURL("**/collections/shops?map=place");
  const map = page.getByRole("application", { name: "place of the records, on a map" });
  await page.getByText("3 records with a place").waitFor();
  await page.goto(
    `${dashboard.server.url}/_/collections/shops?map=place&filter=${encodeURIComponent('name != "Mitte"')}`,
  );
  await page.getByText("2 records with a place").waitFor();
  const [west, east] = [map.locator("g", { hasText: "Suva" }), map.locator("g", { hasText: "Apia" })];
  const [a, b] = [await west.boundingBox(), await east.boundingBox()];
  const distance = (b?.x ?? 0) - (a?.x ?? 0);
  expect([distance > 100, distance < 400]).toEqual([true, true]);
  expect(await map.getByText("Nowhere").count()).toBe(0);
  await west.locator("circle").click();
  await page.waitForURL(`**record=${suva.id}`);
  await page.getByRole("textbox", { name: "name" }).waitFor();
  await page.keyboard.press("Escape");
  await page.waitForURL(/^((?!record=).)*$/);
  await make("Suva 2", { lat: -18.14, lon: 178.44 });
  await page.getByRole("button", { name: "Refresh" }).click();
  await map.locator("g", { hasText: "Suva 2, Suva" }).locator("circle").click();
  await page.getByText("2 records here:").waitFor();
  expect(await violationsOf(page)).toEqual([]);
  await page.getByRole("button", { name: "Suva 2" }).click();
  await page.waitForURL("**record=*");
  expect(complaintsOf(page)).toEqual([]);
  await page.goto(
    `${dashboard.server.url}/_/collections/shops?map=place&filter=${encodeURIComponent('name = "Nowhere"')}`,
  );
  await page.getByText("No record of this list has a place").waitFor();
  await page.getByRole("button", { name: "Show as a list" }).click();
  await page.getByRole("gridcell", { name: "Nowhere" }).waitFor();
  await leave(page);
});

test.each([...looks])("the record and the schema look right: $theme, $width", async (look) => {
  for (const path of [
    `/collections/shops?record=${shop.id}`,
    "/collections/shops?map=place",
    "/collections/shops/schema",
  ]) {
    const page = await dashboard.open(path, look);
    await settled(page);
    expect(await violationsOf(page)).toEqual([]);
    expect(complaintsOf(page)).toEqual([]);
    await leave(page);
  }
});
