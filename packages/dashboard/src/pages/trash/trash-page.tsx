/** The trash of a collection (`/_/collections/{name}/trash`): the deleted records, each with a button that restores the record. */
import type { CollectionEntry, StoredRecord } from "@socle/protocol";
import { useMutation, useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { IconArrowBackUp, IconArrowLeft, IconTrash } from "../../icons/index.ts";
import {
  Action,
  actionColumn,
  type Column,
  confirmDanger,
  EmptyState,
  FilledPage,
  LinkAction,
  ListTable,
  notifyDone,
  notifyError,
  QueryView,
  timeColumn,
  Warning,
} from "../../kit/index.ts";
import { client } from "../../service/client.ts";
import { collectionQuery, queryClient } from "../../service/queries.ts";
import { text } from "../../texts/index.ts";
import { recordName } from "../records/editor/naming.ts";

const route = getRouteApi("/inside/collections/$name/trash");
const words = text.trash;

interface Deleted {
  readonly record: StoredRecord;
  readonly at: string;
  readonly until: string;
}

export function TrashPage() {
  const { name } = route.useParams();
  const query = useQuery(collectionQuery(name));
  return <QueryView query={query}>{(collection) => <Trash collection={collection} />}</QueryView>;
}

function Trash({ collection }: { collection: CollectionEntry }) {
  const { name, fields, definition } = collection;
  const key = ["records", name, "trash"];
  const query = useQuery({ queryKey: key, queryFn: () => client.collection(name).trash() });
  const refresh = (): Promise<void> => queryClient.invalidateQueries({ queryKey: ["records", name] });
  const restore = useMutation({
    mutationFn: ({ id }: StoredRecord) => client.collection(name).restore(id),
    onSuccess: (_, record) => notifyDone(words.restored(recordName(record, fields))),
    onError: (error) => notifyError(words.notRestored, error),
    onSettled: refresh,
  });
  const askEmpty = (): void =>
    confirmDanger({
      title: words.emptyTitle,
      body: words.emptyBody(name),
      action: words.empty,
      async onConfirm() {
        const { removed } = await client.admin.collections.emptyTrash(name);
        notifyDone(words.emptied(removed));
        await refresh();
      },
    });
  const rows = query.data?.items.flatMap((record): Deleted[] => {
    const times = query.data.deleted[record.id];
    return times === undefined ? [] : [{ record, ...times }];
  });
  const columns: Column<Deleted>[] = [
    { header: words.record, render: ({ record }) => recordName(record, fields) },
    timeColumn(words.deleted, ({ at }) => at),
    timeColumn(words.until, ({ until }) => until),
    actionColumn(120, ({ record }) => (
      <Action
        icon={IconArrowBackUp}
        label={words.restore}
        size="compact-xs"
        aria-label={words.restoreNamed(recordName(record, fields))}
        loading={restore.isPending && restore.variables.id === record.id}
        onClick={() => restore.mutate(record)}
      />
    )),
  ];
  return (
    <FilledPage
      title={words.title(name)}
      note={rows === undefined ? undefined : String(rows.length)}
      actions={
        <>
          <LinkAction icon={IconArrowLeft} label={words.toRecords} to="/collections/$name" params={{ name }} />
          {rows !== undefined && rows.length > 0 && <Action icon={IconTrash} label={words.empty} onClick={askEmpty} />}
        </>
      }
    >
      {query.data !== undefined && query.data.nextCursor !== null && <Warning>{words.more}</Warning>}
      <ListTable
        label={words.records}
        query={query}
        rows={rows}
        columns={columns}
        rowKey={({ record }) => record.id}
        empty={<EmptyState icon={IconTrash} title={words.none} body={words.noneBody(definition.trash ?? "")} />}
      />
    </FilledPage>
  );
}
