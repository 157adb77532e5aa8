/** The view of a map: places across the antimeridian, the poles, marks, and the way from pixels to places. */
import { expect, test } from "bun:test";
import { isInView, marksOf, moved, placeAt, projectionOf, viewOf, zoomed } from "./map-view.ts";

const size = { width: 400, height: 200 };
const suva = { id: "suva", lat: -18.14, lon: 178.44 };
const apia = { id: "apia", lat: -13.83, lon: -171.76 };

test("places on both sides of the antimeridian are neighbours, and not at the two ends of the world", () => {
  const view = viewOf([suva, apia], size);
  expect(Math.abs(view.lon)).toBeGreaterThan(176);
  expect(view.zoom).toBeGreaterThan(4);
  const marks = marksOf([suva, apia], view, size);
  expect(marks.map(({ ids }) => ids)).toEqual([["suva"], ["apia"]]);
  expect(marks[1]?.x ?? 0).toBeGreaterThan(marks[0]?.x ?? 0);
});

test("the view holds all places, with a margin, and no more than the world", () => {
  const points = [suva, { id: "berlin", lat: 52.52, lon: 13.4 }, { id: "lima", lat: -12.05, lon: -77.04 }];
  const tall = { width: 400, height: 400 };
  expect(marksOf(points, viewOf(points, tall), tall).flatMap(({ ids }) => ids)).toEqual(["suva", "berlin", "lima"]);
  expect(viewOf([], size)).toEqual({ lat: 20, lon: 0, zoom: Math.log2(400 / 256) });
  expect(viewOf([suva], size)).toMatchObject({
    zoom: 5,
    lon: expect.closeTo(178.44, 9),
    lat: expect.closeTo(-18.14, 9),
  });
  expect(zoomed({ lat: 0, lon: 190, zoom: -4 }, size)).toEqual({ lat: 0, lon: -170, zoom: Math.log2(400 / 256) });
});

test("a pole has a mark at the edge of the world", () => {
  const pole = { id: "pole", lat: 90, lon: 0 };
  expect(marksOf([pole], viewOf([pole], size), size)).toHaveLength(1);
});

test("a pixel is a place with the decimals that a pixel tells; the way back meets the pixel", () => {
  const view = { lat: -18, lon: 179, zoom: 6 };
  const place = placeAt(view, size, [390, 40]);
  expect(place.lon).toBeLessThan(-170);
  expect(String(place.lat)).toMatch(/^-\d+(\.\d{1,2})?$/);
  expect(placeAt({ lat: 10, lon: 85.9, zoom: 2 }, size, [200, 100])).toEqual({ lat: 10, lon: 85.9 });
  const [x, y] = projectionOf(view, size)([place.lon, place.lat]) ?? [0, 0];
  expect([Math.round(x), Math.round(y)]).toEqual([390, 40]);
});

test("a move goes over the antimeridian, and stops before the poles", () => {
  const view = { lat: 0, lon: 179, zoom: 4 };
  expect(moved(view, size, [100, 0]).lon).toBeLessThan(-170);
  expect(moved(view, size, [0, -1e6]).lat).toBe(85);
});

test("places that are close share a mark; places outside of the view have no mark", () => {
  const near = { id: "near", lat: -18.141, lon: 178.441 };
  const view = { ...suva, zoom: 5 };
  expect(marksOf([suva, near, { id: "far", lat: 52, lon: 13 }], view, size).map(({ ids }) => ids)).toEqual([
    ["suva", "near"],
  ]);
});

test("countries beside the view are left out; a country across the antimeridian counts on both of its sides", () => {
  const russia = [
    [27, 41],
    [-169, 82],
  ] as const;
  const chile = [
    [-109, -56],
    [-66, -17],
  ] as const;
  const antarctica = [
    [-180, -90],
    [180, -63],
  ] as const;
  const at = (lat: number, lon: number) =>
    [russia, chile, antarctica].map((bounds) => isInView(bounds, { lat, lon, zoom: 4 }, size));
  expect(at(64, -175)).toEqual([true, false, false]);
  expect(at(60, 100)).toEqual([true, false, false]);
  expect(at(60, -100)).toEqual([false, false, false]);
  expect(at(-30, -70)).toEqual([false, true, false]);
  expect(at(-75, 0)).toEqual([false, false, true]);
  expect(isInView(chile, { lat: 0, lon: 100, zoom: 0 }, { width: 256, height: 256 })).toBe(true);
});
