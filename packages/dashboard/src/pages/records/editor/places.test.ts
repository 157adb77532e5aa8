/** Places in forms: typed texts and their values. */
import { expect, test } from "bun:test";
import { mapAddress, parsePlace, writtenPlace } from "./places.ts";

test.each<[string, unknown]>([
  ["52.52, 13.405", { lat: 52.52, lon: 13.405 }],
  [" -1,180 ", { lat: -1, lon: 180 }],
  ['{ "lon": 2, "lat": 1 }', { lat: 1, lon: 2 }],
  ["", null],
  ["  ", null],
])("%j is %j", (typed, value) => expect(parsePlace(typed)).toEqual({ value } as never));

test.each(["52.52", "91, 0", "0, 181", "52,52, 13,4", "Berlin", "null1", '{ "lat": 1 }', "NaN, 1"])(
  "%j is no place",
  (typed) => {
    expect(parsePlace(typed)).toEqual({ problem: "notAPlace" });
  },
);

test("a place is written as it is read; a text that is no place stays", () => {
  expect(parsePlace(writtenPlace({ lat: 1.5, lon: -2e-7 }))).toEqual({ value: { lat: 1.5, lon: -2e-7 } });
  expect([writtenPlace(null), writtenPlace("Berlin"), writtenPlace({ lat: 91, lon: 0 })]).toEqual(["", "Berlin", ""]);
  expect(mapAddress({ lat: 1, lon: -2 })).toContain("mlat=1&mlon=-2");
});
