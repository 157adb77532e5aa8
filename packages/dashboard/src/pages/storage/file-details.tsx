/** A file in the drawer: preview, facts, visibility, the records with the file, download, deletion. */
import { Anchor, Code, Group, Skeleton, Stack } from "@mantine/core";
import type { StoredFile } from "@socle/protocol";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { IconDownload, IconTrash } from "../../icons/index.ts";
import {
  Action,
  CopyAction,
  confirmDanger,
  DetailsSection,
  Dim,
  ErrorState,
  Fact,
  Facts,
  formatBytes,
  formatDateTime,
  formatNumber,
  maxWhole,
  notifyDone,
  notifyError,
  QueryView,
  saveBlob,
  TextLink,
  UserLink,
  useObjectUrl,
  usePicture,
  visible,
} from "../../kit/index.ts";
import { client } from "../../service/client.ts";
import { unlessGone } from "../../service/refusals.ts";
import { text } from "../../texts/index.ts";
import { fileQuery, refreshFiles, usesQuery, useVisibility } from "./queries.ts";
import classes from "./storage.module.css";
import { VisibilityChoice } from "./visibility.tsx";

export function FileDetails({ id, onGone }: { id: string; onGone: () => void }) {
  const query = useQuery(fileQuery(id));
  return <QueryView query={query}>{(file) => <Details file={file} onGone={onGone} />}</QueryView>;
}

/** Asks before the deletion of files. For a single file, the question shows the number of records with the file. */
export function askToDelete(files: readonly Pick<StoredFile, "id" | "filename">[], onDone: () => void): void {
  const [only] = files;
  if (only === undefined) return;
  const isOne = files.length === 1;
  confirmDanger({
    title: isOne ? text.storage.deleteTitle(only.filename) : text.storage.deleteManyTitle(files.length),
    body: isOne ? <DeletionBody id={only.id} /> : text.storage.deleteManyBody,
    action: text.storage.deleteAction(files.length),
    onConfirm: async () => {
      try {
        // A file that is deleted already counts as deleted: after a failure, the user may confirm the question again.
        for (const { id } of files) await unlessGone(client.storage.delete(id));
      } finally {
        void refreshFiles();
      }
      notifyDone(text.storage.deleted(files.length));
      onDone();
    },
  });
}

function DeletionBody({ id }: { id: string }) {
  const { data } = useQuery(usesQuery(id));
  if (data === undefined) return <>{text.storage.deleteUnknown}</>;
  return <>{data.total === 0 ? text.storage.deleteBody : text.storage.deleteUsed(data.total)}</>;
}

function Details({ file, onGone }: { file: StoredFile; onGone: () => void }) {
  const download = useMutation({
    mutationFn: async () => saveBlob(await client.storage.download(file.id), file.filename),
    onError: (error) => notifyError(text.storage.downloadFailed, error),
  });
  const url = new URL(file.url, window.location.origin).href;
  return (
    <>
      <DetailsSection title={text.storage.preview}>
        <Preview file={file} />
      </DetailsSection>
      <DetailsSection title={text.storage.facts}>
        <Facts>
          <Fact name={text.storage.name} value={visible(file.filename)} />
          <Fact name={text.storage.type} value={file.mimeType} isMono />
          <Fact name={text.storage.size} value={`${formatBytes(file.size)} (${formatNumber(file.size)} B)`} />
          <Fact name={text.storage.createdAt} value={formatDateTime(file.createdAt)} />
          <Fact name={text.storage.owner} value={<UserLink id={file.userId} nobody={text.storage.noOwner} />} />
          <Fact name={text.storage.id} value={file.id} isMono copy={text.storage.copyId} />
          {file.visibility === "public" && (
            <Fact
              name={text.storage.address}
              value={
                <Group gap={4} wrap="nowrap">
                  <Anchor href={url} target="_blank" rel="noreferrer" size="sm" className="mono" underline="always">
                    {file.url}
                  </Anchor>
                  <CopyAction value={url} label={text.storage.copyAddress} />
                </Group>
              }
            />
          )}
        </Facts>
        <Group gap="xs" mt="sm">
          <Action
            icon={IconDownload}
            label={text.storage.download}
            loading={download.isPending}
            onClick={() => download.mutate()}
          />
        </Group>
      </DetailsSection>
      <VisibilitySection file={file} />
      <UsesSection id={file.id} />
      <DetailsSection title={text.storage.deleteSection}>
        <Action
          icon={IconTrash}
          label={text.storage.deleteAction(1)}
          isDanger
          onClick={() => askToDelete([file], onGone)}
        />
      </DetailsSection>
    </>
  );
}

function VisibilitySection({ file }: { file: StoredFile }) {
  const { change, choose } = useVisibility(file);
  return (
    <DetailsSection title={text.storage.visibility}>
      <Stack gap={6} align="flex-start">
        <VisibilityChoice
          label={text.storage.visibility}
          value={file.visibility}
          onChange={choose}
          disabled={change.isPending}
        />
        <Dim>{text.storage.visibilityHints[file.visibility]}</Dim>
        {change.isError && <ErrorState error={change.error} />}
      </Stack>
    </DetailsSection>
  );
}

function UsesSection({ id }: { id: string }) {
  const query = useQuery(usesQuery(id));
  return (
    <DetailsSection title={text.storage.uses}>
      <QueryView query={query} skeleton={<Skeleton height={16} width={180} />}>
        {({ items, total }) =>
          total === 0 ? (
            <Dim size="sm">{text.storage.noUses}</Dim>
          ) : (
            <Stack gap={4}>
              {items.map(({ collection, field, id: record }) => (
                <TextLink
                  to="/collections/$name"
                  params={{ name: collection }}
                  search={{ record }}
                  key={`${collection} ${field} ${record}`}
                  underline="always"
                >
                  {collection}.{field} · <span className="mono">{record}</span>
                </TextLink>
              ))}
              {total > items.length && <Dim>{text.storage.moreUses(total - items.length)}</Dim>}
            </Stack>
          )
        }
      </QueryView>
    </DetailsSection>
  );
}

/** Most bytes of a text in the preview. */
const maxText = 100 * 1_024;

function isText(mimeType: string): boolean {
  return /^text\/|json|xml|javascript|csv|yaml/.test(mimeType);
}

function Preview({ file }: { file: StoredFile }) {
  if (file.mimeType.startsWith("image/")) return <ImagePreview file={file} />;
  if (/^(audio|video)\//.test(file.mimeType)) return <MediaPreview file={file} />;
  if (isText(file.mimeType) && file.size > 0) return <TextPreview file={file} />;
  return <Dim size="sm">{text.storage.noPreview}</Dim>;
}

function ImagePreview({ file }: { file: StoredFile }) {
  const { url, missing } = usePicture(file, "800x800");
  const [isBroken, setBroken] = useState(false);
  if (missing !== null || isBroken)
    return (
      <Dim size="sm">
        {missing === "too large" ? text.storage.largeImage(formatBytes(maxWhole)) : text.storage.noImage}
      </Dim>
    );
  if (url === null) return <Skeleton height={220} aria-hidden />;
  return (
    <img
      src={url}
      alt={text.storage.previewOf(file.filename)}
      className={classes["preview"]}
      onError={() => setBroken(true)}
    />
  );
}

/** @param maxBytes bytes from the beginning; undefined reads the whole file. */
function useContent(file: StoredFile, maxBytes?: number) {
  return useQuery({
    queryKey: ["storage", "content", file.id, maxBytes],
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 30_000,
    queryFn: ({ signal }) => client.storage.download(file.id, { signal, ...(maxBytes !== undefined && { maxBytes }) }),
  });
}

function MediaPreview({ file }: { file: StoredFile }) {
  const query = useContent(file);
  const url = useObjectUrl(query.data ?? null);
  if (query.isError) return <ErrorState error={query.error} onRetry={query.refetch} />;
  if (url === null) return <Skeleton height={54} aria-hidden />;
  const label = text.storage.previewOf(file.filename);
  return file.mimeType.startsWith("audio/") ? (
    // biome-ignore lint/a11y/useMediaCaption: a stored file has no captions.
    <audio controls src={url} aria-label={label} style={{ width: "100%" }} />
  ) : (
    // biome-ignore lint/a11y/useMediaCaption: a stored file has no captions.
    <video controls src={url} aria-label={label} style={{ width: "100%" }} />
  );
}

function TextPreview({ file }: { file: StoredFile }) {
  const query = useContent(file, maxText);
  const beginning = useQuery({
    queryKey: ["storage", "text", file.id, query.data?.size],
    enabled: query.data !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
    // A character cut at the end is left out.
    queryFn: async () => new TextDecoder().decode(await query.data?.arrayBuffer(), { stream: true }),
  });
  if (query.isError) return <ErrorState error={query.error} onRetry={query.refetch} />;
  if (beginning.data === undefined) return <Skeleton height={120} aria-hidden />;
  return (
    <>
      <Code block className={classes["text"]} tabIndex={0} aria-label={text.storage.previewOf(file.filename)}>
        {beginning.data}
      </Code>
      {file.size > maxText && <Dim mt={4}>{text.storage.cutText}</Dim>}
    </>
  );
}
