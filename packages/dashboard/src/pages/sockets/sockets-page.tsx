/** The open sockets (`/_/sockets`): who listens, since when, and to what; and a drawer for a socket. */
import type { SocketEntry } from "@socle/protocol";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { IconPlugConnected } from "../../icons/index.ts";
import {
  type Column,
  DetailsDrawer,
  EmptyState,
  FilledPage,
  formatBytes,
  formatNumber,
  NothingFound,
  PagedTable,
  Toolbar,
  timeColumn,
  UserSelect,
  Warning,
} from "../../kit/index.ts";
import { text } from "../../texts/index.ts";
import type { SocketSearch } from "../search.ts";
import { socketListQuery } from "./queries.ts";
import { callerOf, placeOf, SocketDetails } from "./socket-details.tsx";

const route = getRouteApi("/inside/sockets");

const columns: Column<SocketEntry>[] = [
  { header: text.sockets.user, render: callerOf },
  {
    header: text.sockets.holds,
    width: "28%",
    render: ({ channels, queries, rooms }) => text.sockets.held(channels.length, queries.length, rooms.length),
  },
  { header: text.sockets.address, width: 150, render: ({ address }) => <span className="mono">{address}</span> },
  { header: text.sockets.process, width: 130, render: placeOf },
  {
    header: text.sockets.waiting,
    width: 140,
    align: "right",
    narrow: "hidden",
    render: ({ waiting }) => <span className="numbers">{formatBytes(waiting)}</span>,
  },
  timeColumn(text.sockets.openedAt, ({ openedAt }) => openedAt),
];

export function SocketsPage() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const query = useQuery(socketListQuery(search));
  const set = (patch: SocketSearch): void => void navigate({ search: (old) => ({ ...old, ...patch }) });
  const ofUser = (user: string | undefined): void =>
    void navigate({ search: (old) => ({ ...old, user, page: undefined }), replace: true });
  const missing = query.data?.missing ?? [];
  const shown = query.data?.items.find(({ id }) => id === search.socket);
  return (
    <FilledPage title={text.sockets.title} note={query.data === undefined ? undefined : formatNumber(query.data.total)}>
      <Toolbar label={text.sockets.filters}>
        <UserSelect label={text.sockets.user} anyLabel={text.sockets.anyUser} value={search.user} onChange={ofUser} />
      </Toolbar>
      {missing.length > 0 && <Warning>{text.sockets.missing(missing.map(placeOf))}</Warning>}
      <PagedTable
        label={text.sockets.title}
        query={query}
        page={search.page}
        onPage={(page) => set({ page })}
        columns={columns}
        rowKey={({ id }) => id}
        onOpen={({ id }) => set({ socket: id })}
        openKey={search.socket}
        empty={
          search.user === undefined ? (
            <EmptyState icon={IconPlugConnected} title={text.sockets.empty} body={text.sockets.emptyBody} />
          ) : (
            <NothingFound icon={IconPlugConnected} words={text.sockets} onClear={() => ofUser(undefined)} />
          )
        }
      />
      <DetailsDrawer
        isOpen={search.socket !== undefined}
        onClose={() => set({ socket: undefined })}
        title={shown === undefined ? text.sockets.one : callerOf(shown)}
        size={620}
      >
        <SocketDetails socket={shown} />
      </DetailsDrawer>
    </FilledPage>
  );
}
