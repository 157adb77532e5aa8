/** Drawer of a user: role, sessions, password, links, deletion. */
import { Badge, Button, Group, Text } from "@mantine/core";
import type { UserEntry } from "@socle/protocol";
import { IconActivity, IconFolder, IconTrash, IconUserSearch } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import {
  ButtonLink,
  CopyAction,
  confirmDanger,
  DetailsSection,
  Dim,
  Facts,
  formatDateTime,
  notifyDone,
  QueryView,
  RelativeTime,
  Warning,
} from "../../kit/index.ts";
import { client } from "../../service/client.ts";
import { userQuery } from "../../service/queries.ts";
import { signOut, useSession } from "../../service/session.ts";
import { text } from "../../texts/index.ts";
import { refreshUsers } from "./queries.ts";
import { UserPassword } from "./user-password.tsx";
import { UserRole } from "./user-role.tsx";
import { UserSessions } from "./user-sessions.tsx";

export function UserDetails({ id, onGone }: { id: string; onGone: () => void }) {
  // The service sends no event for a change of sessions: the drawer reads the sessions each time on opening.
  const query = useQuery({ ...userQuery(id), staleTime: 0 });
  return <QueryView query={query}>{(user) => <Details key={user.id} user={user} onGone={onGone} />}</QueryView>;
}

function Details({ user, onGone }: { user: UserEntry; onGone: () => void }) {
  const session = useSession();
  const navigate = useNavigate();
  const isOwn = session.phase !== "out" && session.user.id === user.id;
  const leave = async (): Promise<void> => {
    // The session may have ended already: a failed sign-out is no problem.
    await signOut().catch(() => undefined);
    await navigate({ to: "/login", search: {} });
  };
  const askToDelete = (): void =>
    confirmDanger({
      title: text.users.deleteTitle(user.email),
      body: isOwn ? text.users.deleteSelf : text.users.deleteBody,
      action: text.users.deleteAction,
      typed: user.email,
      onConfirm: async () => {
        await client.admin.users.delete(user.id);
        if (isOwn) return leave();
        notifyDone(text.users.deleted(user.email));
        onGone();
        return refreshUsers();
      },
    });
  return (
    <>
      <DetailsSection
        title={text.users.account}
        actions={
          isOwn && (
            <Badge size="sm" variant="light" tt="none">
              {text.users.you}
            </Badge>
          )
        }
      >
        <Facts
          items={[
            [
              text.users.email,
              <Group key="email" gap={4} wrap="nowrap">
                <span>{user.email}</span>
                <CopyAction value={user.email} label={text.users.copyEmail} />
              </Group>,
            ],
            [text.users.role, <UserRole key="role" user={user} isOwn={isOwn} onOwnLoss={leave} />],
            [
              text.users.createdAt,
              <span key="created">
                {formatDateTime(user.createdAt)}{" "}
                <Text span c="dimmed" size="xs">
                  (<RelativeTime at={user.createdAt} />)
                </Text>
              </span>,
            ],
            [
              text.users.id,
              <Group key="id" gap={4} wrap="nowrap">
                <span className="mono">{user.id}</span>
                <CopyAction value={user.id} label={text.users.copyId} />
              </Group>,
            ],
          ]}
        />
        <Group gap="xs" mt="sm">
          <ButtonLink
            to="/storage"
            search={{ user: user.id }}
            size="xs"
            variant="default"
            leftSection={<IconFolder size={14} />}
          >
            {text.users.files}
          </ButtonLink>
          <ButtonLink
            to="/events"
            search={{ actor: user.id }}
            size="xs"
            variant="default"
            leftSection={<IconActivity size={14} />}
          >
            {text.users.eventsBy}
          </ButtonLink>
          <ButtonLink
            to="/events"
            search={{ about: user.id }}
            size="xs"
            variant="default"
            leftSection={<IconUserSearch size={14} />}
          >
            {text.users.eventsAbout}
          </ButtonLink>
        </Group>
      </DetailsSection>
      <UserSessions user={user} />
      <UserPassword user={user} />
      <DetailsSection title={text.users.deleteSection}>
        <Dim size="sm" mb="sm">
          {text.users.deleteHint}
        </Dim>
        {isOwn && (
          <Text size="sm" mb="sm" component="div">
            <Warning>{text.users.ownWarning}</Warning>
          </Text>
        )}
        <Button
          size="xs"
          variant="default"
          c="var(--mantine-color-error)"
          leftSection={<IconTrash size={14} />}
          onClick={askToDelete}
        >
          {text.users.deleteAction}
        </Button>
      </DetailsSection>
    </>
  );
}
