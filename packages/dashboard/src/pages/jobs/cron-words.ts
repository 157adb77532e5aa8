/** Cron schedules in words, by the library cronstrue: "30 6 * * MON-FRI" → "At 06:30, Monday through Friday". */
import cronstrue from "cronstrue";

/** Fields of a schedule whose steps begin anew at the end of the field, and the values of the field. */
const whole = [60, 24];

/** The words, or the schedule unchanged if the words of the library would be wrong, or the schedule has another form. */
export function cronWords(schedule: string): string {
  const fields = schedule.trim().split(/\s+/);
  // The last distance of a step that does not divide the hour or the day differs from the others.
  const isUneven = whole.some((values, i) => values % Number(/^\*\/(\d+)$/.exec(fields[i] ?? "")?.[1] ?? 1) !== 0);
  // With a day of the month and a weekday, cron needs one match; the words would say that both are needed.
  const isEither = fields.length === 5 && fields[2] !== "*" && fields[4] !== "*";
  if (isUneven || isEither) return schedule;
  try {
    return cronstrue.toString(schedule.toLowerCase(), { use24HourTimeFormat: true });
  } catch {
    return schedule;
  }
}
