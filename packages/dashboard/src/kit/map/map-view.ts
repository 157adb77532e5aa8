/** The part of the world that a map shows: the projection (Mercator), the view that holds all places, places that share a mark. */
import type { GeoPoint } from "@socle/protocol";
import { type GeoProjection, geoMercator } from "d3-geo";

/** The middle of the map. At a zoom of z, the whole world is 256 · 2^z pixels wide. */
export interface MapView extends GeoPoint {
  readonly zoom: number;
}

/** In pixels. */
export interface Size {
  readonly width: number;
  readonly height: number;
}

export interface MapPoint extends GeoPoint {
  readonly id: string;
}

/** A mark on the map: a place, or places that are too close for separate marks. */
export interface PlaceMark {
  readonly x: number;
  readonly y: number;
  readonly ids: readonly string[];
}

/** Mercator has no poles: a place beyond this latitude stands at the edge. */
const lastLatitude = 85;
const tile = 256;
const largestZoom = 12;
/** The zoom at which a single place is shown. */
const singleZoom = 5;
/** Pixels around the places. */
const margin = 40;
/** Places within a square of this many pixels share a mark. */
const markSize = 28;

function clamp(value: number, least: number, most: number): number {
  return Math.max(least, Math.min(most, value));
}

/** The degrees from one longitude to the east until another, from 0 on. */
function eastwards(from: number, to: number): number {
  return (((to - from) % 360) + 360) % 360;
}

function wrapped(lon: number): number {
  return eastwards(-180, lon) - 180;
}

/** The world is cut opposite of the middle: a map of the antimeridian shows both sides. */
export function projectionOf({ lat, lon, zoom }: MapView, { width, height }: Size): GeoProjection {
  return (
    geoMercator()
      .rotate([-lon, 0])
      .center([0, clamp(lat, -lastLatitude, lastLatitude)])
      .scale((tile * 2 ** zoom) / (2 * Math.PI))
      .translate([width / 2, height / 2])
      // Outlines have enough points: further points between them would cost four times as much.
      .precision(0)
      .clipExtent([
        [-1, -1],
        [width + 1, height + 1],
      ])
  );
}

/** The place at a pixel, with as many decimals as a pixel tells. */
export function placeAt(view: MapView, size: Size, [x, y]: readonly [number, number]): GeoPoint {
  const [lon, lat] = projectionOf(view, size).invert?.([x, y]) ?? [view.lon, view.lat];
  const decimals = 10 ** Math.max(0, Math.ceil(Math.log10((tile * 2 ** view.zoom) / 360)));
  const rounded = (degrees: number): number => Math.round(degrees * decimals) / decimals;
  return { lat: clamp(rounded(lat), -90, 90), lon: rounded(wrapped(lon)) };
}

/** The map never shows more than the world is wide. */
export function zoomed(view: MapView, { width }: Size): MapView {
  return { ...view, lon: wrapped(view.lon), zoom: clamp(view.zoom, Math.log2(width / tile), largestZoom) };
}

/** The view after a move by pixels. */
export function moved(view: MapView, size: Size, [dx, dy]: readonly [number, number]): MapView {
  const [lon, lat] = projectionOf(view, size).invert?.([size.width / 2 + dx, size.height / 2 + dy]) ?? [0, 0];
  return { ...view, lat: clamp(lat, -lastLatitude, lastLatitude), lon: wrapped(lon) };
}

/** The height of a latitude on a Mercator map of a width of 2π. */
function northing(lat: number): number {
  return Math.log(Math.tan(Math.PI / 4 + (clamp(lat, -lastLatitude, lastLatitude) * Math.PI) / 360));
}

/** The view with all places, also across the antimeridian; the whole world without a place. */
export function viewOf(points: readonly GeoPoint[], size: Size): MapView {
  const longitudes = points.map(({ lon }) => wrapped(lon)).sort((a, b) => a - b);
  const [first] = longitudes;
  if (first === undefined) return zoomed({ lat: 20, lon: 0, zoom: 0 }, size);
  // The view leaves out the widest gap between two neighbours.
  let start = first;
  let widest = 0;
  for (const [index, lon] of longitudes.entries()) {
    const next = longitudes[index + 1] ?? first + 360;
    if (next - lon > widest) [widest, start] = [next - lon, next];
  }
  const arc = 360 - widest;
  const northings = points.map(({ lat }) => northing(lat));
  const top = northings.reduce((a, b) => Math.max(a, b));
  const bottom = northings.reduce((a, b) => Math.min(a, b));
  const fits = (pixels: number, part: number): number => Math.log2(Math.max(1, pixels - 2 * margin) / (tile * part));
  const zoom = Math.min(singleZoom, fits(size.width, arc / 360), fits(size.height, (top - bottom) / (2 * Math.PI)));
  const lat = (Math.atan(Math.exp((top + bottom) / 2)) * 360) / Math.PI - 90;
  return zoomed({ lat, lon: start + arc / 2, zoom }, size);
}

/** First and last longitude and latitude; a part across the antimeridian ends before its beginning. */
export type Bounds = readonly [readonly [number, number], readonly [number, number]];

/** Whether a part of the world is in the view. */
export function isInView([[west, south], [east, north]]: Bounds, view: MapView, size: Size): boolean {
  const width = (size.width * 360) / (tile * 2 ** view.zoom);
  const start = view.lon - width / 2;
  const isBeside =
    width < 360 && eastwards(west, start) > (east < west ? east + 360 : east) - west && eastwards(start, west) > width;
  const project = projectionOf(view, size);
  const [, top] = project.invert?.([0, 0]) ?? [0, 90];
  const [, bottom] = project.invert?.([0, size.height]) ?? [0, -90];
  return !isBeside && south <= top && north >= bottom;
}

/** The marks of the places in the view. A mark of several places stands in the middle of a square, so that no marks cover each other. */
export function marksOf(points: readonly MapPoint[], view: MapView, size: Size): PlaceMark[] {
  const project = projectionOf(view, size);
  const marks = new Map<string, { x: number; y: number; ids: string[] }>();
  for (const { id, lat, lon } of points) {
    const [x, y] = project([lon, clamp(lat, -lastLatitude, lastLatitude)]) ?? [-1, -1];
    if (x < 0 || y < 0 || x > size.width || y > size.height) continue;
    const square = [Math.floor(x / markSize), Math.floor(y / markSize)] as const;
    const mark = marks.get(square.join(" "));
    if (mark === undefined) marks.set(square.join(" "), { x, y, ids: [id] });
    else {
      [mark.x, mark.y] = [(square[0] + 0.5) * markSize, (square[1] + 0.5) * markSize];
      mark.ids.push(id);
    }
  }
  return [...marks.values()];
}
