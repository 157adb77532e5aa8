/**
 * A map of places, drawn without a request to another host: the pointer or the arrow keys move the map, `+` and `-` zoom. A click
 * chooses a place, and so does Enter the place in the middle.
 */
import { useComputedColorScheme } from "@mantine/core";
import { useElementSize, useMergedRef } from "@mantine/hooks";
import type { GeoPoint } from "@socle/protocol";
import { geoPath } from "d3-geo";
import {
  type KeyboardEvent,
  type PointerEvent,
  type Ref,
  type RefObject,
  useEffect,
  useId,
  useMemo,
  useRef,
  useState,
} from "react";
import { IconMinus, IconPlus, IconWorld } from "../../icons/index.ts";
import { text } from "../../texts/index.ts";
import { IconAction } from "../icon-action.tsx";
import {
  type MapPoint,
  type MapView,
  marksOf,
  moved,
  type PlaceMark,
  placeAt,
  projectionOf,
  type Size,
  viewOf,
  zoomed,
} from "./map-view.ts";
import { outlinesIn } from "./outlines.ts";
import classes from "./world-map.module.css";

interface WorldMapProps {
  /** The accessible name. */
  label: string;
  points: readonly MapPoint[];
  /** The words of a mark. */
  nameOf: (ids: readonly string[]) => string;
  /** Called with the chosen place, and with the points at this place. */
  onChoose: (place: GeoPoint, ids: readonly string[]) => void;
  mapRef?: Ref<HTMLElement>;
}

/** Pixels around a mark that belong to the mark. */
const reach = 16;
/** Pixels of a press of an arrow key. */
const step = 40;
const arrows: { readonly [key: string]: readonly [number, number] } = {
  ArrowLeft: [-step, 0],
  ArrowRight: [step, 0],
  ArrowUp: [0, -step],
  ArrowDown: [0, step],
};
const zooms: { readonly [key: string]: number } = { "+": 1, "=": 1, "-": -1 };

type Pixel = readonly [number, number];

function nearest(marks: readonly PlaceMark[], [x, y]: Pixel): PlaceMark | undefined {
  const distance = (mark: PlaceMark): number => Math.hypot(mark.x - x, mark.y - y);
  return marks.filter((mark) => distance(mark) <= reach).sort((a, b) => distance(a) - distance(b))[0];
}

/** The view: all places at first, and again when the places have left the view. */
function useView(points: readonly MapPoint[], size: Size) {
  const [chosen, setView] = useState<MapView | null>(null);
  const view = useMemo(() => zoomed(chosen ?? viewOf(points, size), size), [chosen, points, size]);
  const marks = useMemo(() => marksOf(points, view, size), [points, view, size]);
  const [shown, setShown] = useState(points);
  if (shown !== points) {
    setShown(points);
    if (marks.length === 0 && points.length > 0) setView(null);
  }
  return { view, marks, setView };
}

export function WorldMap({ label, points, nameOf, onChoose, mapRef }: WorldMapProps) {
  const { ref, width, height } = useElementSize<HTMLDivElement>();
  const size = useMemo(() => ({ width: Math.max(1, width), height: Math.max(1, height) }), [width, height]);
  const { view, marks, setView } = useView(points, size);
  const hint = useId();
  const frame = useRef<HTMLDivElement>(null);
  const middle: Pixel = [size.width / 2, size.height / 2];
  const choose = (pixel: Pixel): void => {
    setView(view);
    onChoose(placeAt(view, size, pixel), nearest(marks, pixel)?.ids ?? []);
  };
  /** The place at the pixel stays at the pixel. */
  const zoomAt = (change: number, [x, y]: Pixel): void => {
    const next = zoomed({ ...view, zoom: view.zoom + change }, size);
    const part = 1 - 2 ** (view.zoom - next.zoom);
    setView({ ...moved(view, size, [(x - middle[0]) * part, (y - middle[1]) * part]), zoom: next.zoom });
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const arrow = arrows[event.key];
    const zoom = zooms[event.key];
    if (event.altKey || event.ctrlKey || event.metaKey || event.target !== event.currentTarget) return;
    if (arrow !== undefined) setView(moved(view, size, arrow));
    else if (zoom !== undefined) zoomAt(zoom, middle);
    else if (event.key === "0") setView(null);
    else if (event.key === "Enter") choose(middle);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const drag = useDrag({ onMove: (by) => setView(moved(view, size, by)), onClick: choose });
  useWheel(frame, zoomAt);
  const place = placeAt(view, size, middle);
  const atMiddle = nearest(marks, middle);
  return (
    <div className={classes["map"]}>
      <div
        ref={useMergedRef(ref, frame, mapRef)}
        role="application"
        aria-label={label}
        aria-describedby={hint}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the keys move the map.
        tabIndex={0}
        className={classes["frame"]}
        onKeyDown={onKeyDown}
        {...drag}
      >
        <Outlines view={view} size={size} />
        <svg className={classes["marks"]} aria-hidden>
          {marks.map(({ x, y, ids }) => (
            <g key={ids[0]} transform={`translate(${x} ${y})`} data-ids={ids.length}>
              <title>{nameOf(ids)}</title>
              <circle r={ids.length === 1 ? 6 : ids.length < 100 ? 12 : 14} />
              {ids.length > 1 && <text dy="0.35em">{ids.length > 999 ? "999+" : ids.length}</text>}
            </g>
          ))}
          <path className={classes["middle"]} d={`M${middle.join(" ")}m-10 0h20m-10 -10v20`} />
        </svg>
      </div>
      <p id={hint} className={classes["hint"]}>
        {text.map.keys}
      </p>
      <output className={classes["place"]}>
        {place.lat}, {place.lon}
        {atMiddle !== undefined && ` · ${nameOf(atMiddle.ids)}`}
      </output>
      <div className={classes["buttons"]}>
        <IconAction icon={IconPlus} label={text.map.zoomIn} variant="default" onClick={() => zoomAt(1, middle)} />
        <IconAction icon={IconMinus} label={text.map.zoomOut} variant="default" onClick={() => zoomAt(-1, middle)} />
        <IconAction icon={IconWorld} label={text.map.all} variant="default" onClick={() => setView(null)} />
      </div>
    </div>
  );
}

/** The pixel of an event inside of the map. */
function pixelOf({ clientX, clientY }: { clientX: number; clientY: number }, frame: Element): Pixel {
  const { left, top } = frame.getBoundingClientRect();
  return [clientX - left, clientY - top];
}

/** A press that moves by more than some pixels moves the map; any other press is a click. */
function useDrag({ onMove, onClick }: { onMove: (by: Pixel) => void; onClick: (pixel: Pixel) => void }) {
  const last = useRef<{ pixel: Pixel; isMove: boolean } | null>(null);
  return {
    onPointerDown: (event: PointerEvent<HTMLElement>): void => {
      if (event.button !== 0) return;
      event.currentTarget.setPointerCapture(event.pointerId);
      last.current = { pixel: pixelOf(event, event.currentTarget), isMove: false };
    },
    onPointerMove: (event: PointerEvent<HTMLElement>): void => {
      const { current } = last;
      if (current === null) return;
      const pixel = pixelOf(event, event.currentTarget);
      const by: Pixel = [current.pixel[0] - pixel[0], current.pixel[1] - pixel[1]];
      if (!current.isMove && Math.hypot(...by) < 4) return;
      last.current = { pixel, isMove: true };
      onMove(by);
    },
    onPointerUp: (): void => {
      const { current } = last;
      last.current = null;
      if (current?.isMove === false) onClick(current.pixel);
    },
    onPointerCancel: (): void => {
      last.current = null;
    },
  };
}

/** The wheel zooms while the map has the focus, or with Ctrl; else, the wheel scrolls the page. */
function useWheel(map: RefObject<HTMLElement | null>, zoomAt: (change: number, pixel: Pixel) => void): void {
  const latest = useRef(zoomAt);
  latest.current = zoomAt;
  useEffect(() => {
    const { current: frame } = map;
    const onWheel = (event: WheelEvent): void => {
      if (frame === null || (!event.ctrlKey && document.activeElement !== frame)) return;
      event.preventDefault();
      latest.current(-event.deltaY / 300, pixelOf(event, frame));
    };
    // A listener of React could not keep the page from scrolling.
    frame?.addEventListener("wheel", onWheel, { passive: false });
    return () => frame?.removeEventListener("wheel", onWheel);
  }, [map]);
}

/** The countries, as a picture: elements for a hundred thousand points would be slow. */
function Outlines({ view, size }: { view: MapView; size: Size }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const scheme = useComputedColorScheme();
  // biome-ignore lint/correctness/useExhaustiveDependencies: another scheme has other colours.
  useEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (!canvas.current || !context) return;
    const { color, borderTopColor } = getComputedStyle(canvas.current);
    const ratio = window.devicePixelRatio;
    canvas.current.width = size.width * ratio;
    canvas.current.height = size.height * ratio;
    context.scale(ratio, ratio);
    const path = geoPath(projectionOf(view, size), context);
    context.fillStyle = color;
    context.strokeStyle = borderTopColor;
    context.beginPath();
    for (const shape of outlinesIn(view, size)) path(shape);
    context.fill();
    context.stroke();
  }, [view, size, scheme]);
  return <canvas ref={canvas} className={classes["outlines"]} />;
}
