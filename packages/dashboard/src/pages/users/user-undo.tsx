/** The undo of all changes of records by a user since a time. */
import { Group } from "@mantine/core";
import { DateTimePicker } from "@mantine/dates";
import { useState } from "react";
import { DetailsSection, Dim, UndoAction } from "../../kit/index.ts";
import { text } from "../../texts/index.ts";
import "@mantine/dates/styles.css";

const words = text.undo.user;

export function UserUndo({ id }: { id: string }) {
  const [since, setSince] = useState(() => new Date(new Date().setHours(0, 0, 0, 0)));
  return (
    <DetailsSection title={words.title}>
      <Dim size="sm" mb="sm">
        {words.hint}
      </Dim>
      <Group gap="xs" align="end">
        <DateTimePicker
          size="xs"
          w={200}
          label={words.since}
          withSeconds
          highlightToday
          value={since}
          onChange={(value) => value !== null && setSince(new Date(value.replace(" ", "T")))}
        />
        <UndoAction label={words.action} selection={{ by: id, since: since.toISOString() }} />
      </Group>
    </DetailsSection>
  );
}
