/** The picture of `bench/processes.ts`: requests per second over the number of processes, as an SVG that follows the reader's light or dark mode. */

export interface Series {
  readonly name: string;
  readonly points: readonly { readonly processes: number; readonly measured: number; readonly withCores: number }[];
}

const width = 360;
const height = 190;
const columns = 2;
const margin = { left: 56, right: 16, top: 30, bottom: 34 };

const style = `
svg { background: #ffffff; }
text { font: 10px system-ui, sans-serif; fill: #57606a; }
.title { font-size: 12px; font-weight: 600; fill: #1f2328; }
.grid { stroke: #d8dee4; stroke-width: 1; }
polyline { fill: none; stroke: #0969da; stroke-width: 1.5; }
circle { fill: #0969da; }
.measured { stroke: #57606a; stroke-dasharray: 4 3; }
@media (prefers-color-scheme: dark) {
  svg { background: #0d1117; }
  text { fill: #8b949e; }
  .title { fill: #e6edf3; }
  .grid { stroke: #30363d; }
  polyline { stroke: #4493f8; }
  circle { fill: #4493f8; }
  .measured { stroke: #8b949e; }
}`;

/** A round number of which at most four make up `most`. */
function stepOf(most: number): number {
  const power = 10 ** Math.floor(Math.log10(most / 4));
  return power * ([1, 2, 5].find((factor) => factor * power >= most / 4) ?? 10);
}

function chart({ name, points }: Series): string {
  const most = Math.max(...points.flatMap(({ measured, withCores }) => [measured, withCores])) * 1.05;
  const last = Math.max(...points.map(({ processes }) => processes));
  const right = width - margin.right;
  const bottom = height - margin.bottom;
  const x = (processes: number): string => ((processes / last) * (right - margin.left) + margin.left).toFixed(1);
  const y = (value: number): string => (bottom - (value / most) * (bottom - margin.top)).toFixed(1);
  const line = (key: "measured" | "withCores"): string =>
    points.map((point) => `${x(point.processes)},${y(point[key])}`).join(" ");
  const step = stepOf(most);
  const rows = Array.from({ length: Math.floor(most / step) + 1 }, (_, i) => i * step).map(
    (value) =>
      `<line class="grid" x1="${margin.left}" x2="${right}" y1="${y(value)}" y2="${y(value)}"/>` +
      `<text x="${margin.left - 6}" y="${Number(y(value)) + 3}" text-anchor="end">${value.toLocaleString("en")}</text>`,
  );
  return [
    `<text class="title" x="${margin.left}" y="18">${name} (requests/s)</text>`,
    ...rows,
    ...points.map(
      ({ processes }) => `<text x="${x(processes)}" y="${bottom + 13}" text-anchor="middle">${processes}</text>`,
    ),
    `<text x="${right}" y="${bottom + 26}" text-anchor="end">processes</text>`,
    `<polyline class="measured" points="${line("measured")}"/>`,
    `<polyline points="${line("withCores")}"/>`,
    ...points.map(({ processes, withCores }) => `<circle cx="${x(processes)}" cy="${y(withCores)}" r="2.5"/>`),
  ].join("\n");
}

export function plot(series: readonly Series[]): string {
  const rows = Math.ceil(series.length / columns);
  const parts = series.map(
    (each, i) =>
      `<g transform="translate(${(i % columns) * width} ${Math.floor(i / columns) * height})">\n${chart(each)}\n</g>`,
  );
  const size = [columns * width, rows * height + 20] as const;
  const label =
    "Requests per second over the number of processes: as calculated from the processor times, for a core each, and as measured";
  const legend = `<text x="${margin.left}" y="${size[1] - 8}">Solid: with a core for each process, by the processor times. Dashed: as measured on two cores, beside the load generator.</text>`;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${size[0]}" height="${size[1]}" viewBox="0 0 ${size.join(" ")}" role="img" aria-label="${label}">\n<style>${style}\n</style>\n${parts.join("\n")}\n${legend}\n</svg>\n`;
}
