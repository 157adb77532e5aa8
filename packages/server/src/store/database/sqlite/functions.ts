/** The SQL functions that the statements of the service use and SQLite does not have. */
import { distanceBetween, foldCase, type GeoPoint, type VectorMetric } from "@socle/protocol";
import {
  containsText,
  decodeVector,
  matchWeight,
  numbersOf,
  searchText,
  type TimeUnit,
  unitStart,
  vectorDistance,
} from "../../../base/kernel/index.ts";
import type { Value } from "../store.ts";
import type { Connection } from "./connection.ts";

/**
 * A condition that is always true and calls back once for each row that a statement meets, so that a statement on a
 * thread can be stopped. The probe comes first in a WHERE, before all conditions that cost more.
 */
export function stopProbe(alias: string, column = "rowid"): string {
  return `_probe(${alias}.${column})`;
}

/**
 * Adds `_contains(text, wanted)`, which ignores case in every alphabet; `_contains_item(json, wanted)`, the same for the texts
 * of a JSON array; `_distance(place, lat, lon)` in metres, of the JSON of a place, or `_distance(fromLat, fromLon, lat, lon)` of
 * the degrees; `_lower(text)` for every alphabet; `_match_weight(text, terms)` with the terms as JSON, see `matchWeight`;
 * `_nearest(vector, other, metric)`, the distance of stored vectors; `_numbers(vector)` as JSON;
 * `_unit_start(time, unit, zone)`, see `unitStart`; and `_probe`, see `stopProbe`.
 * @param onProbe is called by `_probe`; the error ends the statement.
 */
export function addFunctions(connection: Connection, onProbe: () => void): void {
  connection.define("_contains", (text, wanted) => {
    if (typeof text !== "string" || typeof wanted !== "string") return null;
    return containsText(text, wanted) ? 1 : 0;
  });
  connection.define("_contains_item", (json, wanted) => {
    if (typeof json !== "string" || typeof wanted !== "string") return null;
    const items: unknown = JSON.parse(json);
    if (!Array.isArray(items)) return null;
    return items.some((item) => typeof item === "string" && containsText(item, wanted)) ? 1 : 0;
  });
  connection.define("_distance", (...[from, ...degrees]) => {
    if (typeof from === "string") return metres(JSON.parse(from) as GeoPoint, degrees);
    const [fromLon, ...to] = degrees;
    return typeof from === "number" && typeof fromLon === "number" ? metres({ lat: from, lon: fromLon }, to) : null;
  });
  connection.define("_lower", (text) => (typeof text === "string" ? text.toLowerCase() : null));
  connection.define("_match_weight", (text, terms) =>
    typeof text === "string" && typeof terms === "string" ? matchWeight(text, JSON.parse(terms)) : 0,
  );
  // A statement compares all vectors with one vector.
  let last: { stored: string; vector: Float32Array } = { stored: "", vector: new Float32Array() };
  connection.define("_nearest", (stored, wanted, metric) => {
    if (typeof stored !== "string" || typeof wanted !== "string") return null;
    if (last.stored !== wanted) last = { stored: wanted, vector: decodeVector(wanted) };
    return vectorDistance(last.vector, decodeVector(stored), metric as VectorMetric);
  });
  connection.define("_numbers", (stored) => (typeof stored === "string" ? JSON.stringify(numbersOf(stored)) : null));
  connection.define("_unit_start", (time, unit, zone) =>
    typeof time === "string" ? unitStart(unit as TimeUnit, time, String(zone)) : null,
  );
  addTriggerFunctions(connection);
  connection.define("_probe", (_row) => {
    onProbe();
    return 1;
  });
}

/** @param to the latitude and the longitude of the other place. */
function metres(from: GeoPoint, [lat, lon]: readonly Value[]): number {
  return distanceBetween(from, { lat: Number(lat), lon: Number(lon) });
}

/** Adds the functions that triggers call: `_search_text(text)` answers the words of a text, `_fold(text)` the folding: see `foldCase`. */
export function addTriggerFunctions(connection: Connection): void {
  connection.define("_fold", (text) => (typeof text === "string" ? foldCase(text) : null));
  connection.define("_search_text", (text) => (typeof text === "string" ? searchText(text) : null));
}
