/** The control for `datetime`: a text input that takes typed and pasted times, and a calendar with seconds beside it. */
import { ActionIcon, Button, Group, Popover, SegmentedControl, Stack, Text, TextInput } from "@mantine/core";
import "@mantine/dates/styles.css";
import { InlineDateTimePicker } from "@mantine/dates";
import { useLocalStorage } from "@mantine/hooks";
import type { JsonValue } from "@socle/protocol";
import { IconCalendar } from "@tabler/icons-react";
import { useEffect, useState } from "react";
import { text } from "../../../../texts/index.ts";
import { parseDateTime, writeDateTime, type Zone, zoneName } from "../datetimes.ts";
import { ClearButton, canClear } from "./clear-button.tsx";
import { type ControlProps, inputOrder, isCompact } from "./control.ts";
import classes from "./controls.module.css";

function isZone(value: string): value is Zone {
  return value === "local" || value === "utc";
}

/** All controls show the same zone; the choice is kept in the browser. */
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
  const { field, value, onChange, error, label, size, autoFocus, onInvalid } = props;
  const [zone, setZone] = useZone();
  const [isOpen, setOpen] = useState(false);
  const written = typeof value === "string" ? writeDateTime(value, zone) : "";
  const [typed, setTyped] = useState(written);
  const read = parseDateTime(typed, zone);
  const isTyped = value === null ? typed.trim() === "" : read === null ? typed === value : read === value;
  const shown = isTyped ? typed : written;
  const isBroken = shown.trim() !== "" && parseDateTime(shown, zone) === null;
  const problem = isBroken ? text.editor.problems.notADateTime : null;
  useEffect(() => onInvalid(problem), [problem, onInvalid]);

  const change = (next: string): void => {
    setTyped(next);
    onChange(next.trim() === "" ? null : (parseDateTime(next, zone) ?? next));
  };
  const set = (next: JsonValue): void => {
    setTyped(typeof next === "string" ? writeDateTime(next, zone) : "");
    onChange(next);
  };
  const time = isBroken || typeof value !== "string" ? null : value;
  const icons = (
    <Group gap={0} wrap="nowrap">
      {canClear(props) && <ClearButton field={field} onChange={() => set(null)} />}
      <Popover opened={isOpen} onChange={setOpen} trapFocus returnFocus position="bottom-end" withArrow shadow="md">
        <Popover.Target>
          <ActionIcon
            variant="subtle"
            color="gray"
            size="sm"
            onClick={() => setOpen(!isOpen)}
            aria-label={text.editor.pickTime(field.name)}
          >
            <IconCalendar size={15} />
          </ActionIcon>
        </Popover.Target>
        <Popover.Dropdown p="sm" aria-label={text.editor.pickTime(field.name)}>
          <Calendar zone={zone} onZone={setZone} time={time} onChange={set} onDone={() => setOpen(false)} />
        </Popover.Dropdown>
      </Popover>
    </Group>
  );
  return (
    <TextInput
      label={label}
      size={size}
      error={error ?? problem}
      autoFocus={autoFocus}
      data-autofocus={autoFocus || undefined}
      aria-label={label === undefined ? field.name : undefined}
      aria-required={field.required === true || undefined}
      autoComplete="off"
      value={shown}
      placeholder={field.required === true ? text.editor.timePlaceholder : text.editor.notSet}
      onChange={(event) => change(event.currentTarget.value)}
      // What is left behind is written in full.
      onBlur={() => time !== null && setTyped(writeDateTime(time, zone))}
      rightSection={icons}
      rightSectionWidth={canClear(props) ? 56 : 32}
      description={isCompact(props) || time === null ? null : zoneName(zone, time)}
      inputWrapperOrder={inputOrder}
      classNames={{
        input: `numbers ${classes["nullable"] ?? ""}`,
        description: classes["note"] ?? "",
        label: classes["label"] ?? "",
      }}
    />
  );
}

interface CalendarProps {
  zone: Zone;
  onZone: (zone: Zone) => void;
  /** As the API has it; null for none. */
  time: string | null;
  onChange: (time: string) => void;
  onDone: () => void;
}

function Calendar({ zone, onZone, time, onChange, onDone }: CalendarProps) {
  const names = text.editor.calendar;
  return (
    // The calendar grows with its place: a dropdown has no width of its own.
    <Stack gap="xs" w={264}>
      <Group justify="space-between" wrap="nowrap" gap="xs">
        <SegmentedControl
          size="xs"
          aria-label={text.editor.zone}
          value={zone}
          onChange={(next) => isZone(next) && onZone(next)}
          data={[
            { value: "local", label: text.editor.local },
            { value: "utc", label: text.editor.utc },
          ]}
        />
        <Text size="xs" c="dimmed" ta="right">
          {zoneName(zone, time)}
        </Text>
      </Group>
      <InlineDateTimePicker
        withSeconds
        size="xs"
        fullWidth
        hideOutsideDates
        classNames={{ day: classes["day"] ?? "" }}
        value={time === null ? null : writeDateTime(time, zone).slice(0, 19)}
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
        ariaLabels={{
          previousMonth: names.previousMonth,
          nextMonth: names.nextMonth,
          previousYear: names.previousYear,
          nextYear: names.nextYear,
          previousDecade: names.previousDecade,
          nextDecade: names.nextDecade,
        }}
      />
      <Button
        size="compact-xs"
        variant="default"
        onClick={() => onChange(new Date().toISOString())}
        style={{ alignSelf: "flex-start" }}
      >
        {text.editor.now}
      </Button>
    </Stack>
  );
}
