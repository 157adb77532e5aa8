/** The notification after leaving a form with unsaved changes: the changes are kept as a draft, and a button discards the draft. */
import { Group, Text } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { text } from "../texts/index.ts";
import { Action } from "./action.tsx";

export function tellOfDraft(draftId: string, onDiscard: () => void): void {
  const id = `draft:${draftId}`;
  const discard = (): void => {
    onDiscard();
    notifications.hide(id);
  };
  notifications.show({
    id,
    autoClose: 8_000,
    message: (
      <Group justify="space-between" gap="xs">
        <Text size="sm">{text.editor.draftKept}</Text>
        <Action label={text.editor.discard} size="compact-xs" onClick={discard} />
      </Group>
    ),
  });
}
