/** The notices above a form: another user changed the collection, or a draft came back after a reload. */
import { Alert, Button, Group, Text } from "@mantine/core";
import { IconAlertTriangle, IconHistory } from "@tabler/icons-react";
import { text } from "../../texts/index.ts";
import classes from "./schema.module.css";

export function ChangedNotice({ onKeep, onReload }: { onKeep: () => void; onReload: () => void }) {
  return (
    <Alert
      className={classes["warning"]}
      icon={<IconAlertTriangle aria-hidden />}
      title={text.schema.changedTitle}
      role="alert"
    >
      <Text size="sm">{text.schema.changedBody}</Text>
      <Group gap="xs" mt="xs">
        <Button size="xs" variant="default" onClick={onKeep}>
          {text.schema.keepMine}
        </Button>
        <Button size="xs" variant="default" onClick={onReload}>
          {text.schema.reload}
        </Button>
      </Group>
    </Alert>
  );
}

export function GoneNotice() {
  return (
    <Alert className={classes["danger"]} icon={<IconAlertTriangle aria-hidden />} role="alert">
      {text.schema.changedGone}
    </Alert>
  );
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
        <Button size="compact-xs" variant="default" onClick={onDiscard}>
          {text.schema.discard}
        </Button>
      </Group>
    </Alert>
  );
}
