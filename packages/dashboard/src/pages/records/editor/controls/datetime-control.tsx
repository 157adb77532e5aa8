/**
 * The control for `datetime`: a text input for typed and pasted times, and beside the input a calendar with seconds.
 */
import { Group, Popover, TextInput } from "@mantine/core";
import { useLocalStorage } from "@mantine/hooks";
import type { JsonValue } from "@socle/protocol";
import { useState } from "react";
import { IconCalendar } from "../../../../icons/index.ts";
import { IconAction } from "../../../../kit/icon-action.tsx";
import { text } from "../../../../texts/index.ts";
import { isDateOnly, parseDateTime, writeDateTime, type Zone, zoneName } from "../datetimes.ts";
import { Calendar, type CalendarProps, isZone } from "./calendar.tsx";
import { ClearButton, type ControlProps, canClear, isCompact, typedProps } from "./control.tsx";

/** The time zone of all controls, kept in the browser's storage. */
function useZone(): [Zone, (zone: Zone) => void] {
  const [zone, setZone] = useLocalStorage<Zone>({
    key: "socle.zone",
    defaultValue: "local",
    getInitialValueInEffect: false,
    serialize: (value) => value,
    deserialize: (value) => (value !== undefined && isZone(value) ? value : "local"),
  });
  return [zone, setZone];
}

export function DatetimeControl(props: ControlProps) {
  const { field, value, onChange, error } = props;
  const [zone, setZone] = useZone();
  const written = typeof value === "string" ? writeDateTime(value, zone) : "";
  const [typed, setTyped] = useState(written);
  const read = parseDateTime(typed, zone);
  const isTyped = value === null ? typed.trim() === "" : read === null ? typed === value : read === value;
  const shown = isTyped ? typed : written;
  const isBroken = shown.trim() !== "" && parseDateTime(shown, zone) === null;
  const change = (next: string): void => {
    setTyped(next);
    onChange(next.trim() === "" ? null : (parseDateTime(next, zone) ?? next));
  };
  const set = (next: JsonValue): void => {
    setTyped(typeof next === "string" ? writeDateTime(next, zone) : "");
    onChange(next);
  };
  const time = isBroken || typeof value !== "string" ? null : value;
  const note = time === null ? null : isDateOnly(time) ? text.editor.dateOnlyNote : zoneName(zone, time);
  return (
    <TextInput
      {...typedProps({ ...props, error: isBroken ? text.editor.problems.notADateTime : error })}
      autoComplete="off"
      className="numbers"
      value={shown}
      placeholder={field.required === true ? text.editor.timePlaceholder : text.editor.notSet}
      onChange={(event) => change(event.currentTarget.value)}
      // The time is written in full when the control loses the focus.
      onBlur={() => time !== null && setTyped(writeDateTime(time, zone))}
      rightSection={
        <Group gap={0} wrap="nowrap">
          <ClearButton field={field} value={value} onChange={set} />
          <CalendarButton name={field.name} zone={zone} onZone={setZone} time={time} onChange={set} />
        </Group>
      }
      rightSectionWidth={canClear(props) ? 56 : 32}
      description={isCompact(props) ? null : note}
    />
  );
}

/** The button that opens the calendar. */
function CalendarButton({ name, ...calendar }: Omit<CalendarProps, "onDone"> & { name: string }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <Popover
      opened={isOpen}
      onChange={setOpen}
      trapFocus
      returnFocus
      position="bottom-end"
      shadow="md"
      // Near the edge of the window the calendar covers its own control and stays inside the window.
      middlewares={{ flip: true, shift: { crossAxis: true, padding: 8 } }}
    >
      <Popover.Target>
        <IconAction icon={IconCalendar} label={text.editor.pickTime(name)} onClick={() => setOpen(!isOpen)} />
      </Popover.Target>
      <Popover.Dropdown p="sm" aria-label={text.editor.pickTime(name)}>
        <Calendar {...calendar} onDone={() => setOpen(false)} />
      </Popover.Dropdown>
    </Popover>
  );
}
