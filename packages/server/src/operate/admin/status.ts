/** Status: the conditions of the service that are not well, each with the remedy and the time of the first look; for `socle status`, the dashboard and Prometheus. */
import type { ServiceStatus, StatusItem } from "@socle/protocol";
import { toTimestamp } from "../../base/kernel/index.ts";
import { conditions, keyOf, type StatusSources, type Totals } from "./conditions.ts";

export type { StatusSources };

/** Between two looks, by which the time of `since` and of rates is known. */
const everyMs = 60_000;
/** The looks that a rate covers. */
const looks = 10;

/** A condition with a key, which stays the same while numbers and errors in the text change. */
export interface StatusCondition {
  readonly key: string;
  readonly item: StatusItem;
}

export class Status {
  readonly #sources: StatusSources;
  /** The totals of the last looks, oldest first. */
  #totals: Totals[] = [];
  /** Since when each condition holds, by key. */
  #since = new Map<string, number>();

  constructor(sources: StatusSources) {
    this.#sources = sources;
  }

  /** Looks each minute until the signal. */
  start(signal: AbortSignal): void {
    this.#totals.push(this.#now());
    const timer = setInterval(() => {
      void this.now().catch((error: unknown) => this.#sources.logger.often("The status could not be seen", { error }));
      this.#totals = [...this.#totals, this.#now()].slice(-looks);
    }, everyMs);
    timer.unref();
    signal.addEventListener("abort", () => clearInterval(timer));
  }

  /** The worst first. */
  async now(): Promise<ServiceStatus> {
    const items = (await this.conditions()).map(({ item }) => item);
    return { isWell: items.every(({ level }) => level === "note"), items };
  }

  /** The worst first. */
  async conditions(): Promise<StatusCondition[]> {
    const found = await conditions(this.#sources, this.#now(), this.#totals[0] ?? null);
    const before = this.#since;
    const now = this.#sources.clock.now();
    this.#since = new Map(found.map((each) => [keyOf(each), before.get(keyOf(each)) ?? now]));
    return found.map(({ subject, ...each }) => {
      const key = keyOf({ ...each, subject });
      return { key, item: { ...each, since: toTimestamp(this.#since.get(key) ?? now) } };
    });
  }

  #now(): Totals {
    const { database, limits } = this.#sources;
    const { meter } = database;
    return { flushes: meter.flushes.totals(), refused: new Map(meter.refused()), limits: new Map(limits.totals()) };
  }
}
