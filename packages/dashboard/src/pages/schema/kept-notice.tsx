/** Leaving a form with changes keeps the changes as a draft, as in the form of a record. A notification can discard the draft. */

import { Group, Text } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { type RefObject, useEffect, useRef } from "react";
import { Action } from "../../kit/index.ts";
import { text } from "../../texts/index.ts";

const noticeId = "schema-draft";

export function KeptNotice(props: {
  isDirty: boolean;
  /** True while the page itself navigates after a save, so that no notification appears. */
  isLeaving: RefObject<boolean>;
  onDiscard: () => void;
}) {
  const latest = useRef(props);
  latest.current = props;
  useEffect(
    () => () => {
      const { isDirty, isLeaving, onDiscard } = latest.current;
      if (!isDirty || isLeaving.current) return;
      const discard = (): void => {
        onDiscard();
        notifications.hide(noticeId);
      };
      notifications.show({
        id: noticeId,
        autoClose: 8_000,
        message: (
          <Group justify="space-between" gap="xs">
            <Text size="sm">{text.editor.draftKept}</Text>
            <Action label={text.editor.discard} size="compact-xs" onClick={discard} />
          </Group>
        ),
      });
    },
    [],
  );
  return null;
}
