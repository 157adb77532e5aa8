/** The calendar below the value of a time condition. `condition-form.tsx` loads this file on demand. */
import { DatePicker } from "@mantine/dates";
import "@mantine/dates/styles.css";
import { text } from "../../../texts/index.ts";

export function DayPicker({ value, onChange }: { value: string; onChange: (day: string) => void }) {
  const names = text.editor.calendar;
  const day = /^\d{4}-\d{2}-\d{2}/.exec(value)?.[0] ?? null;
  return (
    <DatePicker
      size="xs"
      fullWidth
      hideOutsideDates
      highlightToday
      value={day}
      {...(day !== null && { defaultDate: day })}
      onChange={(next) => next !== null && onChange(next.slice(0, 10))}
      ariaLabels={{
        previousMonth: names.previousMonth,
        nextMonth: names.nextMonth,
        previousYear: names.previousYear,
        nextYear: names.nextYear,
        previousDecade: names.previousDecade,
        nextDecade: names.nextDecade,
      }}
    />
  );
}
