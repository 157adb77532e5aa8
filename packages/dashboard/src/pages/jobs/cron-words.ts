/** Cron schedules in words, by the library cronstrue: "30 6 * * MON-FRI" → "At 06:30, Monday through Friday". */
import cronstrue from "cronstrue";

/** The words, or the schedule unchanged if the library does not know the form of the schedule. */
export function cronWords(schedule: string): string {
  try {
    return cronstrue.toString(schedule, { use24HourTimeFormat: true });
  } catch {
    return schedule;
  }
}
