/** Time: the clock of the service, timestamps, ids that sort by time, and the moved time of tests. */

/** A step back of the machine's clock by so many milliseconds, as NTP makes, does not turn back the service's time. */
const toleranceMs = 5_000;
/** The longest wait of `lookAfter`. */
const longestLookMs = 60_000;

const dayMs = 86_400_000;

/** An effect that a later time has. */
export interface Alarm {
  cancel(): void;
}

/**
 * The time of the service in milliseconds since 1970. Small corrections of the machine's clock do not turn the time
 * back: the time stands still until the machine's clock has caught up, also across a restart once the clock was given
 * the latest stored time. After a larger step back the machine's clock was wrong before, and the time follows the
 * clock. Order never depends on the time: records and events have places.
 */
export class Clock {
  readonly #onStepBack: (from: number, to: number) => void;
  #latest = 0;

  /** @param onStepBack called when the time follows the machine's clock back, with the times before and after. */
  constructor(onStepBack: (from: number, to: number) => void = () => undefined) {
    this.#onStepBack = onStepBack;
  }

  now(): number {
    const time = Date.now();
    if (time > this.#latest) this.#latest = time;
    else if (time < this.#latest - toleranceMs) {
      const before = this.#latest;
      this.#latest = time;
      this.#onStepBack(before, time);
    }
    return this.#latest;
  }

  /** In a replica of a cluster: how far the clock of this machine is ahead of the leader's clock, in milliseconds. */
  aheadMs = 0;

  /** The clock of the machine that ends tokens, keys and links: the leader's in a cluster, otherwise this machine's. */
  ofLeader(): number {
    return Date.now() - this.aheadMs;
  }

  /** Gives a stored time: `now` answers no earlier time, unless the machine's clock steps back by more than a correction. */
  atLeast(time: number): void {
    if (time > this.#latest) this.#latest = time;
  }

  /** Milliseconds that have passed since some moment of this process. No step of the machine's clock changes this time. */
  steady(): number {
    return performance.now();
  }

  /** Calls `effect` after so many milliseconds. An alarm keeps no process running. */
  after(ms: number, effect: () => void): Alarm {
    const timer = setTimeout(effect, ms).unref();
    return { cancel: () => clearTimeout(timer) };
  }

  /** Like `after`, but a minute at the latest: clocks are changed, so whoever waits for long looks again. */
  lookAfter(ms: number, effect: () => void): Alarm {
    return this.after(Math.min(ms, longestLookMs), effect);
  }
}

let lastTime = -1;
let lastText = "";

/** ISO 8601, UTC, with milliseconds. The last answer is kept: under load most calls ask for the same millisecond. */
export function toTimestamp(time: number): string {
  if (time !== lastTime) {
    lastText = new Date(time).toISOString();
    lastTime = time;
  }
  return lastText;
}

/** A new id: the prefix and a UUIDv7 (RFC 9562). The ids of a process sort by creation, so an index of ids is append-only. */
export function newId(
  prefix: "rec" | "usr" | "ses" | "key" | "fil" | "run" | "imp" | "und" | "mai" | "psk",
  time: number,
): string {
  return `${prefix}_${Bun.randomUUIDv7("hex", time)}`;
}

/** Only a process of `socle test` has a `Date` that is ahead of the machine's clock. */
const MachineDate = Date;
let offset = 0;

/** Whether `Date` of this process follows `moveTime`. */
export function isTimeMovable(): boolean {
  return globalThis.Date !== MachineDate;
}

/** Milliseconds by which `Date` is ahead of the machine's clock. */
export function timeOffset(): number {
  return offset;
}

/** The machine's clock, in milliseconds since 1970. */
export function machineTime(): number {
  return MachineDate.now();
}

/**
 * From now on, `Date` is so many milliseconds ahead of the machine's clock, in all code of this process but that of the threads.
 */
export function moveTime(milliseconds: number): void {
  if (!isTimeMovable()) install();
  offset = milliseconds;
}

function install(): void {
  const now = (): number => MachineDate.now() + offset;
  globalThis.Date = new Proxy(MachineDate, {
    get: (target, name) => (name === "now" ? now : Reflect.get(target, name)),
    construct: (target, args: unknown[], newTarget) =>
      Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget),
    apply: () => new MachineDate(now()).toString(),
  });
  // `date.constructor === Date` holds as before.
  MachineDate.prototype.constructor = globalThis.Date;
}

/** Whether a text is the name of a time zone of the IANA database, such as "Europe/Berlin". */
export function isTimeZone(name: string): boolean {
  try {
    return /^[A-Za-z]/.test(name) && new Intl.DateTimeFormat("en", { timeZone: name }).format(0) !== "";
  } catch {
    return false;
  }
}

/** Units of time, the longest last. A week begins on Monday. */
export const TIME_UNITS = ["hour", "day", "week", "month", "year"] as const;
export type TimeUnit = (typeof TIME_UNITS)[number];

/** No stored time is before this moment. */
const firstTime = "0000-01-01T00:00:00.000Z";

/** The beginning of the unit that a stored time lies in, by the clocks of a time zone, as a stored time. */
export function unitStart(unit: TimeUnit, time: string, zone: string): string {
  const local = Temporal.Instant.from(time).toZonedDateTimeISO(zone);
  const starts: { readonly [unit in TimeUnit]: () => Temporal.ZonedDateTime } = {
    hour: () => local.round({ smallestUnit: "hour", roundingMode: "floor" }),
    day: () => local.startOfDay(),
    week: () => local.subtract({ days: local.dayOfWeek - 1 }).startOfDay(),
    month: () => local.with({ day: 1 }).startOfDay(),
    year: () => local.with({ month: 1, day: 1 }).startOfDay(),
  };
  const start = starts[unit]().toInstant().toString({ fractionalSecondDigits: 3 });
  return start.startsWith("-") ? firstTime : start;
}

/**
 * The beginning of the day in a time zone, moved by so many milliseconds: whole days are days of the calendar, which may have 23 or 25
 * hours. @param now and answer: milliseconds since 1970.
 */
export function startOfToday(now: number, shift: number, zone: string): number {
  const days = Math.trunc(shift / dayMs);
  const today = Temporal.Instant.fromEpochMilliseconds(now).toZonedDateTimeISO(zone).startOfDay();
  return today.add({ days }).epochMilliseconds + shift - days * dayMs;
}
