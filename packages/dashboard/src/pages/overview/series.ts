/** The series of the charts, with their colours: the legends show the series before the charts are loaded. */
import { text } from "../../texts/index.ts";

export interface Series {
  readonly name: string;
  readonly label: string;
  readonly color: string;
}

export const requestSeries: readonly Series[] = [
  { name: "answered", label: text.overview.answered, color: "verdigris.5" },
  { name: "clientErrors", label: text.overview.clientErrors, color: "yellow.6" },
  { name: "errors", label: text.overview.serverErrors, color: "red.7" },
];

export const latencySeries: readonly Series[] = [
  { name: "p50", label: text.overview.p50, color: "verdigris.5" },
  { name: "p99", label: text.overview.p99, color: "violet.5" },
];
