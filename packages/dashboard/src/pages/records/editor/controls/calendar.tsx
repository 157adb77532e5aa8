/** The calendar of a `datetime`: a day, or a day and a time of day in a zone. */
import { Group, SegmentedControl, Stack } from "@mantine/core";
import { Action, Dim } from "../../../../kit/index.ts";
import "@mantine/dates/styles.css";
import { DatePicker, InlineDateTimePicker } from "@mantine/dates";
import { useState } from "react";
import { text } from "../../../../texts/index.ts";
import { dayOf, isDateOnly, parseDateTime, writeTime, type Zone, zoneName } from "../datetimes.ts";
import classes from "./controls.module.css";

const names = text.editor.calendar;

/** The looks and the words of every calendar. */
export const calendarProps = {
  size: "xs",
  fullWidth: true,
  hideOutsideDates: true,
  highlightToday: true,
  classNames: { day: classes["day"] ?? "", calendarHeaderLevel: classes["level"] ?? "" },
  ariaLabels: names,
} as const;

export function isZone(value: string): value is Zone {
  return value === "local" || value === "utc";
}

/** A day as a time of the API. */
function startOf(day: string): string {
  return `${day.slice(0, 10)}T00:00:00.000Z`;
}

export interface CalendarProps {
  zone: Zone;
  onZone: (zone: Zone) => void;
  /** The time in the form of the API; null without a time. */
  time: string | null;
  onChange: (time: string) => void;
  onDone: () => void;
}

export function Calendar(props: CalendarProps) {
  const { zone, onZone, time, onChange } = props;
  const [isDay, setDay] = useState(time !== null && isDateOnly(time));
  const choose = (next: string): void => {
    // A switch between a day and a time in a zone keeps the shown day.
    const day = time === null ? null : dayOf(time, isDay ? "utc" : zone);
    setDay(!isZone(next));
    if (!isZone(next)) {
      if (day !== null) onChange(startOf(day));
      return;
    }
    onZone(next);
    const begin = isDay && day !== null ? parseDateTime(`${day} 00:00:00`, next) : null;
    if (begin !== null) onChange(begin);
  };
  const chooseNow = (): void => {
    const now = new Date().toISOString();
    onChange(isDay ? startOf(dayOf(now, "local")) : now);
  };
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
      {isDay ? <Days {...props} /> : <Times {...props} />}
      <Group>
        <Action label={isDay ? text.editor.today : text.editor.now} size="compact-xs" onClick={chooseNow} />
      </Group>
    </Stack>
  );
}

function Days({ time, onChange, onDone }: CalendarProps) {
  const day = time === null ? null : dayOf(time, "utc");
  return (
    <DatePicker
      {...calendarProps}
      value={day}
      {...(day !== null && { defaultDate: day })}
      onChange={(next) => {
        if (next === null) return;
        onChange(startOf(next));
        onDone();
      }}
    />
  );
}

function Times({ zone, time, onChange, onDone }: CalendarProps) {
  return (
    <InlineDateTimePicker
      {...calendarProps}
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
  );
}
