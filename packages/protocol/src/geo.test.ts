/** Distances: known distances, borders that are no borders, and the laws of a distance. */
import { expect, test } from "bun:test";
import { distanceBetween, type GeoPoint, geoProblem } from "./geo.ts";

const quarter = (6_371_008.8 * Math.PI) / 2;

test.each<[GeoPoint, GeoPoint, number]>([
  [{ lat: 0, lon: 0 }, { lat: 0, lon: 0 }, 0],
  [{ lat: 0, lon: 0 }, { lat: 0, lon: 90 }, quarter],
  [{ lat: 90, lon: 12 }, { lat: 0, lon: -77 }, quarter],
  [{ lat: 90, lon: 12 }, { lat: 90, lon: -150 }, 0],
  [{ lat: 90, lon: 0 }, { lat: -90, lon: 0 }, 2 * quarter],
  [{ lat: 30, lon: 40 }, { lat: -30, lon: -140 }, 2 * quarter],
  [{ lat: 10, lon: 180 }, { lat: 10, lon: -180 }, 0],
  [{ lat: 0, lon: 179.5 }, { lat: 0, lon: -179.5 }, quarter / 90],
  // Berlin and Paris, by the haversine formula with the mean radius.
  [{ lat: 52.52, lon: 13.405 }, { lat: 48.8566, lon: 2.3522 }, 877_464],
])("from %j to %j are %d metres", (a, b, metres) => {
  expect(Math.abs(distanceBetween(a, b) - metres)).toBeLessThan(1);
  expect(Math.abs(distanceBetween(b, a) - metres)).toBeLessThan(1);
});

test("a place is an object of two numbers of degrees", () => {
  expect(geoProblem({ lat: -90, lon: 180 })).toBeNull();
  expect(geoProblem(Object.create({ lat: 1, lon: 2 }))).toContain("latitude");
  expect(geoProblem({ lat: Number.NaN, lon: 2 })).toBe('must have a latitude "lat", a number from -90 to 90, not NaN');
  expect(geoProblem({ lat: 1, lon: Number.POSITIVE_INFINITY })).toContain('"lon", a number from -180 to 180');
});
