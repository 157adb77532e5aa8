/** Tests of schedules in words. */
import { describe, expect, test } from "bun:test";
import { cronWords } from "./cron-words.ts";

describe("a schedule in words", () => {
  test.each([
    ["* * * * *", "Every minute"],
    ["*/1 * * * *", "Every minute"],
    ["*/5 * * * *", "Every 5 minutes"],
    ["0 * * * *", "Every hour"],
    ["5 * * * *", "Every hour, 5 minutes past"],
    ["1 * * * *", "Every hour, 1 minute past"],
    ["0 */6 * * *", "Every 6 hours"],
    ["15 */2 * * *", "Every 2 hours, 15 minutes past"],
    ["0 3 * * *", "Every day at 03:00"],
    ["30 6,18 * * *", "Every day at 06:30 and 18:30"],
    ["0 6,12,18 * * *", "Every day at 06:00, 12:00 and 18:00"],
    ["30 6 * * MON-FRI", "Monday to Friday at 06:30"],
    ["30 6 * * 1-5", "Monday to Friday at 06:30"],
    ["0 9 * * sat,sun", "Saturday and Sunday at 09:00"],
    ["0 9 * * 0", "Sunday at 09:00"],
    ["0 9 * * 7", "Sunday at 09:00"],
    ["0 3 1 * *", "Day 1 of each month at 03:00"],
    ["0 3 1,15 * *", "Day 1 and 15 of each month at 03:00"],
    ["0 0 24 DEC *", "24 December at 00:00"],
    ["0 0 1 1,7 *", "1 January and July at 00:00"],
    ["@hourly", "Every hour"],
    ["@daily", "Every day at 00:00"],
    ["@Weekly", "Sunday at 00:00"],
    ["@monthly", "Day 1 of each month at 00:00"],
    ["@yearly", "1 January at 00:00"],
    ["  0   3 *  * * ", "Every day at 03:00"],
  ])("%s is %s", (expression, words) => {
    expect(cronWords(expression)).toBe(words);
  });

  test.each([
    // Steps that do not divide the hour or the day: the last distance differs.
    "*/7 * * * *",
    "0 */5 * * *",
    // Cron needs only the day or only the weekday to match; "on day 1, a Monday" would say both.
    "0 3 1 * MON",
    // A schedule in some months only.
    "0 3 * 6 *",
    "*/5 * * * MON",
    "*/5 9-17 * * *",
    "0-30/10 * * * *",
    "0 9-17 * * *",
    "0 1,2,3,4,5 * * *",
    // Not a cron expression.
    "0 3 * *",
    "0 3 * * * *",
    "60 3 * * *",
    "0 24 * * *",
    "0 3 32 * *",
    "0 3 * * MONDAY",
    "0 3 * * 5-1",
    "0 3 * * 1-3-5",
    "0x1 3 * * *",
    ", 3 * * *",
    "*/0 * * * *",
    "@reboot",
    "whenever",
    "",
  ])("%s stays unchanged", (expression) => {
    expect(cronWords(expression)).toBe(expression);
  });
});
