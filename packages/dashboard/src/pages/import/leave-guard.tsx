/** A question before the page is left while an import runs. */
import { Button, Group, Modal, Stack, Text } from "@mantine/core";
import { useBlocker } from "@tanstack/react-router";
import { text } from "../../texts/index.ts";

export function LeaveGuard({ isActive }: { isActive: boolean }) {
  const blocker = useBlocker({
    shouldBlockFn: () => isActive,
    enableBeforeUnload: () => isActive,
    withResolver: true,
  });
  return (
    <Modal opened={blocker.status === "blocked"} onClose={() => blocker.reset?.()} title={text.import.leaveTitle}>
      <Stack>
        <Text size="sm">{text.import.leaveBody}</Text>
        <Group justify="flex-end">
          <Button variant="default" onClick={() => blocker.reset?.()} data-autofocus>
            {text.import.stay}
          </Button>
          <Button color="red.8" onClick={() => blocker.proceed?.()}>
            {text.import.leave}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
