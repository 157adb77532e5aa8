/** Places on the Earth: the value of a geo field, and the distance of two places. */

/** A place in degrees (WGS 84): `lat` from -90 to 90, `lon` from -180 to 180. */
export interface GeoPoint {
  readonly lat: number;
  readonly lon: number;
}

/** The largest latitude and longitude in degrees; the smallest are the opposites. */
export const GEO_LIMITS: { readonly [axis in keyof GeoPoint]: number } = { lat: 90, lon: 180 };

/** The metres of a degree on a great circle: of a sphere with the mean radius of the Earth, 6,371,008.8 m (IUGG). */
export const METRES_PER_DEGREE: number = (6_371_008.8 * Math.PI) / 180;

/** Whether a number is a latitude, or a longitude. */
export function isCoordinate(axis: keyof GeoPoint, value: unknown): value is number {
  return typeof value === "number" && Math.abs(value) <= GEO_LIMITS[axis];
}

/** The problem of a value that is no place, as the end of a sentence that begins with the name of the field; null for a place. */
export function geoProblem(value: unknown): string | null {
  const form = 'an object such as { "lat": 52.52, "lon": 13.405 }';
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return `must be ${form}, not ${shown(value)}`;
  const odd = Object.keys(value).find((name) => name !== "lat" && name !== "lon");
  if (odd !== undefined) return `must be ${form}, without the member ${shown(odd)}`;
  for (const axis of ["lat", "lon"] as const) {
    const found: unknown = Object.hasOwn(value, axis) ? value[axis as keyof typeof value] : undefined;
    const [name, limit] = [axis === "lat" ? "latitude" : "longitude", GEO_LIMITS[axis]];
    if (!isCoordinate(axis, found))
      return `must have a ${name} "${axis}", a number from -${limit} to ${limit}, not ${shown(found)}`;
  }
  return null;
}

function shown(value: unknown): string {
  return typeof value === "number" ? String(value) : (JSON.stringify(value)?.slice(0, 60) ?? "nothing");
}

/** The metres between two places along the great circle of a sphere, by the haversine formula. */
export function distanceBetween(a: GeoPoint, b: GeoPoint): number {
  const radians = Math.PI / 180;
  const [halfLat, halfLon] = [((b.lat - a.lat) * radians) / 2, ((b.lon - a.lon) * radians) / 2];
  const [sinLat, sinLon] = [Math.sin(halfLat), Math.sin(halfLon)];
  const haversine = sinLat * sinLat + Math.cos(a.lat * radians) * Math.cos(b.lat * radians) * sinLon * sinLon;
  // Rounding may go beyond 1 for opposite places.
  return (2 * Math.asin(Math.sqrt(Math.min(1, haversine))) * METRES_PER_DEGREE) / radians;
}
