/** A file in the drawer: preview, facts, visibility, the records with the file, download, deletion. */
import { Anchor, Group, SegmentedControl, Skeleton, Stack } from "@mantine/core";
import type { StoredFile } from "@socle/protocol";
import { IconDownload, IconTrash } from "@tabler/icons-react";
import { useMutation, useQuery } from "@tanstack/react-query";
import {
  Action,
  CopyAction,
  choicesOf,
  confirmDanger,
  DetailsSection,
  Dim,
  ErrorState,
  Fact,
  Facts,
  formatBytes,
  formatDateTime,
  formatNumber,
  notifyDone,
  notifyError,
  QueryView,
  saveBlob,
  TextLink,
  UserLink,
  visible,
} from "../../kit/index.ts";
import { client } from "../../service/client.ts";
import { unlessGone } from "../../service/gone.ts";
import { queryClient } from "../../service/queries.ts";
import { text } from "../../texts/index.ts";
import { Preview } from "./preview.tsx";
import { fileQuery, refreshFiles, usesQuery } from "./queries.ts";

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
  const change = useMutation({
    mutationFn: (visibility: StoredFile["visibility"]) => client.admin.setVisibility(file.id, visibility),
    onSuccess: async (changed) => {
      queryClient.setQueryData(fileQuery(file.id).queryKey, changed);
      await refreshFiles();
    },
  });
  const choose = (visibility: StoredFile["visibility"]): void => {
    if (visibility !== "public") change.mutate(visibility);
    else
      confirmDanger({
        title: text.storage.publishTitle(file.filename),
        body: text.storage.publishBody,
        action: text.storage.publishAction,
        onConfirm: () => change.mutateAsync(visibility),
      });
  };
  return (
    <DetailsSection title={text.storage.visibility}>
      <Stack gap={6} align="flex-start">
        <SegmentedControl
          size="xs"
          aria-label={text.storage.visibility}
          data={choicesOf(text.storage.visibilities)}
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
