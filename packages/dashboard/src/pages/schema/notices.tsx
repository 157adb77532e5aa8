/** The notices above a form, and the bar below: changes by another user, a draft after a reload, the state of the draft. */
import { Alert, Group, Text } from "@mantine/core";
import type { ReactNode } from "react";
import { IconHistory } from "../../icons/index.ts";
import { Action, Dim, Notice } from "../../kit/index.ts";
import { text } from "../../texts/index.ts";
import classes from "./schema.module.css";

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

export function ChangeBar({ summary, problems, children }: { summary: string; problems: number; children: ReactNode }) {
  return (
    <Group className={classes["bar"]} justify="space-between" gap="xs" px={{ base: 12, sm: 16 }} py={10}>
      <Dim size="sm" role="status">
        {summary}
        {problems > 0 && (
          <Text span inherit c="var(--mantine-color-error)">
            {" · "}
            {text.schema.problemCount(problems)}
          </Text>
        )}
      </Dim>
      <Group gap="xs">{children}</Group>
    </Group>
  );
}
