/** Uploads of a file field: a single upload at a time, its progress, and the search for stored files. */
import { Alert, Button, Group, Progress, Text } from "@mantine/core";
import { MAX_FILE_SIZE, type StoredFile, type Visibility } from "@socle/protocol";
import { useEffect, useRef, useState } from "react";
import { Dim, formatBytes, messageOf } from "../../../../kit/index.ts";
import { client } from "../../../../service/client.ts";
import { text } from "../../../../texts/index.ts";
import { isId } from "../naming.ts";
import { PICKER_LIMIT, type PickerItem } from "./picker.tsx";

type Upload =
  | { readonly phase: "none" }
  | { readonly phase: "sending"; readonly file: File; readonly part: number }
  | { readonly phase: "failed"; readonly file: File; readonly message: string }
  | { readonly phase: "refused"; readonly message: string };

/** A single upload at a time. The upload ends when the control leaves the page. */
export function useUpload(visibility: Visibility, onUploaded: (file: StoredFile) => void) {
  const [upload, setUpload] = useState<Upload>({ phase: "none" });
  const running = useRef<AbortController | null>(null);
  useEffect(() => () => running.current?.abort(), []);

  /** Uploads a file. Answers whether the file is stored. */
  const start = async (file: File): Promise<boolean> => {
    if (file.size > MAX_FILE_SIZE) {
      setUpload({ phase: "refused", message: text.editor.fileTooLarge(file.name, formatBytes(file.size)) });
      return false;
    }
    running.current?.abort();
    const stop = new AbortController();
    running.current = stop;
    setUpload({ phase: "sending", file, part: 0 });
    try {
      const onProgress = (part: number): void => {
        if (!stop.signal.aborted) setUpload({ phase: "sending", file, part });
      };
      const stored = await client.storage.upload(file, { visibility, signal: stop.signal, onProgress });
      if (stop.signal.aborted) return false;
      setUpload({ phase: "none" });
      onUploaded(stored);
      return true;
    } catch (thrown) {
      if (!stop.signal.aborted) setUpload({ phase: "failed", file, message: messageOf(thrown) });
      return false;
    }
  };
  const cancel = (): void => {
    running.current?.abort();
    setUpload({ phase: "none" });
  };
  const refuse = (message: string): void => setUpload({ phase: "refused", message });
  return { upload, start, cancel, refuse };
}

export async function searchFiles(words: string): Promise<readonly PickerItem[]> {
  const files = isId(words, "fil")
    ? [await client.admin.file(words)]
    : (await client.admin.files({ limit: PICKER_LIMIT, ...(words !== "" && { search: words }) })).items;
  return files.map(({ id, filename, size, mimeType }) => ({
    id,
    name: filename,
    note: `${formatBytes(size)} · ${mimeType}`,
  }));
}

export function UploadState(props: { upload: Upload; onCancel: () => void; onRetry: (file: File) => unknown }) {
  const { upload, onCancel, onRetry } = props;
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
          <Button size="compact-xs" variant="default" onClick={onCancel} style={{ flex: "none" }}>
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
          <Button size="compact-xs" variant="default" onClick={() => onRetry(upload.file)}>
            {text.common.retry}
          </Button>
        )}
      </Group>
    </Alert>
  );
}
