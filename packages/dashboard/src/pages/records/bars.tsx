/** The bar over the lower edge of the grid: the actions for the selected records. */
import { Button, Group, Text } from "@mantine/core";
import { IconCopy, IconDownload, IconTrash, IconX } from "@tabler/icons-react";
import { IconAction, notifyDone } from "../../kit/index.ts";
import { text } from "../../texts/index.ts";
import type { GridState } from "./grid/use-grid-state.ts";
import classes from "./records.module.css";

interface SelectionBarProps {
  state: GridState;
  /** The number of loaded records. */
  loaded: number;
  onExport: (ids: readonly string[]) => void;
  onDelete: (ids: readonly string[]) => void;
}

export function SelectionBar({ state, loaded, onExport, onDelete }: SelectionBarProps) {
  const ids = [...state.selected];
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(ids.join("\n"));
    notifyDone(text.records.idsCopied(ids.length));
  };
  const clear = (): void => {
    state.clear();
    state.focus();
  };
  return (
    <div className={classes["bar"]} role="toolbar" aria-label={text.records.selectionBar}>
      <Text size="sm" fw={600} className="numbers" role="status">
        {text.records.selected(ids.length)}
      </Text>
      {ids.length < loaded && (
        <Button size="compact-sm" variant="subtle" onClick={state.selectAll}>
          {text.records.selectAllLoaded(loaded)}
        </Button>
      )}
      <Group gap={4} wrap="nowrap">
        <Button
          size="compact-sm"
          variant="subtle"
          color="gray"
          leftSection={<IconDownload size={14} />}
          onClick={() => onExport(ids)}
        >
          {text.records.exportSelected(ids.length)}
        </Button>
        <Button size="compact-sm" variant="subtle" color="gray" leftSection={<IconCopy size={14} />} onClick={copy}>
          {text.records.copyIds}
        </Button>
        <Button size="compact-sm" color="red.8" leftSection={<IconTrash size={14} />} onClick={() => onDelete(ids)}>
          {text.records.deleteMany(ids.length)}
        </Button>
        <IconAction icon={IconX} iconSize={14} label={text.records.clearSelection} onClick={clear} />
      </Group>
    </div>
  );
}
