/** The sessions of the admin's own account, and the sign-out on a device, on all other devices, and everywhere. */
import { Group, Stack } from "@mantine/core";
import type { OwnSession, User } from "@socle/protocol";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { IconLogout } from "../../icons/index.ts";
import {
  Action,
  confirmDanger,
  Dim,
  notifyDone,
  notifyFailure,
  Panel,
  QueryView,
  RowsSkeleton,
} from "../../kit/index.ts";
import { client } from "../../service/client.ts";
import { finishDeletes } from "../../service/deletes.ts";
import { unlessGone } from "../../service/refusals.ts";
import { signOut } from "../../service/session.ts";
import { text } from "../../texts/index.ts";
import { SessionRow } from "../users/user-sessions.tsx";
import { refreshAccount, sessionsQuery } from "./queries.ts";

/** Most sessions in the list; "Sign out elsewhere" also ends the other sessions. */
const shownSessions = 50;

export function SessionsPanel({ user }: { user: User }) {
  const query = useQuery(sessionsQuery(user.id));
  const navigate = useNavigate();
  const others = query.data?.filter(({ current }) => !current).length ?? 0;
  const endOthers = (): void =>
    confirmDanger({
      title: text.account.endOthersTitle(others),
      body: text.account.endOthersBody,
      action: text.account.endOthers,
      onConfirm: async () => {
        await client.auth.sessions.endOthers();
        notifyDone(text.account.othersEnded);
        await refreshAccount();
      },
    });
  const endAll = (): void =>
    confirmDanger({
      title: text.account.endAllTitle,
      body: text.account.endAllBody,
      action: text.account.endAll,
      onConfirm: async () => {
        await finishDeletes();
        await signOut({ everywhere: true });
        await navigate({ to: "/login", search: {} });
      },
    });
  return (
    <Panel title={text.account.sessions(query.data?.length)} pb="md">
      <Stack px="md" gap={6}>
        <Dim>{text.account.sessionsHint}</Dim>
        <QueryView query={query} skeleton={<RowsSkeleton rows={2} height={36} />}>
          {(sessions) => <SessionList sessions={sessions} />}
        </QueryView>
        <Group gap="xs" mt={6}>
          {others > 0 && <Action icon={IconLogout} label={text.account.endOthers} onClick={endOthers} />}
          <Action icon={IconLogout} label={text.account.endAll} isDanger onClick={endAll} />
        </Group>
      </Stack>
    </Panel>
  );
}

function SessionList({ sessions }: { sessions: readonly OwnSession[] }) {
  const end = useMutation({
    // A session that has ended meanwhile counts as ended.
    mutationFn: ({ id }: OwnSession) => unlessGone(client.auth.sessions.end(id)),
    onSuccess: () => notifyDone(text.account.sessionEnded),
    onError: notifyFailure,
    onSettled: refreshAccount,
  });
  return (
    <>
      <ul className="plain">
        {sessions.slice(0, shownSessions).map((session) => (
          <SessionRow
            key={session.id}
            session={session}
            isOwn={session.current}
            isEnding={end.isPending && end.variables.id === session.id}
            label={text.account.endSession}
            {...(!session.current && { onEnd: () => end.mutate(session) })}
          />
        ))}
      </ul>
      {sessions.length === 1 && <Dim size="sm">{text.account.onlyHere}</Dim>}
      {sessions.length > shownSessions && <Dim>{text.users.moreSessions(sessions.length - shownSessions)}</Dim>}
    </>
  );
}
