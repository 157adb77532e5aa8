/** Uploads of several files: three at a time, in a panel at the lower edge with the progress, the error, a cancel and a retry of each. */
import { Group, Progress, Text } from "@mantine/core";
import { MAX_FILE_SIZE, type Visibility } from "@socle/protocol";
import { useEffect, useReducer, useRef } from "react";
import { IconCheck, IconRefresh, IconX } from "../../icons/index.ts";
import { Action, Complaint, Dim, formatBytes, IconAction, messageOf } from "../../kit/index.ts";
import { client } from "../../service/client.ts";
import { text } from "../../texts/index.ts";
import { refreshFiles } from "./queries.ts";
import classes from "./storage.module.css";

interface Upload {
  readonly key: number;
  readonly file: File;
  readonly visibility: Visibility;
  readonly state:
    | { readonly phase: "waiting" }
    /** `part` is the sent part of the bytes: 0 to 1. */
    | { readonly phase: "sending"; readonly part: number }
    | { readonly phase: "done"; readonly id: string }
    | { readonly phase: "failed"; readonly message: string; readonly canRetry: boolean };
}

const width = 3;

/** Whether the upload would end with the page: the upload waits or is under way. */
export function isOpen({ state }: Upload): boolean {
  return state.phase === "waiting" || state.phase === "sending";
}

interface Uploads {
  readonly list: readonly Upload[];
  add(files: readonly File[], visibility: Visibility): void;
  cancel(key: number): void;
  retry(key: number): void;
  /** Removes the ended uploads from the list. */
  clear(): void;
}

function newUpload(key: number, file: File, visibility: Visibility): Upload {
  if (file.size <= MAX_FILE_SIZE) return { key, file, visibility, state: { phase: "waiting" } };
  const message = text.storage.tooLarge(formatBytes(file.size), formatBytes(MAX_FILE_SIZE));
  return { key, file, visibility, state: { phase: "failed", message, canRetry: false } };
}

export function useUploads(): Uploads {
  const list = useRef<readonly Upload[]>([]);
  const stops = useRef(new Map<number, AbortController>());
  const lastKey = useRef(0);
  const [, redraw] = useReducer((n: number) => n + 1, 0);
  useEffect(() => {
    const running = stops.current;
    return () => {
      for (const stop of running.values()) stop.abort();
    };
  }, []);

  const set = (next: readonly Upload[]): void => {
    list.current = next;
    redraw();
  };
  const change = (key: number, state: Upload["state"]): void =>
    set(list.current.map((upload) => (upload.key === key ? { ...upload, state } : upload)));

  const send = async ({ key, file, visibility }: Upload): Promise<void> => {
    const stop = new AbortController();
    stops.current.set(key, stop);
    change(key, { phase: "sending", part: 0 });
    try {
      const onProgress = (part: number): void => change(key, { phase: "sending", part });
      const stored = await client.storage.upload(file, { visibility, signal: stop.signal, onProgress });
      change(key, { phase: "done", id: stored.id });
      await refreshFiles();
    } catch (error) {
      if (!stop.signal.aborted) change(key, { phase: "failed", message: messageOf(error), canRetry: true });
    } finally {
      stops.current.delete(key);
      next();
    }
  };
  const next = (): void => {
    const waiting = list.current.filter(({ state }) => state.phase === "waiting");
    for (const upload of waiting.slice(0, Math.max(0, width - stops.current.size))) void send(upload);
  };
  return {
    list: list.current,
    add(files, visibility) {
      const first = lastKey.current + 1;
      lastKey.current += files.length;
      set([...list.current, ...files.map((file, i) => newUpload(first + i, file, visibility))]);
      next();
    },
    cancel(key) {
      stops.current.get(key)?.abort();
      set(list.current.filter((upload) => upload.key !== key));
    },
    retry(key) {
      change(key, { phase: "waiting" });
      next();
    },
    clear() {
      set(list.current.filter(isOpen));
    },
  };
}

export function UploadList({ uploads }: { uploads: Uploads }) {
  const { list, clear } = uploads;
  if (list.length === 0) return null;
  const open = list.filter(isOpen).length;
  return (
    <section className={classes["uploads"]} aria-label={text.storage.uploads}>
      <Group justify="space-between" px="md" pt={8} pb={4} wrap="nowrap">
        <Text size="sm" fw={600} aria-live="polite">
          {open > 0 ? text.storage.uploading(open) : text.storage.uploadsOver(list.length)}
        </Text>
        <Action
          label={text.storage.clearUploads}
          size="compact-xs"
          isQuiet
          onClick={clear}
          disabled={open === list.length}
        />
      </Group>
      <ul className={`plain ${classes["uploadsList"]}`}>
        {list.map((upload) => (
          <UploadRow key={upload.key} upload={upload} uploads={uploads} />
        ))}
      </ul>
    </section>
  );
}

function UploadRow({ upload, uploads }: { upload: Upload; uploads: Uploads }) {
  const { key, file, state } = upload;
  return (
    <li className={classes["upload"]}>
      <Group justify="space-between" wrap="nowrap" gap="xs">
        <Text size="sm" truncate title={file.name}>
          {file.name}
        </Text>
        <Group gap={2} wrap="nowrap">
          {state.phase === "done" && <IconCheck size={16} aria-label={text.storage.uploaded} />}
          {state.phase === "failed" && state.canRetry && (
            <IconAction
              tip={text.common.retry}
              icon={IconRefresh}
              iconSize={14}
              label={text.storage.retryUpload(file.name)}
              onClick={() => uploads.retry(key)}
            />
          )}
          {state.phase !== "done" && (
            <IconAction
              tip={text.common.cancel}
              icon={IconX}
              iconSize={14}
              label={text.storage.cancelUpload(file.name)}
              onClick={() => uploads.cancel(key)}
            />
          )}
        </Group>
      </Group>
      {state.phase === "sending" && (
        <Progress
          size="xs"
          value={state.part * 100}
          aria-label={`${file.name}: ${Math.round(state.part * 100)} %`}
          transitionDuration={120}
        />
      )}
      {state.phase === "failed" ? (
        <Complaint size="xs">{state.message}</Complaint>
      ) : (
        <Dim>
          {formatBytes(file.size)} · {text.storage.visibilities[upload.visibility]}
        </Dim>
      )}
    </li>
  );
}
