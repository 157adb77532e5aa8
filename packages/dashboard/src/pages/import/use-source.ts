/** The chosen file: its format, its columns, its first rows. */
import { useRef, useState } from "react";
import {
  detectFormat,
  detectFormatIn,
  type FileFormat,
  readColumns,
  readRows,
  type SourceRow,
} from "./source/source.ts";

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

export interface SourceState {
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
        sample.push(row);
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
