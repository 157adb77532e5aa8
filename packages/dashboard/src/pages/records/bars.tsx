/** The bar over the lower edge of the grid: the actions for the selected records. */
import { Button, Group, Text } from "@mantine/core";
import { IconCopy, IconDownload, IconTrash, IconX } from "@tabler/icons-react";
import { IconAction } from "../../kit/icon-action.tsx";
import { text } from "../../texts/index.ts";
import classes from "./records.module.css";

export interface BarsProps {
  selected: number;
  loaded: number;
  onSelectAll: () => void;
  onExport: () => void;
  onCopy: () => void;
  onDelete: () => void;
  onClear: () => void;
}

export function SelectionBar(props: BarsProps) {
  return (
    <div className={classes["bars"]}>
      <Bar {...props} />
    </div>
  );
}

function Bar({ selected, loaded, onSelectAll, onExport, onCopy, onDelete, onClear }: BarsProps) {
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
          {text.records.exportSelected(selected)}
        </Button>
        <Button size="compact-sm" variant="subtle" color="gray" leftSection={<IconCopy size={14} />} onClick={onCopy}>
          {text.records.copyIds}
        </Button>
        <Button size="compact-sm" color="red.8" leftSection={<IconTrash size={14} />} onClick={onDelete}>
          {text.records.deleteMany(selected)}
        </Button>
        <IconAction icon={IconX} iconSize={14} label={text.records.clearSelection} onClick={onClear} />
      </Group>
    </div>
  );
}
