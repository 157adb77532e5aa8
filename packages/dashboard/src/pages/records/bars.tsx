/** The bars over the lower edge of the grid: what can be done with the selected records, and deletions that can be undone. */
import { ActionIcon, Button, Group, RingProgress, Text } from "@mantine/core";
import { IconCopy, IconDownload, IconTrash, IconX } from "@tabler/icons-react";
import { useEffect, useState } from "react";
import { text } from "../../texts/index.ts";
import { type Deletes, type Deletion, undoMs } from "./data/use-deletes.ts";
import classes from "./records.module.css";

export interface BarsProps {
  selected: number;
  loaded: number;
  deletes: Deletes;
  onSelectAll: () => void;
  onExport: () => void;
  onCopy: () => void;
  onDelete: () => void;
  onClear: () => void;
}

export function Bars(props: BarsProps) {
  const { selected, deletes } = props;
  if (selected === 0 && deletes.waiting.length === 0) return null;
  return (
    <div className={classes["bars"]}>
      {deletes.waiting.map((deletion) => (
        <UndoBar key={deletion.key} deletion={deletion} deletes={deletes} />
      ))}
      {selected > 0 && <SelectionBar {...props} />}
    </div>
  );
}

function SelectionBar({ selected, loaded, onSelectAll, onExport, onCopy, onDelete, onClear }: BarsProps) {
  return (
    <div className={classes["floating"]} role="toolbar" aria-label={text.records.selectionBar}>
      <Text size="sm" fw={600} className="numbers" role="status">
        {text.records.selected(selected)}
      </Text>
      {selected < loaded && (
        <Button size="compact-sm" variant="subtle" onClick={onSelectAll}>
          {text.records.selectAllLoaded(loaded)}
        </Button>
      )}
      <Group gap={4} wrap="nowrap">
        <Button
          size="compact-sm"
          variant="subtle"
          color="gray"
          leftSection={<IconDownload size={14} />}
          onClick={onExport}
        >
          {text.records.export}
        </Button>
        <Button size="compact-sm" variant="subtle" color="gray" leftSection={<IconCopy size={14} />} onClick={onCopy}>
          {text.records.copyIds}
        </Button>
        <Button size="compact-sm" color="red.8" leftSection={<IconTrash size={14} />} onClick={onDelete}>
          {text.records.deleteMany(selected)}
        </Button>
        <ActionIcon size="sm" variant="subtle" color="gray" onClick={onClear} aria-label={text.records.clearSelection}>
          <IconX size={14} />
        </ActionIcon>
      </Group>
    </div>
  );
}

function UndoBar({ deletion, deletes }: { deletion: Deletion; deletes: Deletes }) {
  const { key, ids, dueAt, isRunning } = deletion;
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 250);
    return () => clearInterval(timer);
  }, []);
  const left = Math.max(0, dueAt - now);
  const seconds = Math.ceil(left / 1_000);
  return (
    <div className={classes["floating"]}>
      {!isRunning && (
        <RingProgress
          size={26}
          thickness={2.5}
          sections={[{ value: (left / undoMs) * 100, color: "verdigris" }]}
          label={
            <Text ta="center" fz={10} className="numbers">
              {seconds}
            </Text>
          }
          aria-label={text.records.secondsLeft(seconds)}
          role="img"
        />
      )}
      <Text size="sm" role="status">
        {isRunning ? text.records.deleting(ids.length) : text.records.deleted(ids.length)}
      </Text>
      {!isRunning && (
        <Group gap={4} wrap="nowrap">
          <Button size="compact-sm" variant="light" onClick={() => deletes.undo(key)}>
            {text.common.undo}
          </Button>
          <ActionIcon
            size="sm"
            variant="subtle"
            color="gray"
            onClick={() => deletes.flush(key)}
            aria-label={text.records.deleteNow}
          >
            <IconX size={14} />
          </ActionIcon>
        </Group>
      )}
    </div>
  );
}
