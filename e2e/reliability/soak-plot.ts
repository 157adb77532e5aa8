/** The picture of the soak: one small chart for each measure, as an SVG that follows the reader's light or dark mode. */
import { type Measure, type Sample, slope } from "./soak-samples.ts";

interface Chart {
  readonly measure: Measure;
  readonly title: string;
  /** The unit of the slope, per minute; empty for a count. */
  readonly unit: string;
}

export const charts: readonly Chart[] = [
  { measure: "service", title: "memory of the service (MiB)", unit: "MiB" },
  { measure: "children", title: "memory of its processes (MiB)", unit: "MiB" },
  { measure: "descriptors", title: "descriptors", unit: "" },
  { measure: "threads", title: "threads", unit: "" },
  { measure: "log", title: "write-ahead log (MiB)", unit: "MiB" },
  { measure: "database", title: "database (MiB)", unit: "MiB" },
];

const width = 360;
const height = 150;
const columns = 2;
/** Room around the lines of a chart, for the title and the numbers. */
const margin = { left: 44, right: 14, top: 30, bottom: 34 };

/** A round number of which a few make up `most`. */
function stepOf(most: number, count: number): number {
  const rough = most / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  return power * ([1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10);
}

function ticks(most: number, count: number): number[] {
  const step = stepOf(most, count);
  return Array.from({ length: Math.floor(most / step + 1e-9) + 1 }, (_, i) => Number((i * step).toPrecision(6)));
}

function chart({ measure, title, unit }: Chart, samples: readonly Sample[], warmUp: number): string {
  const end = samples.at(-1)?.minute ?? 1;
  const most = Math.max(1, ...samples.map((sample) => sample[measure])) * 1.1;
  const right = width - margin.right;
  const bottom = height - margin.bottom;
  const x = (minute: number): string => (margin.left + (minute / end) * (right - margin.left)).toFixed(1);
  const y = (value: number): string => (bottom - (value / most) * (bottom - margin.top)).toFixed(1);
  const points = samples.map((sample) => `${x(sample.minute)},${y(sample[measure])}`).join(" ");
  const judged = samples.filter(({ minute }) => minute >= warmUp);
  const slopeOf = slope(judged, measure);
  const rise = `${slopeOf < 0 ? "" : "+"}${slopeOf.toFixed(2)}${unit === "" ? "" : ` ${unit}`}/min`;
  const rows = ticks(most, 4).map(
    (value) =>
      `<line class="grid" x1="${margin.left}" x2="${right}" y1="${y(value)}" y2="${y(value)}"/>` +
      `<text x="${margin.left - 6}" y="${Number(y(value)) + 3}" text-anchor="end">${value}</text>`,
  );
  const minutes = ticks(end, 6).map(
    (value) => `<text x="${x(value)}" y="${bottom + 13}" text-anchor="middle">${value}</text>`,
  );
  return [
    `<text class="title" x="${margin.left}" y="18">${title}</text>`,
    `<text x="${right}" y="18" text-anchor="end">${judged.length > 1 ? rise : ""}</text>`,
    `<rect class="warm" x="${margin.left}" y="${margin.top}" width="${Number(x(Math.min(warmUp, end))) - margin.left}" height="${bottom - margin.top}"/>`,
    ...rows,
    ...minutes,
    `<text x="${right}" y="${bottom + 26}" text-anchor="end">minutes</text>`,
    `<polyline points="${points}"/>`,
  ].join("\n");
}

const style = `
svg { background: #ffffff; }
text { font: 10px system-ui, sans-serif; fill: #57606a; }
.title { font-size: 12px; font-weight: 600; fill: #1f2328; }
.grid { stroke: #d8dee4; stroke-width: 1; }
.warm { fill: #eef1f4; }
polyline { fill: none; stroke: #0969da; stroke-width: 1.5; stroke-linejoin: round; }
@media (prefers-color-scheme: dark) {
  svg { background: #0d1117; }
  text { fill: #8b949e; }
  .title { fill: #e6edf3; }
  .grid { stroke: #30363d; }
  .warm { fill: #1c2128; }
  polyline { stroke: #4493f8; }
}`;

/** @param warmUp minutes that are shaded and not judged. */
export function plot(samples: readonly Sample[], warmUp: number): string {
  const rows = Math.ceil(charts.length / columns);
  const parts = charts.map(
    (each, i) =>
      `<g transform="translate(${(i % columns) * width} ${Math.floor(i / columns) * height})">\n${chart(each, samples, warmUp)}\n</g>`,
  );
  const size = `width="${columns * width}" height="${rows * height}" viewBox="0 0 ${columns * width} ${rows * height}"`;
  const label = "What the service took during the soak, over time; the minutes of warm-up are shaded";
  return `<svg xmlns="http://www.w3.org/2000/svg" ${size} role="img" aria-label="${label}">\n<style>${style}\n</style>\n${parts.join("\n")}\n</svg>\n`;
}
