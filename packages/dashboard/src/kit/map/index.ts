/** A map of places, loaded with the outlines of the countries at the first display. */
import { lazy } from "react";

export type { MapPoint } from "./map-view.ts";
export const WorldMap = lazy(async () => ({ default: (await import("./world-map.tsx")).WorldMap }));
