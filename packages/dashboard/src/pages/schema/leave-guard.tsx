/** The question before a page with unapplied changes is left. */
import { Button, Group, Modal, Stack, Text } from "@mantine/core";
import { useBlocker } from "@tanstack/react-router";
import type { RefObject } from "react";
import { text } from "../../texts/index.ts";

export function LeaveGuard(props: {
  isDirty: boolean;
  /** True while the page itself goes elsewhere, after its work is done. */
  isLeaving: RefObject<boolean>;
  /** The changes are given up. */
  onLeave: () => void;
}) {
  const { isDirty, isLeaving, onLeave } = props;
  const blocker = useBlocker({
    // Another tab of the page keeps the draft.
    shouldBlockFn: ({ current, next }) => isDirty && !isLeaving.current && current.pathname !== next.pathname,
    enableBeforeUnload: () => isDirty && !isLeaving.current,
    withResolver: true,
  });
  const stay = (): void => blocker.reset?.();
  return (
    <Modal opened={blocker.status === "blocked"} onClose={stay} title={text.schema.leaveTitle}>
      <Stack>
        <Text size="sm">{text.schema.leaveBody}</Text>
        <Group justify="flex-end">
          <Button variant="default" onClick={stay} data-autofocus>
            {text.schema.stay}
          </Button>
          <Button
            color="red.8"
            onClick={() => {
              onLeave();
              blocker.proceed?.();
            }}
          >
            {text.schema.leave}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
