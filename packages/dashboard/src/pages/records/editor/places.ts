/** Places in forms: a latitude and a longitude in degrees, as text. */
import { type GeoPoint, geoProblem, type JsonValue } from "@socle/protocol";
import { readCell } from "@socle/protocol/cells";

/** A place as people write places: "52.52, 13.405". A text that is no place yet stays unchanged; null is the empty text. */
export function writtenPlace(value: JsonValue): string {
  if (typeof value === "string") return value;
  const place = placeOf(value);
  return place === null ? "" : `${place.lat}, ${place.lon}`;
}

/** The place that a value is; null for any other value. */
export function placeOf(value: JsonValue): GeoPoint | null {
  return geoProblem(value) === null ? (value as unknown as GeoPoint) : null;
}

/** Reads a typed place, also in JSON; the empty text is null. */
export function parsePlace(typed: string): { readonly value: JsonValue } | { readonly problem: "notAPlace" } {
  const read = readCell(typed, { name: "place", type: "geo" });
  const value = "value" in read ? (read.value as JsonValue) : undefined;
  if (value === null) return { value };
  return value === undefined || placeOf(value) === null ? { problem: "notAPlace" } : { value };
}

/** The address of a map with the place in the middle. */
export function mapAddress({ lat, lon }: GeoPoint): string {
  return `https://www.openstreetmap.org/?mlat=${lat}&mlon=${lon}#map=15/${lat}/${lon}`;
}
