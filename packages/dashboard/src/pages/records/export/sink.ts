/** The target of an export: a file on disk if the browser can stream to a file, otherwise the parts of a download. */
import { saveBlob } from "../../../kit/save-blob.ts";

export interface Sink {
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

/** Asks for the place of the file, if the browser can ask. Rejects with an AbortError when the user closes the question. */
export async function openSink(name: string, type: string): Promise<Sink> {
  if (!hasPicker(window)) return blobSink(name, type);
  const extension = `.${name.split(".").at(-1)}`;
  const stream = await askWhere(window, {
    suggestedName: name,
    types: [{ description: name, accept: { [type]: [extension] } }],
  });
  if (stream === null) return blobSink(name, type);
  return gathering(stream);
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
