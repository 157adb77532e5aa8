/** The first step: the file and its format. */
import { Checkbox, Group, SimpleGrid, Stack, Text } from "@mantine/core";
import { IconBraces, IconFileTypeCsv, IconUpload } from "@tabler/icons-react";
import { useState } from "react";
import { Action, Choice, Dim, FileDrop, formatBytes, messageOf, Notice, Panel } from "../../kit/index.ts";
import { text } from "../../texts/index.ts";
import { type FileFormat, MAX_IMPORT_SIZE } from "./source/source.ts";
import type { SourceState } from "./use-source.ts";

export function FileStep(props: {
  state: SourceState;
  isProtected: boolean;
  onProtected: (isProtected: boolean) => void;
}) {
  const { state, isProtected, onProtected } = props;
  const { source } = state;
  const [refusal, setRefusal] = useState<string | null>(null);

  const choose = (files: readonly File[]): void => {
    const [file] = files;
    if (file === undefined) return;
    if (files.length > 1) setRefusal(text.import.several);
    else if (file.size > MAX_IMPORT_SIZE) setRefusal(text.import.tooBig(file.name, formatBytes(file.size)));
    else {
      setRefusal(null);
      void state.open(file);
    }
  };
  const complaint = refusal ?? (state.error === null ? null : messageOf(state.error));
  const FileIcon = source?.format.kind === "csv" ? IconFileTypeCsv : IconBraces;
  const isEmpty = source !== null && source.sample.length === 0;
  return (
    <Panel title={text.import.file}>
      <Stack gap="sm" p="md" pt="xs">
        {complaint !== null && <Notice tone="bad">{complaint}</Notice>}
        {isEmpty && <Notice tone="warn">{text.import.emptyFile}</Notice>}
        {source === null ? (
          <FileDrop
            onFiles={choose}
            label={text.import.choose}
            isLoading={state.isLoading}
            bg="var(--socle-ground)"
            bd="1px dashed var(--socle-line)"
          >
            <Stack align="center" gap={6} py={28} px={12} style={{ pointerEvents: "none" }}>
              <IconUpload size={28} stroke={1.5} aria-hidden />
              <Text fw={600} ta="center">
                {text.import.drop}
              </Text>
              <Dim size="sm" ta="center" maw={480}>
                {text.import.dropHint}
              </Dim>
            </Stack>
          </FileDrop>
        ) : (
          <>
            <Group justify="space-between" gap="sm">
              <Group gap="xs" wrap="nowrap" miw={0}>
                <FileIcon size={22} stroke={1.5} aria-hidden />
                <Text fw={600} truncate>
                  {source.file.name}
                </Text>
                <Dim size="sm" className="numbers noBreak">
                  {formatBytes(source.file.size)} · {text.import.columnsFound(source.columns.length)}
                </Dim>
              </Group>
              <Action label={text.import.another} onClick={state.close} />
            </Group>
            <FormatControls
              format={source.format}
              onChange={state.change}
              isProtected={isProtected}
              onProtected={onProtected}
            />
          </>
        )}
      </Stack>
    </Panel>
  );
}

function FormatControls(props: {
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
