/** A stored file in a field: a preview, the name, the size, a download; and the choice of a visibility, of the next upload or of a stored file. */
import { Badge, Box, Group, Image, SegmentedControl, Skeleton, Text } from "@mantine/core";
import { SocleError } from "@socle/client";
import { type StoredFile, VISIBILITIES, type Visibility } from "@socle/protocol";
import { IconDownload, IconFile } from "@tabler/icons-react";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";
import {
  confirmDanger,
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

interface VisibilityChoiceProps {
  label: string;
  value: Visibility;
  disabled?: boolean;
  onChange: (visibility: Visibility) => void;
}

export function VisibilityChoice({ label, ...choice }: VisibilityChoiceProps) {
  const data = VISIBILITIES.map((value) => ({ value, label: text.storage.visibilities[value] }));
  return <SegmentedControl size="xs" aria-label={label} data={data} {...choice} />;
}

/** The visibility of a stored file. A question comes before the file becomes public. */
export function StoredVisibility({ file, label }: { file: StoredFile; label: string }) {
  const queryClient = useQueryClient();
  const change = useMutation({
    mutationFn: (to: Visibility) => client.admin.setVisibility(file.id, to),
    onSuccess: (changed) => {
      queryClient.setQueryData(fileQuery(changed.id).queryKey, changed);
      void queryClient.invalidateQueries({ queryKey: ["storage", "list"] });
    },
  });
  const choose = (to: Visibility): void => {
    if (to === file.visibility) return;
    if (to !== "public") change.mutate(to, { onError: notifyFailure });
    else
      confirmDanger({
        title: text.storage.publishTitle(file.filename),
        body: text.storage.publishBody,
        action: text.storage.publishAction,
        onConfirm: () => change.mutateAsync(to),
      });
  };
  return <VisibilityChoice label={label} value={file.visibility} disabled={change.isPending} onChange={choose} />;
}
