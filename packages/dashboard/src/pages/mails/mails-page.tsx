/** The outbox (`/_/mails`): the mails that wait, were sent, have failed or are kept, and a drawer for a mail. */
import type { MailEntry } from "@socle/protocol";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { IconMail, IconSettings } from "../../icons/index.ts";
import {
  CodeText,
  type Column,
  DetailsDrawer,
  Dim,
  EmptyState,
  FilledPage,
  FilterChoice,
  formatNumber,
  LinkAction,
  NothingFound,
  PagedTable,
  SearchBox,
  Toolbar,
  timeColumn,
} from "../../kit/index.ts";
import { mailSettingsQuery } from "../../service/queries.ts";
import { text } from "../../texts/index.ts";
import type { MailSearch } from "../search.ts";
import { MailDetails } from "./mail-details.tsx";
import { MailMark } from "./mail-mark.tsx";
import { mailListQuery } from "./queries.ts";

const route = getRouteApi("/inside/mails");

const columns: Column<MailEntry>[] = [
  { header: text.mails.to, width: "30%", render: ({ to }) => to },
  { header: text.mails.subject, render: ({ subject }) => subject || text.mails.noSubject },
  { header: text.mails.kind, width: 110, render: ({ kind }) => <span className="mono">{kind}</span> },
  { header: text.mails.status, width: 110, render: ({ status }) => <MailMark status={status} /> },
  timeColumn(text.mails.createdAt, ({ createdAt }) => createdAt),
];

export function MailsPage() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const query = useQuery(mailListQuery(search));
  const { data: settings } = useQuery(mailSettingsQuery);
  const set = (patch: MailSearch): void => void navigate({ search: (old) => ({ ...old, ...patch }) });
  const filter = (patch: MailSearch): void =>
    void navigate({ search: (old) => ({ ...old, ...patch, page: undefined }), replace: true });
  const isFiltered = search.search !== undefined || search.status !== undefined;
  const shown = query.data?.items.find(({ id }) => id === search.mail);
  return (
    <FilledPage
      title={text.mails.title}
      note={query.data === undefined ? undefined : formatNumber(query.data.total)}
      actions={<LinkAction icon={IconSettings} label={text.mails.toSettings} to="/settings" />}
    >
      <Toolbar label={text.mails.filters}>
        <SearchBox label={text.mails.search} value={search.search} onChange={(value) => filter({ search: value })} />
        <FilterChoice
          w={150}
          words={text.mails.statuses}
          label={text.mails.statusFilter}
          anyLabel={text.mails.anyStatus}
          value={search.status}
          onChange={(status) => filter({ status })}
        />
        {settings !== undefined && settings.from !== null && settings.server === null && (
          <Dim>
            <CodeText text={text.mails.keptNote} />
          </Dim>
        )}
      </Toolbar>
      <PagedTable
        label={text.mails.title}
        query={query}
        page={search.page}
        onPage={(page) => set({ page })}
        columns={columns}
        rowKey={({ id }) => id}
        onOpen={({ id }) => set({ mail: id })}
        openKey={search.mail}
        empty={
          isFiltered ? (
            <NothingFound
              icon={IconMail}
              words={text.mails}
              onClear={() => filter({ search: undefined, status: undefined })}
            />
          ) : (
            <NoMails isOff={settings?.from === null} />
          )
        }
      />
      <DetailsDrawer
        isOpen={search.mail !== undefined}
        onClose={() => set({ mail: undefined })}
        title={shown?.subject || text.mails.one}
        size={620}
      >
        {search.mail !== undefined && <MailDetails id={search.mail} entry={shown} />}
      </DetailsDrawer>
    </FilledPage>
  );
}

function NoMails({ isOff }: { isOff: boolean }) {
  return (
    <EmptyState
      icon={IconMail}
      title={text.mails.empty}
      body={isOff ? <CodeText text={text.mails.emptyOff} /> : text.mails.emptyBody}
    >
      {isOff && <LinkAction icon={IconSettings} label={text.mails.toSettings} to="/settings" />}
    </EmptyState>
  );
}
