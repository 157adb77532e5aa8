/** A file in the drawer: preview, facts, visibility, the records with the file, download, deletion. */
import { Anchor, Button, Group, SegmentedControl, Skeleton, Stack } from "@mantine/core";
import { SocleError } from "@socle/client";
import { type StoredFile, VISIBILITIES } from "@socle/protocol";
import { IconDownload, IconTrash } from "@tabler/icons-react";
import { useMutation, useQuery } from "@tanstack/react-query";
import {
  CopyAction,
  confirmDanger,
  DetailsSection,
  Dim,
  ErrorState,
  Facts,
  formatBytes,
  formatDateTime,
  formatNumber,
  notifyDone,
  notifyError,
  QueryView,
  saveBlob,
  TextLink,
  visible,
} from "../../kit/index.ts";
import { client } from "../../service/client.ts";
import { queryClient, userQuery } from "../../service/queries.ts";
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
        for (const { id } of files) await deleteFile(id);
      } finally {
        void refreshFiles();
      }
      notifyDone(text.storage.deleted(files.length));
      onDone();
    },
  });
}

/** A file that is deleted already counts as deleted: after a failure, the user may confirm the question again. */
async function deleteFile(id: string): Promise<void> {
  try {
    await client.storage.delete(id);
  } catch (error) {
    if (!(error instanceof SocleError) || error.status !== 404) throw error;
  }
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
        <Facts
          items={[
            [text.storage.name, visible(file.filename)],
            [
              text.storage.type,
              <span key="type" className="mono">
                {file.mimeType}
              </span>,
            ],
            [text.storage.size, `${formatBytes(file.size)} (${formatNumber(file.size)} B)`],
            [text.storage.createdAt, formatDateTime(file.createdAt)],
            [text.storage.owner, <Owner key="owner" id={file.userId} />],
            [
              text.storage.id,
              <Group key="id" gap={4} wrap="nowrap">
                <span className="mono">{file.id}</span>
                <CopyAction value={file.id} label={text.storage.copyId} />
              </Group>,
            ],
            [
              text.storage.address,
              file.visibility === "public" ? (
                <Group key="address" gap={4} wrap="nowrap">
                  <Anchor href={url} target="_blank" rel="noreferrer" size="sm" className="mono" underline="always">
                    {file.url}
                  </Anchor>
                  <CopyAction value={url} label={text.storage.copyAddress} />
                </Group>
              ) : null,
            ],
          ]}
        />
        <Group gap="xs" mt="sm">
          <Button
            size="xs"
            variant="default"
            leftSection={<IconDownload size={14} />}
            loading={download.isPending}
            onClick={() => download.mutate()}
          >
            {text.storage.download}
          </Button>
        </Group>
      </DetailsSection>
      <VisibilitySection file={file} />
      <UsesSection id={file.id} />
      <DetailsSection title={text.storage.deleteSection}>
        <Button
          size="xs"
          variant="default"
          c="var(--mantine-color-error)"
          leftSection={<IconTrash size={14} />}
          onClick={() => askToDelete([file], onGone)}
        >
          {text.storage.deleteAction(1)}
        </Button>
      </DetailsSection>
    </>
  );
}

function Owner({ id }: { id: string | null }) {
  const query = useQuery({ ...userQuery(id ?? ""), enabled: id !== null, retry: false });
  if (id === null) return <>{text.storage.noOwner}</>;
  if (query.isPending) return <Skeleton height={14} width={160} />;
  // The account may be deleted; its files stay.
  if (query.data === undefined) return <span className="mono">{id}</span>;
  return (
    <TextLink to="/users" search={{ user: id }} underline="always">
      {query.data.email}
    </TextLink>
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
  const choose = (value: string): void => {
    const visibility = VISIBILITIES.find((each) => each === value);
    if (visibility === undefined || visibility === file.visibility) return;
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
          data={VISIBILITIES.map((value) => ({ value, label: text.storage.visibilities[value] }))}
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
