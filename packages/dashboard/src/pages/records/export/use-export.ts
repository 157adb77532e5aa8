/** A running export: its progress, its end, and a function that stops the export. */
import type { RecordQuery } from "@socle/protocol";
import { useEffect, useRef, useState } from "react";
import { client } from "../../../service/client.ts";
import { useSession } from "../../../service/session.ts";
import { type ExportShape, fileTypes, RecordWriter } from "./format.ts";
import { chosenPages, type PageSource, queriedPages } from "./pages.ts";
import { openSink } from "./sink.ts";

export interface ExportRequest {
  readonly collection: string;
  readonly filter: string | undefined;
  readonly search: string | undefined;
  readonly sort: string | undefined;
  readonly ids: readonly string[] | undefined;
  readonly shape: ExportShape;
}

export type ExportState =
  | { readonly phase: "idle"; readonly error: unknown }
  | { readonly phase: "running"; readonly done: number }
  | { readonly phase: "done"; readonly done: number; readonly file: string };

export function useExport(): {
  state: ExportState;
  start: (request: ExportRequest) => Promise<void>;
  stop: () => void;
} {
  const [state, setState] = useState<ExportState>({ phase: "idle", error: null });
  const running = useRef<AbortController | null>(null);
  const session = useSession();
  const isSignedIn = useRef(true);
  isSignedIn.current = session.phase === "in";
  useEffect(() => () => running.current?.abort(), []);

  const start = async ({ collection, filter, search, sort, ids, shape }: ExportRequest): Promise<void> => {
    const stop = new AbortController();
    running.current = stop;
    const { extension, type } = fileTypes[shape.format];
    const file = `${collection}-${new Date().toISOString().slice(0, 10)}.${extension}`;
    const source: PageSource = {
      fetch: (query) => client.collection(collection).page(query, { signal: stop.signal }),
      isSignedIn: () => isSignedIn.current,
      signal: stop.signal,
    };
    const fields = shape.columns.map(({ name }) => name).join(",");
    const query: RecordQuery = {
      fields,
      ...(filter !== undefined && { filter }),
      ...(search !== undefined && { search }),
      // The rank of a record depends on the other records. By rank, pages would repeat some records and miss some records.
      ...((sort !== undefined || search !== undefined) && { sort: sort ?? "-createdAt" }),
    };
    try {
      const sink = await openSink(file, type);
      setState({ phase: "running", done: 0 });
      try {
        const writer = new RecordWriter(shape);
        let done = 0;
        await sink.write(writer.head());
        for await (const records of ids === undefined
          ? queriedPages(source, query)
          : chosenPages(source, ids, fields)) {
          for (const record of records) await sink.write(writer.record(record));
          done += records.length;
          setState({ phase: "running", done });
        }
        await sink.write(writer.end());
        stop.signal.throwIfAborted();
        await sink.close();
        setState({ phase: "done", done, file });
      } catch (error) {
        await sink.abort().catch(() => undefined);
        throw error;
      }
    } catch (error) {
      // The user has stopped the export or closed the question for the place, and needs no message.
      const isMeant = stop.signal.aborted || (error instanceof DOMException && error.name === "AbortError");
      setState({ phase: "idle", error: isMeant ? null : error });
    }
  };

  return { state, start, stop: () => running.current?.abort() };
}
