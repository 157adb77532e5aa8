/** The calendar of a `datetime`: a day, or a day and a time of day in a zone. */
import { Button, Group, SegmentedControl, Stack } from "@mantine/core";
import "@mantine/dates/styles.css";
import { DatePicker, InlineDateTimePicker } from "@mantine/dates";
import { useState } from "react";
import { Dim } from "../../../../kit/words.tsx";
import { text } from "../../../../texts/index.ts";
import { dayOf, isDateOnly, parseDateTime, writeTime, type Zone, zoneName } from "../datetimes.ts";
import classes from "./controls.module.css";

export function isZone(value: string): value is Zone {
  return value === "local" || value === "utc";
}

interface CalendarProps {
  zone: Zone;
  onZone: (zone: Zone) => void;
  /** The time in the form of the API; null without a time. */
  time: string | null;
  onChange: (time: string) => void;
  onDone: () => void;
}

export function Calendar({ zone, onZone, time, onChange, onDone }: CalendarProps) {
  const [isDay, setDay] = useState(time !== null && isDateOnly(time));
  const names = text.editor.calendar;
  const choose = (next: string): void => {
    // A switch between a day and a time in a zone keeps the shown day.
    const day = time === null ? null : isDay ? dayOf(time, "utc") : dayOf(time, zone);
    if (next === "date") {
      setDay(true);
      if (day !== null) onChange(`${day}T00:00:00.000Z`);
      return;
    }
    if (!isZone(next)) return;
    setDay(false);
    onZone(next);
    const begin = isDay && day !== null ? parseDateTime(`${day} 00:00:00`, next) : null;
    if (begin !== null) onChange(begin);
  };
  const shared = {
    size: "xs",
    fullWidth: true,
    hideOutsideDates: true,
    highlightToday: true,
    classNames: { day: classes["day"] ?? "", calendarHeaderLevel: classes["level"] ?? "" },
    ariaLabels: {
      previousMonth: names.previousMonth,
      nextMonth: names.nextMonth,
      previousYear: names.previousYear,
      nextYear: names.nextYear,
      previousDecade: names.previousDecade,
      nextDecade: names.nextDecade,
    },
  } as const;
  return (
    // The calendar grows with its container; a dropdown has no width of its own, so the calendar sets a width.
    <Stack gap={6} w={264}>
      <SegmentedControl
        size="xs"
        fullWidth
        aria-label={text.editor.zone}
        value={isDay ? "date" : zone}
        onChange={choose}
        data={[
          { value: "date", label: text.editor.dateOnly },
          { value: "local", label: text.editor.local },
          { value: "utc", label: text.editor.utc },
        ]}
      />
      <Dim>{isDay ? text.editor.dateOnlyHint : zoneName(zone, time)}</Dim>
      {isDay ? (
        <DatePicker
          {...shared}
          value={time === null ? null : dayOf(time, "utc")}
          {...(time !== null && { defaultDate: dayOf(time, "utc") })}
          onChange={(next) => {
            if (next === null) return;
            onChange(`${next.slice(0, 10)}T00:00:00.000Z`);
            onDone();
          }}
        />
      ) : (
        <InlineDateTimePicker
          {...shared}
          withSeconds
          value={time === null ? null : writeTime(time, zone).slice(0, 19)}
          onChange={(next) => {
            const read = next === null ? null : parseDateTime(next, zone);
            if (read !== null) onChange(read);
          }}
          onSubmit={onDone}
          submitButtonProps={{ "aria-label": names.submit }}
          timePickerProps={{
            hoursInputLabel: names.hours,
            minutesInputLabel: names.minutes,
            secondsInputLabel: names.seconds,
          }}
        />
      )}
      <Group>
        <Button
          size="compact-xs"
          variant="default"
          onClick={() => {
            const now = new Date().toISOString();
            onChange(isDay ? `${dayOf(now, "local")}T00:00:00.000Z` : now);
          }}
        >
          {isDay ? text.editor.today : text.editor.now}
        </Button>
      </Group>
    </Stack>
  );
}
