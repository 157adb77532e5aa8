/** The list of the shortcuts that work on the page (`?`). */
import { Group, Modal, Stack, Text, Title } from "@mantine/core";
import { Keys, useShortcutList } from "../kit/index.ts";
import { text } from "../texts/index.ts";

export function ShortcutList({ isOpen, onClose }: { isOpen: boolean; onClose: () => void }) {
  const shortcuts = useShortcutList(isOpen);
  const groups = [...new Set(shortcuts.map(({ group }) => group))];
  return (
    <Modal opened={isOpen} onClose={onClose} title={text.shortcuts.title}>
      <Stack>
        {groups.map((group) => (
          <Stack key={group} gap={6}>
            <Title order={3} size="h6">
              {group}
            </Title>
            {shortcuts
              .filter((shortcut) => shortcut.group === group)
              .map(({ keys, label }) => (
                <Group key={keys} justify="space-between" wrap="nowrap">
                  <Text size="sm">{label}</Text>
                  <Keys keys={keys} size="sm" />
                </Group>
              ))}
          </Stack>
        ))}
      </Stack>
    </Modal>
  );
}
