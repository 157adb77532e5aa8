/** The notices above a form: another user changed the collection, or a draft came back after a reload. */

import { Alert, Group, Text } from "@mantine/core";
import { IconHistory } from "@tabler/icons-react";
import { Action, Notice } from "../../kit/index.ts";
import { text } from "../../texts/index.ts";

export function ChangedNotice({ onKeep, onReload }: { onKeep: () => void; onReload: () => void }) {
  return (
    <Notice tone="warn" title={text.schema.changedTitle}>
      <Text size="sm">{text.schema.changedBody}</Text>
      <Group gap="xs" mt="xs">
        <Action label={text.schema.keepMine} onClick={onKeep} />
        <Action label={text.schema.reload} onClick={onReload} />
      </Group>
    </Notice>
  );
}

export function GoneNotice() {
  return <Notice tone="bad">{text.schema.changedGone}</Notice>;
}

export function RestoredNotice({ onDiscard, onClose }: { onDiscard: () => void; onClose: () => void }) {
  return (
    <Alert
      icon={<IconHistory aria-hidden />}
      withCloseButton
      closeButtonLabel={text.schema.dismiss}
      onClose={onClose}
      py="xs"
      role="status"
    >
      <Group gap="md">
        <Text size="sm">{text.schema.restored}</Text>
        <Action label={text.schema.discard} size="compact-xs" onClick={onDiscard} />
      </Group>
    </Alert>
  );
}
