/**
 * Boxes: the degrees of latitude and longitude that places within a distance of a point have. An index of the degrees finds the
 * places in a box; the exact distance decides which of these places are near.
 */
import { GEO_LIMITS, type GeoPoint, METRES_PER_DEGREE } from "@socle/protocol";
import { numberParameter, type SqlPart, sqlPart } from "./scope.ts";

/** The degrees by which a box is larger than needed, about 10 cm: more than the errors of rounding, also between opposite places. */
const margin = 1e-6;

/**
 * The condition that a place is in the box around a point. Near a pole every longitude may be near; a box over the antimeridian is two
 * ranges of longitudes.
 * @param columns the degrees of the place, as SQL. @param metres of the distance.
 */
export function boxSql(columns: { lat: string; lon: string }, { lat, lon }: GeoPoint, metres: number): SqlPart {
  const radius = metres / METRES_PER_DEGREE + margin;
  const [south, north] = [lat - radius, lat + radius];
  const isInLat = sqlPart`${columns.lat} BETWEEN ${numberParameter(south)} AND ${numberParameter(north)}`;
  if (south <= -GEO_LIMITS.lat || north >= GEO_LIMITS.lat || radius >= GEO_LIMITS.lat) return isInLat;
  const radians = Math.PI / 180;
  // The circle touches a meridian farther from the equator than the point.
  const half = Math.asin(Math.min(1, Math.sin(radius * radians) / Math.cos(lat * radians))) / radians + margin;
  const [west, east] = [lon - half, lon + half];
  const isBetween = (from: number, to: number): SqlPart =>
    sqlPart`${columns.lon} BETWEEN ${numberParameter(from)} AND ${numberParameter(to)}`;
  const isFrom = (from: number): SqlPart => sqlPart`${columns.lon} >= ${numberParameter(from)}`;
  const isTo = (to: number): SqlPart => sqlPart`${columns.lon} <= ${numberParameter(to)}`;
  if (west < -GEO_LIMITS.lon) return sqlPart`${isInLat} AND (${isFrom(west + 360)} OR ${isTo(east)})`;
  if (east > GEO_LIMITS.lon) return sqlPart`${isInLat} AND (${isFrom(west)} OR ${isTo(east - 360)})`;
  return sqlPart`${isInLat} AND ${isBetween(west, east)}`;
}
