/** The whole record as JSON, as it is saved. */
import { Group, Stack, Text } from "@mantine/core";
import type { StoredRecord } from "@socle/protocol";
import { useMemo } from "react";
import { CopyAction, JsonEditor } from "../../../kit/index.ts";
import { text } from "../../../texts/index.ts";

export function JsonTab({ record }: { record: StoredRecord }) {
  const json = useMemo(() => JSON.stringify(record, null, 2), [record]);
  return (
    <Stack gap="xs">
      <Group justify="space-between" wrap="nowrap">
        <Text size="xs" c="dimmed">
          {text.editor.savedJson}
        </Text>
        <CopyAction value={json} label={text.editor.copyJson} />
      </Group>
      <JsonEditor value={json} readOnly label={text.editor.json} minHeight={200} maxHeight={10_000} />
    </Stack>
  );
}
