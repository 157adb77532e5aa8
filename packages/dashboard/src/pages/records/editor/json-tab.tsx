/** The whole stored record as JSON. */
import { Group, Stack } from "@mantine/core";
import type { StoredRecord } from "@socle/protocol";
import { useMemo } from "react";
import { CopyAction, Dim, JsonEditor } from "../../../kit/index.ts";
import { text } from "../../../texts/index.ts";

export function JsonTab({ record }: { record: StoredRecord }) {
  const json = useMemo(() => JSON.stringify(record, null, 2), [record]);
  return (
    <Stack gap="xs">
      <Group justify="space-between" wrap="nowrap">
        <Dim>{text.editor.savedJson}</Dim>
        <CopyAction value={json} label={text.editor.copyJson} />
      </Group>
      <JsonEditor value={json} readOnly label={text.editor.json} minHeight={200} maxHeight={10_000} />
    </Stack>
  );
}
