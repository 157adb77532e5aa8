/** Times of the zone that the user chooses. */

const dayMs = 86_400_000;

/** The formats that tell offsets, by zone: a format is slow to make. */
const formats = new Map<string, Intl.DateTimeFormat>();

/**
 * The function that shifts a time without a zone, given as if in UTC, to UTC. Of a time that the clock of the zone shows twice, the first
 * counts; a time that the clock skips counts by the clock before the gap.
 */
export function toUtcFrom(timeZone: string): (time: string) => string {
  if (timeZone === "UTC") return (time) => time;
  return (time) => {
    const local = Date.parse(time);
    const [before, after] = [offsetOf(timeZone, local - dayMs), offsetOf(timeZone, local + dayMs)];
    const isAfter = offsetOf(timeZone, local - before) !== before && offsetOf(timeZone, local - after) === after;
    return new Date(local - (isAfter ? after : before)).toISOString();
  };
}

/** The milliseconds by which the clock of a zone is ahead of UTC at a moment. */
function offsetOf(timeZone: string, moment: number): number {
  let format = formats.get(timeZone);
  if (format === undefined) {
    format = new Intl.DateTimeFormat("en-US", { timeZone, timeZoneName: "longOffset" });
    formats.set(timeZone, format);
  }
  const name = format.formatToParts(moment).find(({ type }) => type === "timeZoneName")?.value ?? "";
  // The local mean time of earlier centuries has seconds: GMT+00:53:28.
  const [, sign, hours = 0, minutes = 0, seconds = 0] = /([+-])(\d+):(\d+)(?::(\d+))?/.exec(name) ?? [];
  return ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * (sign === "-" ? -1_000 : 1_000);
}
