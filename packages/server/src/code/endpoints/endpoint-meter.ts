/** Requests to endpoints, counted: by file, method and class of the status, with their durations. */
import { Histogram } from "../../base/logging/index.ts";

export interface EndpointCount {
  readonly labels: { readonly file: string; readonly method: string; readonly status: string };
  readonly requests: number;
}

export class EndpointMeter {
  readonly durations = new Histogram();
  /** The counts by `file method class`. */
  readonly #counts = new Map<string, number>();

  observe({ path, method, status, ms }: { path: string; method: string; status: number; ms: number }): void {
    const key = `${path} ${method} ${Math.floor(status / 100)}xx`;
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
    this.durations.observe(ms);
  }

  totals(): EndpointCount[] {
    return [...this.#counts].map(([key, requests]) => {
      const [file = "", method = "", status = ""] = key.split(" ");
      return { labels: { file, method, status }, requests };
    });
  }
}
