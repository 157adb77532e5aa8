/** A question before a person leaves a page with unfinished work: an import, uploads. */
import { Button, Group, Modal, Stack, Text } from "@mantine/core";
import { useBlocker } from "@tanstack/react-router";
import { text } from "../texts/index.ts";

interface LeaveGuardProps {
  isActive: boolean;
  title: string;
  body: string;
  /** The label of the button that leaves. */
  action: string;
}

export function LeaveGuard({ isActive, title, body, action }: LeaveGuardProps) {
  const blocker = useBlocker({
    // Another filter or an open drawer is the same page.
    shouldBlockFn: ({ current, next }) => isActive && current.pathname !== next.pathname,
    enableBeforeUnload: () => isActive,
    withResolver: true,
  });
  return (
    <Modal opened={blocker.status === "blocked"} onClose={() => blocker.reset?.()} title={title}>
      <Stack>
        <Text size="sm">{body}</Text>
        <Group justify="flex-end">
          <Button variant="default" onClick={() => blocker.reset?.()} data-autofocus>
            {text.common.stay}
          </Button>
          <Button color="red.8" onClick={() => blocker.proceed?.()}>
            {action}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
