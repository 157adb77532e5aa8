/** The bar over the lower edge of the grid: the actions for the selected records. */
import { Button, Group, Text } from "@mantine/core";
import { IconCopy, IconDownload, IconTrash, IconX } from "@tabler/icons-react";
import { IconAction, notifyDone } from "../../kit/index.ts";
import { text } from "../../texts/index.ts";
import classes from "./records.module.css";
import type { RecordsPage } from "./use-records-page.ts";

export function SelectionBar({ page: { state, shown, setDialog, remove } }: { page: RecordsPage }) {
  const loaded = shown.rows.items.length;
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
          onClick={() => setDialog({ type: "export", ids })}
        >
          {text.records.exportSelected(ids.length)}
        </Button>
        <Button size="compact-sm" variant="subtle" color="gray" leftSection={<IconCopy size={14} />} onClick={copy}>
          {text.records.copyIds}
        </Button>
        <Button size="compact-sm" color="red.8" leftSection={<IconTrash size={14} />} onClick={() => remove(ids)}>
          {text.records.deleteMany(ids.length)}
        </Button>
        <IconAction icon={IconX} iconSize={14} label={text.records.clearSelection} onClick={clear} />
      </Group>
    </div>
  );
}
