/** The users of the service (`/_/users`): search, roles, and a drawer for a user. */
import { USERS, type User } from "@socle/protocol";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { IconMail, IconPlus, IconSchema, IconUserSearch } from "../../icons/index.ts";
import {
  Action,
  type Column,
  DetailsDrawer,
  FilledPage,
  FilterChoice,
  formatNumber,
  IdText,
  LinkAction,
  NothingFound,
  nameOfUser,
  PagedTable,
  SearchBox,
  Toolbar,
  timeColumn,
  useShortcut,
} from "../../kit/index.ts";
import { collectionsQuery, userQuery } from "../../service/queries.ts";
import { useSession } from "../../service/session.ts";
import { text } from "../../texts/index.ts";
import type { UserSearch } from "../search.ts";
import { userListQuery } from "./queries.ts";
import { OwnBadge, RoleMark, VerifiedMark } from "./role-mark.tsx";
import { UserDetails } from "./user-details.tsx";
import { UserForm, type UserFormKind } from "./user-form.tsx";

const route = getRouteApi("/inside/users");

function columnsOf(ownId: string | null): Column<User>[] {
  return [
    {
      header: text.users.email,
      render: (user) => (
        <span className="inline">
          {nameOfUser(user)}
          {user.id === ownId && <OwnBadge label={text.users.you} />}
        </span>
      ),
    },
    { header: text.users.role, width: 180, render: ({ role }) => <RoleMark role={role} /> },
    {
      header: text.users.address,
      width: 140,
      render: ({ verified }) => verified !== undefined && <VerifiedMark isVerified={verified} />,
    },
    timeColumn(text.users.createdAt, ({ createdAt }) => createdAt),
    { header: text.users.id, width: 130, narrow: "hidden", render: ({ id }) => <IdText id={id} /> },
  ];
}

/** The way to the definition of the fields of users, which the first fields begin. */
function FieldsLink() {
  const { data } = useQuery(collectionsQuery);
  const look = { icon: IconSchema, visibleFrom: "sm" } as const;
  if (data === undefined) return null;
  return data.some(({ name }) => name === USERS) ? (
    <LinkAction {...look} label={text.users.allFields} to="/collections/$name/schema" params={{ name: USERS }} />
  ) : (
    <LinkAction {...look} label={text.users.defineFields} to="/collections/-/new" search={{ name: USERS }} />
  );
}

const formTitles: { readonly [kind in UserFormKind]: string } = {
  new: text.users.new,
  invite: text.users.inviteTitle,
};

function isForm(user: string | undefined): user is UserFormKind {
  return user !== undefined && Object.hasOwn(formTitles, user);
}

const noFilter = { search: undefined, role: undefined };

export function UsersPage() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const session = useSession();
  const query = useQuery(userListQuery(search));
  const ownId = session.phase === "out" ? null : session.user.id;
  const { data: shown } = useQuery({ ...userQuery(search.user ?? ""), enabled: false });
  const set = (patch: UserSearch): void => void navigate({ search: (old) => ({ ...old, ...patch }) });
  const filter = (patch: UserSearch): void =>
    void navigate({ search: (old) => ({ ...old, ...patch, page: undefined }), replace: true });
  const close = (): void => set({ user: undefined });
  useShortcut({ keys: "n", label: text.users.new, group: text.shortcuts.page }, () => set({ user: "new" }));

  return (
    <FilledPage
      title={text.users.title}
      note={query.data === undefined ? undefined : formatNumber(query.data.total)}
      actions={
        <>
          <FieldsLink />
          <Action icon={IconMail} label={text.users.invite} onClick={() => set({ user: "invite" })} />
          <Action icon={IconPlus} label={text.users.new} onClick={() => set({ user: "new" })} variant="filled" />
        </>
      }
    >
      <Toolbar label={text.users.filters}>
        <SearchBox label={text.users.search} value={search.search} onChange={(value) => filter({ search: value })} />
        <FilterChoice
          w={170}
          words={text.users.roles}
          label={text.users.roleFilter}
          anyLabel={text.users.anyRole}
          value={search.role}
          onChange={(role) => filter({ role })}
        />
      </Toolbar>
      <PagedTable
        label={text.users.title}
        query={query}
        page={search.page}
        onPage={(page) => set({ page })}
        columns={columnsOf(ownId)}
        rowKey={({ id }) => id}
        onOpen={({ id }) => set({ user: id })}
        openKey={search.user}
        empty={<NothingFound icon={IconUserSearch} words={text.users} onClear={() => filter(noFilter)} />}
      />
      <DetailsDrawer
        isOpen={search.user !== undefined}
        onClose={close}
        title={isForm(search.user) ? formTitles[search.user] : shown === undefined ? text.users.one : nameOfUser(shown)}
      >
        {isForm(search.user) ? (
          <UserForm
            key={search.user}
            kind={search.user}
            onCancel={close}
            onDone={(id) => void navigate({ search: { user: id ?? undefined }, replace: true })}
          />
        ) : (
          search.user !== undefined && <UserDetails id={search.user} onGone={close} />
        )}
      </DetailsDrawer>
    </FilledPage>
  );
}
