/** The uploads of this page, as a panel at the lower edge: progress, errors, cancel, retry. */
import { Group, Progress, Text } from "@mantine/core";
import { IconCheck, IconRefresh, IconX } from "@tabler/icons-react";
import { Action, Complaint, Dim, formatBytes, IconAction } from "../../kit/index.ts";
import { text } from "../../texts/index.ts";
import classes from "./storage.module.css";
import { isOpen, type Upload, type Uploads } from "./use-uploads.ts";

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
          variant="subtle"
          color="gray"
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
