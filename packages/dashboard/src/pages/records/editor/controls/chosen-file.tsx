/** A stored file in a field: a preview, the name, the size, a download. */
import { Badge, Box, Group, Image, Skeleton, Text } from "@mantine/core";
import { SocleError } from "@socle/client";
import type { StoredFile } from "@socle/protocol";
import { IconDownload, IconFile } from "@tabler/icons-react";
import { useMutation, useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import {
  formatBytes,
  IconAction,
  IdText,
  messageOf,
  notifyFailure,
  saveBlob,
  usePicture,
  visible,
} from "../../../../kit/index.ts";
import { client } from "../../../../service/client.ts";
import { text } from "../../../../texts/index.ts";
import { fileQuery } from "../../../storage/queries.ts";
import classes from "./controls.module.css";

export function ChosenFile({ id, actions }: { id: string; actions?: ReactNode }) {
  const { data: file, error, isPending } = useQuery(fileQuery(id));
  const { url: picture } = usePicture(file);
  if (isPending) return <Skeleton height={48} mb="xs" />;
  const isGone = error instanceof SocleError && error.status === 404;
  return (
    <Group gap="sm" wrap="nowrap">
      <div className={classes["picture"]}>
        {picture !== null && file !== undefined ? (
          <Image src={picture} alt={text.editor.imageOf(file.filename)} fit="cover" w={48} h={48} />
        ) : (
          <IconFile size={20} stroke={1.5} aria-hidden />
        )}
      </div>
      <Box flex={1} miw={0}>
        <Text size="sm" truncate title={file?.filename}>
          {visible(file?.filename ?? "") || (isGone ? text.editor.fileGone : text.editor.fileUnknown)}
        </Text>
        <Group gap={6} c="dimmed" fz="xs" className="numbers">
          {file !== undefined ? (
            <>
              <span>{formatBytes(file.size)}</span>
              <span>{file.mimeType}</span>
              <Badge size="xs" variant="default" tt="none" fw={500}>
                {text.storage.visibilities[file.visibility]}
              </Badge>
            </>
          ) : (
            !isGone && error !== null && <span>{messageOf(error)}</span>
          )}
          <IdText id={id} />
        </Group>
      </Box>
      <Group gap={2} wrap="nowrap">
        {file !== undefined && <Download file={file} />}
        {actions}
      </Group>
    </Group>
  );
}

function Download({ file }: { file: StoredFile }) {
  const download = useMutation({
    mutationFn: async () => saveBlob(await client.storage.download(file.id), file.filename),
    onError: notifyFailure,
  });
  return (
    <IconAction
      tip={text.editor.download}
      icon={IconDownload}
      label={`${text.editor.download} ${file.filename}`}
      loading={download.isPending}
      onClick={() => download.mutate()}
    />
  );
}
