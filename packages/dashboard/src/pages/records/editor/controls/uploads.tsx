/** Uploads of a file field: the files in sequence, and their progress. */
import { Alert, Button, Group, Progress, Text } from "@mantine/core";
import { MAX_FILE_SIZE, type StoredFile, type Visibility } from "@socle/protocol";
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { Dim, formatBytes, messageOf } from "../../../../kit/index.ts";
import { client } from "../../../../service/client.ts";
import { text } from "../../../../texts/index.ts";
import { fileQuery } from "../../../storage/queries.ts";

type Upload =
  | { readonly phase: "none" }
  | { readonly phase: "sending"; readonly file: File; readonly part: number }
  | { readonly phase: "failed"; readonly file: File; readonly message: string }
  | { readonly phase: "refused"; readonly message: string };

export interface Uploads {
  readonly upload: Upload;
  /** Uploads files after the files that wait. */
  readonly send: (files: readonly File[]) => void;
  /** Uploads the failed file again, and then the files behind that file. */
  readonly retry: () => void;
  readonly cancel: () => void;
  readonly refuse: (message: string) => void;
}

/** A single upload at a time. The uploads end when the control leaves the page. */
export function useUploads(visibility: Visibility, onUploaded: (file: StoredFile) => void): Uploads {
  const queryClient = useQueryClient();
  const [upload, setUpload] = useState<Upload>({ phase: "none" });
  const waiting = useRef<File[]>([]);
  const running = useRef<AbortController | null>(null);
  useEffect(() => () => running.current?.abort(), []);

  const store = async (file: File, { signal }: AbortController): Promise<void> => {
    setUpload({ phase: "sending", file, part: 0 });
    const onProgress = (part: number): void => {
      if (!signal.aborted) setUpload({ phase: "sending", file, part });
    };
    const stored = await client.storage.upload(file, { visibility, signal, onProgress });
    signal.throwIfAborted();
    waiting.current.shift();
    setUpload({ phase: "none" });
    queryClient.setQueryData(fileQuery(stored.id).queryKey, stored);
    onUploaded(stored);
  };
  const goOn = async (): Promise<void> => {
    const stop = new AbortController();
    running.current = stop;
    for (let [file] = waiting.current; file !== undefined; [file] = waiting.current) {
      try {
        await store(file, stop);
      } catch (thrown) {
        if (stop.signal.aborted) return;
        setUpload({ phase: "failed", file, message: messageOf(thrown) });
        break;
      }
    }
    running.current = null;
  };
  const refuse = (message: string): void => setUpload({ phase: "refused", message });
  return {
    upload,
    send: (files) => {
      const tooLarge = files.find(({ size }) => size > MAX_FILE_SIZE);
      if (tooLarge !== undefined) return refuse(text.editor.fileTooLarge(tooLarge.name, formatBytes(tooLarge.size)));
      waiting.current.push(...files);
      if (running.current === null) void goOn();
    },
    retry: () => void goOn(),
    cancel: () => {
      waiting.current = [];
      running.current?.abort();
      running.current = null;
      setUpload({ phase: "none" });
    },
    refuse,
  };
}

export function UploadState({ upload, cancel, retry }: Uploads) {
  if (upload.phase === "none") return null;
  if (upload.phase === "sending") {
    const { name, size } = upload.file;
    return (
      <div>
        <Group justify="space-between" wrap="nowrap" mb={6}>
          <Text size="xs" truncate role="status">
            {text.editor.uploading(name)}
          </Text>
          <Dim className="numbers" style={{ flex: "none" }}>
            {formatBytes(size * upload.part)} / {formatBytes(size)}
          </Dim>
          <Button size="compact-xs" variant="default" onClick={cancel} style={{ flex: "none" }}>
            {text.editor.cancelUpload}
          </Button>
        </Group>
        <Progress value={upload.part * 100} size="sm" aria-label={text.editor.uploading(name)} />
      </div>
    );
  }
  return (
    <Alert color="red" variant="light" p="xs" mt="xs" role="alert">
      <Group gap="xs" justify="space-between">
        <Text size="xs" flex={1}>
          {upload.phase === "failed" && `${text.editor.uploadFailed(upload.file.name)} `}
          {upload.message}
        </Text>
        {upload.phase === "failed" && (
          <Button size="compact-xs" variant="default" onClick={retry}>
            {text.common.retry}
          </Button>
        )}
      </Group>
    </Alert>
  );
}
