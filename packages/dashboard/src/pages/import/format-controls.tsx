/** The format of a file: detected at the beginning of the file, and changeable. */
import { Checkbox, Group, Select, SimpleGrid, Stack } from "@mantine/core";
import { text } from "../../texts/index.ts";
import { DELIMITERS } from "./source/csv-rows.ts";
import { ENCODINGS } from "./source/encoding.ts";
import type { FileFormat, FileKind } from "./source/source.ts";

const kinds: readonly FileKind[] = ["csv", "json", "lines"];
const quotes = ['"', "'", ""] as const;

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
        <Select
          label={text.import.kind}
          size="xs"
          allowDeselect={false}
          data={kinds.map((kind) => ({ value: kind, label: text.import.kinds[kind] }))}
          value={format.kind}
          onChange={(kind) => kind !== null && onChange({ kind })}
        />
        <Select
          label={text.import.encoding}
          size="xs"
          allowDeselect={false}
          data={ENCODINGS.map((encoding) => ({ value: encoding, label: text.import.encodings[encoding] }))}
          value={format.encoding}
          onChange={(encoding) => encoding !== null && onChange({ encoding })}
        />
        {isCsv && (
          <>
            <Select
              label={text.import.delimiter}
              size="xs"
              allowDeselect={false}
              data={DELIMITERS.map((value) => ({ value, label: text.import.delimiters[value] ?? value }))}
              value={format.delimiter}
              onChange={(delimiter) => delimiter !== null && onChange({ delimiter })}
            />
            <Select
              label={text.import.quote}
              size="xs"
              allowDeselect={false}
              data={quotes.map((value) => ({ value: value || "none", label: text.import.quotes[value] ?? value }))}
              value={format.quote || "none"}
              onChange={(quote) => quote !== null && onChange({ quote: quote === "none" ? "" : quote })}
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
