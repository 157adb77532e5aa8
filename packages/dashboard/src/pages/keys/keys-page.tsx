/** The service keys (`/_/keys`): keys of programs that belong to no user, and a drawer for a new key. */
import type { ApiKey } from "@socle/protocol";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { IconKey, IconPlus } from "../../icons/index.ts";
import {
  Action,
  actionColumn,
  type Column,
  DetailsDrawer,
  Dim,
  EmptyState,
  FilledPage,
  formatDay,
  formatNumber,
  ListTable,
  timeColumn,
  useShortcut,
} from "../../kit/index.ts";
import { client } from "../../service/client.ts";
import { text } from "../../texts/index.ts";
import { DeleteKey } from "./delete-key.tsx";
import { NewKey } from "./key-form.tsx";
import classes from "./keys.module.css";
import { refreshKeys, serviceKeysQuery } from "./queries.ts";

const route = getRouteApi("/inside/keys");

const columns: Column<ApiKey>[] = [
  { header: text.keys.name, width: "24%", render: ({ name }) => name },
  { header: text.keys.scopes, render: ({ scopes }) => <span className="mono">{scopes.join(" ")}</span> },
  { ...timeColumn<ApiKey>(text.keys.createdAt, ({ createdAt }) => createdAt), narrow: "hidden" },
  { ...timeColumn<ApiKey>(text.keys.lastUsedAt, ({ lastUsedAt }) => lastUsedAt), narrow: "hidden" },
  {
    header: text.keys.expiresAt,
    width: 130,
    render: ({ expiresAt }) =>
      expiresAt === null ? <span className="quiet">{text.keys.noEnd}</span> : formatDay(expiresAt),
  },
  actionColumn(100, (key) => (
    <DeleteKey apiKey={key} send={() => client.admin.keys.delete(key.id)} onDeleted={refreshKeys} />
  )),
];

export function KeysPage() {
  const { key } = route.useSearch();
  const navigate = route.useNavigate();
  const query = useQuery(serviceKeysQuery);
  const open = (): void => void navigate({ search: { key: "new" } });
  const close = (): void => void navigate({ search: {} });
  useShortcut({ keys: "n", label: text.keys.new, group: text.shortcuts.page }, open);
  return (
    <FilledPage
      title={text.keys.title}
      note={query.data === undefined ? undefined : formatNumber(query.data.length)}
      actions={<Action icon={IconPlus} label={text.keys.new} onClick={open} variant="filled" />}
    >
      <Dim className={classes["note"] ?? ""}>{text.keys.note}</Dim>
      <ListTable
        label={text.keys.title}
        query={query}
        rows={query.data}
        columns={columns}
        rowKey={({ id }) => id}
        empty={
          <EmptyState icon={IconKey} title={text.keys.empty} body={text.keys.emptyBody}>
            <Action icon={IconPlus} label={text.keys.new} onClick={open} />
          </EmptyState>
        }
      />
      <DetailsDrawer isOpen={key !== undefined} onClose={close} title={text.keys.new}>
        {key !== undefined && <NewKey onClose={close} />}
      </DetailsDrawer>
    </FilledPage>
  );
}
