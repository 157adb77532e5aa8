/** Times of the zone that the user chooses. */
import dayjs from "dayjs";
import timezone from "dayjs/plugin/timezone.js";
import utc from "dayjs/plugin/utc.js";

dayjs.extend(utc);
dayjs.extend(timezone);

/** The function that shifts a time without a zone, given as if in UTC, to UTC. */
export function toUtcFrom(timeZone: string): (time: string) => string {
  return (time) => (timeZone === "UTC" ? time : dayjs.tz(time.slice(0, -1), timeZone).toISOString());
}
