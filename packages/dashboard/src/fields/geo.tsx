/** The field type whose value is a place: two numbers of degrees, with a link to a map. */
import { geoProblem, type JsonValue } from "@socle/protocol";
import { IconMapPin } from "../icons/index.ts";
import { preloadable } from "../kit/preloadable.tsx";
import { parsePlace, writtenPlace } from "../pages/records/editor/places.ts";
import classes from "./cell.module.css";
import { type CellProps, type FieldKind, noValue, nullness, words } from "./kind.ts";

function GeoCell({ value }: CellProps) {
  return <span className={`cut numbers ${classes["text"]}`}>{writtenPlace(value)}</span>;
}

export const geoKind: FieldKind = {
  icon: IconMapPin,
  words: words("geo"),
  width: 190,
  isInline: true,
  operators: nullness,
  completions: ["=", "!="],
  values: [noValue],
  read: () => null,
  parse: parsePlace,
  firstDefault: '{ "lat": 0, "lon": 0 }',
  isDefault: (value: JsonValue) => geoProblem(value) === null,
  example: { lat: 52.52, lon: 13.405 },
  Cell: GeoCell,
  control: preloadable(async () => (await import("../pages/records/editor/controls/geo-control.tsx")).GeoControl),
};
