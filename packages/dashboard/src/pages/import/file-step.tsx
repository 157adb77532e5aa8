/** The first step: the chosen file with its format, its columns, its first rows. */
import { Checkbox, Group, SimpleGrid, Stack, Text } from "@mantine/core";
import { useRef, useState } from "react";
import { IconBraces, IconFileTypeCsv, IconUpload } from "../../icons/index.ts";
import { Action, Choice, Dim, FileDrop, formatBytes, messageOf, Notice, Panel } from "../../kit/index.ts";
import { text } from "../../texts/index.ts";
import {
  detectFormat,
  detectFormatIn,
  type FileFormat,
  MAX_IMPORT_SIZE,
  readColumns,
  readRows,
  type SourceRow,
} from "./source/source.ts";

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
            {source.format.encoding === "windows-1252" && <Notice tone="warn">{text.import.latin1}</Notice>}
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

/** Rows for the preview and the guesses. */
const previewRows = 50;

export interface LoadedSource {
  /** A new number for each read of the file. */
  readonly id: number;
  readonly file: File;
  readonly format: FileFormat;
  readonly columns: readonly string[];
  readonly sample: readonly SourceRow[];
}

interface SourceState {
  readonly source: LoadedSource | null;
  readonly error: unknown;
  readonly isLoading: boolean;
  open: (file: File) => Promise<void>;
  change: (change: Partial<FileFormat>) => Promise<void>;
  close: () => void;
}

export function useSource(onLoad: (source: LoadedSource) => void): SourceState {
  const [source, setSource] = useState<LoadedSource | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [isLoading, setLoading] = useState(false);
  const latest = useRef(0);

  const load = async (file: File, find: () => Promise<FileFormat>): Promise<void> => {
    latest.current += 1;
    const id = latest.current;
    setLoading(true);
    setError(null);
    try {
      const format = await find();
      const columns = await readColumns(file, format);
      const sample: SourceRow[] = [];
      for await (const row of readRows(file, format, columns)) {
        if (!row.isEmpty) sample.push(row);
        if (sample.length === previewRows) break;
      }
      if (id !== latest.current) return;
      const loaded = { id, file, format, columns, sample };
      setSource(loaded);
      onLoad(loaded);
    } catch (thrown) {
      if (id === latest.current) setError(thrown);
    } finally {
      if (id === latest.current) setLoading(false);
    }
  };

  return {
    source,
    error,
    isLoading,
    open: (file) => load(file, () => detectFormat(file)),
    change: async (change) => {
      if (source === null) return;
      const { file, format } = source;
      const { encoding } = change;
      await load(file, async () =>
        // A different encoding shows different characters, for example other delimiters.
        encoding !== undefined ? detectFormatIn(file, encoding) : { ...format, ...change },
      );
    },
    close: () => {
      latest.current += 1;
      setSource(null);
      setError(null);
      setLoading(false);
    },
  };
}
