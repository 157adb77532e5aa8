/** A running export: its progress, its end, its target, and a function that stops the export. */
import type { StoredRecord } from "@socle/protocol";
import { useEffect, useRef, useState } from "react";
import { saveBlob } from "../../../kit/picture.tsx";
import { client } from "../../../service/client.ts";
import { useSession } from "../../../service/session.ts";
import { type ExportShape, fileTypes, RecordWriter } from "./format.ts";
import { chosenPages, type PageSource, queriedPages } from "./pages.ts";

interface ExportRequest {
  readonly collection: string;
  readonly filter: string | undefined;
  readonly search: string | undefined;
  readonly sort: string | undefined;
  readonly ids: readonly string[] | undefined;
  readonly shape: ExportShape;
}

type ExportState =
  | { readonly phase: "idle"; readonly error: unknown }
  | { readonly phase: "running"; readonly done: number }
  | { readonly phase: "done"; readonly done: number; readonly file: string };

/** The matching records, or the chosen records. */
function pagesOf(
  { filter, search, sort, ids, shape }: ExportRequest,
  source: PageSource,
): AsyncGenerator<Partial<StoredRecord>[], void> {
  const fields = shape.columns.map(({ name }) => name).join(",");
  if (ids !== undefined) return chosenPages(source, ids, fields);
  return queriedPages(source, {
    fields,
    ...(filter !== undefined && { filter }),
    ...(search !== undefined && { search }),
    // The rank of a record depends on the other records. By rank, pages would repeat some records and miss some records.
    ...((sort !== undefined || search !== undefined) && { sort: sort ?? "-createdAt" }),
  });
}

/** Writes the records into a file, and calls back with the number of written records. A failure leaves no file. */
async function write(
  request: ExportRequest,
  { sink, source, onDone }: { sink: Sink; source: PageSource; onDone: (done: number) => void },
): Promise<void> {
  const writer = new RecordWriter(request.shape);
  let done = 0;
  try {
    await sink.write(writer.head());
    for await (const records of pagesOf(request, source)) {
      for (const record of records) await sink.write(writer.record(record));
      done += records.length;
      onDone(done);
    }
    await sink.write(writer.end());
    source.signal.throwIfAborted();
    await sink.close();
  } catch (error) {
    await sink.abort().catch(() => undefined);
    throw error;
  }
}

export function useExport() {
  const [state, setState] = useState<ExportState>({ phase: "idle", error: null });
  const running = useRef<AbortController | null>(null);
  const session = useSession();
  const isSignedIn = useRef(true);
  isSignedIn.current = session.phase === "in";
  useEffect(() => () => running.current?.abort(), []);

  const start = async (request: ExportRequest): Promise<void> => {
    running.current = new AbortController();
    const { signal } = running.current;
    const { extension, type } = fileTypes[request.shape.format];
    const file = `${request.collection}-${new Date().toISOString().slice(0, 10)}.${extension}`;
    const source: PageSource = {
      fetch: (query) => client.collection(request.collection).page(query, { signal }),
      isSignedIn: () => isSignedIn.current,
      signal,
    };
    let done = 0;
    const onDone = (next: number): void => {
      done = next;
      setState({ phase: "running", done });
    };
    try {
      const sink = await openSink(file, type);
      onDone(0);
      await write(request, { sink, source, onDone });
      setState({ phase: "done", done, file });
    } catch (error) {
      // The user has stopped the export or closed the question for the place, and needs no message.
      const isMeant = signal.aborted || (error instanceof DOMException && error.name === "AbortError");
      setState({ phase: "idle", error: isMeant ? null : error });
    }
  };
  return { state, start, stop: () => running.current?.abort() };
}

interface Sink {
  write: (text: string) => Promise<void>;
  /** Ends the file; without the File System Access API the download starts now. */
  close: () => Promise<void>;
  /** Stops the export without a file. */
  abort: () => Promise<void>;
}

interface SaveOptions {
  suggestedName: string;
  types: { description: string; accept: { [type: string]: string[] } }[];
}

interface PickerWindow {
  showSaveFilePicker: (options: SaveOptions) => Promise<FileSystemFileHandle>;
}

function hasPicker(target: object): target is PickerWindow {
  return "showSaveFilePicker" in target;
}

/** Characters gathered before a write. */
const gathered = 1_048_576;

async function openSink(name: string, type: string): Promise<Sink> {
  const stream = await chosenFile(name, type);
  return stream === null ? blobSink(name, type) : gathering(stream);
}

/** Asks for the place of a file; null if the browser cannot ask. Rejects with an AbortError when the user closes the question. */
export async function chosenFile(name: string, type: string): Promise<FileSystemWritableFileStream | null> {
  if (!hasPicker(window)) return null;
  const extension = `.${name.split(".").at(-1)}`;
  const types = [{ description: name, accept: { [type]: [extension] } }];
  return askWhere(window, { suggestedName: name, types });
}

/** The chosen file. Null when the browser or its policy forbids the question: the export is then a download. */
async function askWhere(picker: PickerWindow, options: SaveOptions): Promise<FileSystemWritableFileStream | null> {
  try {
    return await (await picker.showSaveFilePicker(options)).createWritable();
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    return null;
  }
}

function blobSink(name: string, type: string): Sink {
  // A browser may keep blobs on disk, but not strings.
  const parts: Blob[] = [];
  return gathering({
    write: async (text) => {
      parts.push(new Blob([text]));
    },
    close: async () => saveBlob(new Blob(parts, { type }), name),
    abort: async () => {
      parts.length = 0;
    },
  });
}

function gathering(sink: Sink): Sink {
  let waiting = "";
  const flush = async (): Promise<void> => {
    const text = waiting;
    waiting = "";
    if (text !== "") await sink.write(text);
  };
  return {
    write: async (text) => {
      waiting += text;
      if (waiting.length >= gathered) await flush();
    },
    close: async () => {
      await flush();
      await sink.close();
    },
    abort: () => sink.abort(),
  };
}
