/** Tests of schedules in words: the words are true, and a schedule without true words stays unchanged. */
import { describe, expect, test } from "bun:test";
import { cronWords } from "./cron-words.ts";

describe("a schedule in words", () => {
  test.each([
    ["* * * * *", "Every minute"],
    ["*/5 * * * *", "Every 5 minutes"],
    ["0 * * * *", "Every hour"],
    ["0 3 * * *", "At 03:00"],
    ["30 6,18 * * *", "At 06:30 and 18:30"],
    ["30 6 * * MON-FRI", "At 06:30, Monday through Friday"],
    ["0 9 * * 7", "At 09:00, only on Sunday"],
    ["0 3 1 * *", "At 03:00, on day 1 of the month"],
    ["@daily", "At 00:00"],
    ["@Weekly", "At 00:00, only on Sunday"],
    ["*/5 9-17 * * *", "Every 5 minutes, between 09:00 and 17:59"],
  ])("%s is %s", (schedule, words) => {
    expect(cronWords(schedule)).toBe(words);
  });

  test.each([
    // Steps that do not divide the hour or the day: the last distance differs.
    "*/7 * * * *",
    "0 */5 * * *",
    // Cron needs only the day or only the weekday to match.
    "0 3 1 * MON",
    // Not a cron expression.
    "0 3 * *",
    "60 3 * * *",
    "0 24 * * *",
    "0 3 32 * *",
    "*/0 * * * *",
    "whenever",
    "",
  ])("%s stays unchanged", (schedule) => {
    expect(cronWords(schedule)).toBe(schedule);
  });
});
