/** The calendar below the value of a time condition. `conditions.tsx` loads this file on demand. */
import { DatePicker } from "@mantine/dates";
import { calendarProps } from "../editor/controls/calendar.tsx";

export function DayPicker({ value, onChange }: { value: string; onChange: (day: string) => void }) {
  const day = /^\d{4}-\d{2}-\d{2}/.exec(value)?.[0] ?? null;
  return (
    <DatePicker
      {...calendarProps}
      value={day}
      {...(day !== null && { defaultDate: day })}
      onChange={(next) => next !== null && onChange(next.slice(0, 10))}
    />
  );
}
