/**
 * The outlines of the countries: Natural Earth (public domain), coarse and fine, as the files of world-atlas 2.0.2 (ISC) have the outlines. The
 * package has ten times as many bytes.
 */
import { type GeoPermissibleObjects, geoBounds } from "d3-geo";
import { feature } from "topojson-client";
import type { GeometryCollection, Topology } from "topojson-specification";
import fineWorld from "./countries-50m.json";
import coarseWorld from "./countries-110m.json";
import { type Bounds, isInView, type MapView, type Size } from "./map-view.ts";

interface Outline {
  readonly shape: GeoPermissibleObjects;
  readonly bounds: Bounds;
}

function outlinesOf(world: unknown): readonly Outline[] {
  // Each file is a topology with this object.
  const topology = world as Topology<{ countries: GeometryCollection }>;
  return feature(topology, topology.objects.countries).features.map((shape) => ({ shape, bounds: geoBounds(shape) }));
}

const coarse = outlinesOf(coarseWorld);
const fine = outlinesOf(fineWorld);
/** The zoom from which on the fine outlines are drawn. */
const fineZoom = 3.5;

/** The outlines of the countries in the view. */
export function outlinesIn(view: MapView, size: Size): GeoPermissibleObjects[] {
  const all = view.zoom < fineZoom ? coarse : fine;
  return all.filter(({ bounds }) => isInView(bounds, view, size)).map(({ shape }) => shape);
}
