/** The stored files (`/_/storage`): as a list or as pictures, uploads by drag and drop, and a drawer for a file. */
import { FileButton, Group, SegmentedControl, Text } from "@mantine/core";
import type { StoredFile, Visibility } from "@socle/protocol";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { IconCloudUpload, IconPhoto, IconTrash, IconUpload } from "../../icons/index.ts";
import {
  Action,
  Choice,
  type Column,
  choicesOf,
  DetailsDrawer,
  Dim,
  EmptyState,
  ErrorState,
  FilledPage,
  FilterChoice,
  formatBytes,
  formatNumber,
  IdText,
  LeaveGuard,
  NothingFound,
  PageDrop,
  PagedTable,
  Pager,
  SearchBox,
  Toolbar,
  timeColumn,
  UserSelect,
  visible,
} from "../../kit/index.ts";
import { text } from "../../texts/index.ts";
import type { StorageSearch } from "../search.ts";
import { askToDelete, FileDetails } from "./file-details.tsx";
import { FileGrid, KindIcon } from "./file-grid.tsx";
import { fileListQuery, fileQuery } from "./queries.ts";
import { isOpen, UploadList, useUploads } from "./uploads.tsx";
import { VisibilityMark } from "./visibility.tsx";

const route = getRouteApi("/inside/storage");

const columns: Column<StoredFile>[] = [
  {
    header: text.storage.name,
    render: ({ filename, mimeType }) => (
      <span className="inline">
        <KindIcon mimeType={mimeType} />
        <span>{visible(filename)}</span>
      </span>
    ),
  },
  { header: text.storage.type, width: 190, render: ({ mimeType }) => mimeType },
  { header: text.storage.size, width: 100, align: "right", render: ({ size }) => formatBytes(size) },
  {
    header: text.storage.visibility,
    width: 130,
    render: ({ visibility }) => <VisibilityMark visibility={visibility} />,
  },
  timeColumn(text.storage.createdAt, ({ createdAt }) => createdAt),
  { header: text.storage.id, width: 120, narrow: "hidden", render: ({ id }) => <IdText id={id} /> },
];

const noFilter = { search: undefined, visibility: undefined, user: undefined };

export function StoragePage() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const query = useQuery(fileListQuery(search));
  const uploads = useUploads();
  const [visibility, setVisibility] = useState<Visibility>("protected");
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const set = (patch: StorageSearch): void => void navigate({ search: (old) => ({ ...old, ...patch }) });
  const filter = (patch: StorageSearch): void =>
    void navigate({ search: (old) => ({ ...old, ...patch, page: undefined }), replace: true });
  const add = (files: readonly File[]): void => uploads.add(files, visibility);
  const chosen = (query.data?.items ?? []).filter(({ id }) => selected.has(id));
  const selection = { selected, onChange: setSelected };
  const isFiltered = search.search !== undefined || search.visibility !== undefined || search.user !== undefined;
  const view = search.view ?? "list";
  const { data: shown } = useQuery({ ...fileQuery(search.file ?? ""), enabled: false });
  const empty = isFiltered ? (
    <NothingFound icon={IconPhoto} words={text.storage} onClear={() => filter(noFilter)} />
  ) : (
    <EmptyState icon={IconCloudUpload} title={text.storage.emptyTitle} body={text.storage.emptyBody}>
      <UploadButton onFiles={add} />
    </EmptyState>
  );
  return (
    <FilledPage
      title={text.storage.title}
      note={query.data === undefined ? undefined : formatNumber(query.data.total)}
      actions={
        <>
          {chosen.length > 0 && (
            <Action
              icon={IconTrash}
              label={text.storage.deleteAction(chosen.length)}
              isDanger
              onClick={() => askToDelete(chosen, () => setSelected(new Set()))}
            />
          )}
          <Dim aria-hidden>{text.storage.uploadAsShort}</Dim>
          <Choice
            w={116}
            aria-label={text.storage.uploadAs}
            words={text.storage.visibilities}
            value={visibility}
            onChange={setVisibility}
          />
          <UploadButton onFiles={add} />
        </>
      }
    >
      <PageDrop onFiles={add}>
        <Group justify="center">
          <IconCloudUpload size={40} stroke={1.5} aria-hidden />
          <Text size="lg">{text.storage.drop(text.storage.visibilities[visibility].toLowerCase())}</Text>
        </Group>
      </PageDrop>
      <Filters search={search} onFilter={filter} onView={(next) => set({ view: next === "list" ? undefined : next })} />
      {view === "list" || query.data === undefined || query.data.total === 0 ? (
        <PagedTable
          label={text.storage.title}
          query={query}
          page={search.page}
          onPage={(page) => set({ page })}
          columns={columns}
          rowKey={({ id }) => id}
          onOpen={({ id }) => set({ file: id })}
          openKey={search.file}
          selection={selection}
          empty={empty}
        />
      ) : (
        <>
          {query.isError && <ErrorState error={query.error} onRetry={query.refetch} />}
          <FileGrid files={query.data.items} selection={selection} onOpen={({ id }) => set({ file: id })} />
          <Pager page={search.page ?? 1} total={query.data.total} onPage={(page) => set({ page })} />
        </>
      )}
      <UploadList uploads={uploads} />
      <LeaveGuard
        isActive={uploads.list.some(isOpen)}
        title={text.storage.leaveTitle}
        body={text.storage.leaveBody(uploads.list.filter(isOpen).length)}
        action={text.storage.leave}
      />
      <DetailsDrawer
        isOpen={search.file !== undefined}
        onClose={() => set({ file: undefined })}
        title={visible(shown?.filename ?? text.storage.one)}
      >
        {search.file !== undefined && <FileDetails id={search.file} onGone={() => set({ file: undefined })} />}
      </DetailsDrawer>
    </FilledPage>
  );
}

interface FiltersProps {
  search: StorageSearch;
  onFilter: (patch: StorageSearch) => void;
  onView: (view: StorageSearch["view"]) => void;
}

function Filters({ search, onFilter, onView }: FiltersProps) {
  return (
    <Toolbar label={text.storage.filters}>
      <SearchBox label={text.storage.search} value={search.search} onChange={(value) => onFilter({ search: value })} />
      <FilterChoice
        words={text.storage.visibilities}
        label={text.storage.visibilityFilter}
        anyLabel={text.storage.anyVisibility}
        value={search.visibility}
        onChange={(visibility) => onFilter({ visibility })}
      />
      <UserSelect
        label={text.storage.owner}
        anyLabel={text.storage.anyOwner}
        value={search.user}
        onChange={(user) => onFilter({ user })}
      />
      <SegmentedControl
        size="xs"
        ml="auto"
        aria-label={text.storage.view}
        data={choicesOf(text.storage.views)}
        value={search.view ?? "list"}
        onChange={onView}
      />
    </Toolbar>
  );
}

function UploadButton({ onFiles }: { onFiles: (files: readonly File[]) => void }) {
  return (
    <FileButton onChange={onFiles} multiple inputProps={{ "aria-label": text.storage.upload }}>
      {(props) => <Action icon={IconUpload} label={text.storage.upload} {...props} variant="filled" />}
    </FileButton>
  );
}
