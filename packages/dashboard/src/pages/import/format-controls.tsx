/** The format of a file: detected at the beginning of the file, and changeable. */

import { Checkbox, Group, SimpleGrid, Stack } from "@mantine/core";
import { Choice } from "../../kit/index.ts";
import { text } from "../../texts/index.ts";
import type { FileFormat } from "./source/source.ts";

export function FormatControls(props: {
  format: FileFormat;
  onChange: (change: Partial<FileFormat>) => void;
  isProtected: boolean;
  onProtected: (isProtected: boolean) => void;
}) {
  const { format, onChange, isProtected, onProtected } = props;
  const isCsv = format.kind === "csv";
  return (
    <Stack gap="sm">
      <SimpleGrid cols={{ base: 2, sm: 4 }} spacing="sm">
        <Choice
          label={text.import.kind}
          words={text.import.kinds}
          value={format.kind}
          onChange={(kind) => onChange({ kind })}
        />
        <Choice
          label={text.import.encoding}
          words={text.import.encodings}
          value={format.encoding}
          onChange={(encoding) => onChange({ encoding })}
        />
        {isCsv && (
          <>
            <Choice
              label={text.import.delimiter}
              words={text.import.delimiters}
              value={format.delimiter}
              onChange={(delimiter) => onChange({ delimiter })}
            />
            <Choice
              label={text.import.quote}
              words={text.import.quotes}
              value={format.quote || "none"}
              onChange={(quote) => onChange({ quote: quote === "none" ? "" : quote })}
            />
          </>
        )}
      </SimpleGrid>
      {isCsv && (
        <Group gap="lg" align="flex-start">
          <Checkbox
            size="xs"
            label={text.import.header}
            checked={format.hasHeader}
            onChange={(event) => onChange({ hasHeader: event.currentTarget.checked })}
          />
          <Checkbox
            size="xs"
            label={text.import.unprotect}
            description={text.import.unprotectHint}
            checked={isProtected}
            onChange={(event) => onProtected(event.currentTarget.checked)}
          />
        </Group>
      )}
    </Stack>
  );
}
