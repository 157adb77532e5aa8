/** The sessions of a user: when each began, when it ends, ending one or all. */
import { Badge, Button, Text } from "@mantine/core";
import { SocleError } from "@socle/client";
import type { SessionEntry, UserEntry } from "@socle/protocol";
import { useMutation } from "@tanstack/react-query";
import { confirmDanger, DetailsSection, formatDay, notifyDone, notifyFailure, RelativeTime } from "../../kit/index.ts";
import { client } from "../../service/client.ts";
import { text } from "../../texts/index.ts";
import { refreshUsers } from "./queries.ts";
import { sessionIdOf } from "./session-id.ts";
import classes from "./users.module.css";

/** Sessions that are listed; the others are ended with "End all". */
const shownSessions = 20;

/** A session that has ended meanwhile is as it should be. */
async function endSession(userId: string, id: string): Promise<void> {
  try {
    await client.admin.users.endSession(userId, id);
  } catch (error) {
    if (!(error instanceof SocleError) || error.status !== 404) throw error;
  }
}

export function UserSessions({ user }: { user: UserEntry }) {
  const { sessions } = user;
  const own = sessionIdOf(client.accessToken);
  const end = useMutation({
    mutationFn: ({ id }: SessionEntry) => endSession(user.id, id),
    onSuccess: () => notifyDone(text.users.sessionEnded),
    onError: notifyFailure,
    onSettled: refreshUsers,
  });
  // The session in use goes last: without it nothing else could be ended.
  const all = [...sessions].sort((a, b) => Number(a.id === own) - Number(b.id === own));
  const askForAll = (): void =>
    confirmDanger({
      title: text.users.endAllTitle(sessions.length),
      body: sessions.some(({ id }) => id === own) ? text.users.endAllOwn : text.users.endAllBody(user.email),
      action: text.users.endAll,
      onConfirm: async () => {
        try {
          for (const { id } of all) await endSession(user.id, id);
        } finally {
          await refreshUsers();
        }
        notifyDone(text.users.sessionsEnded(all.length));
      },
    });
  const endOne = (session: SessionEntry): void => {
    if (session.id !== own) {
      end.mutate(session);
      return;
    }
    confirmDanger({
      title: text.users.endOwnTitle,
      body: text.users.endOwnBody,
      action: text.users.endSession,
      onConfirm: () => end.mutateAsync(session),
    });
  };
  return (
    <DetailsSection
      title={text.users.sessions(sessions.length)}
      actions={
        sessions.length > 1 && (
          <Button size="compact-xs" variant="default" onClick={askForAll}>
            {text.users.endAll}
          </Button>
        )
      }
    >
      {sessions.length === 0 && (
        <Text size="sm" c="dimmed">
          {text.users.noSessions}
        </Text>
      )}
      <ul className={classes["sessions"]}>
        {sessions.slice(0, shownSessions).map((session) => (
          <li key={session.id} className={classes["session"]}>
            <span>
              {text.users.sessionSince} <RelativeTime at={session.createdAt} />
              <Text span c="dimmed" size="xs">
                {" · "}
                {text.users.sessionEnds} {formatDay(session.expiresAt)}
              </Text>{" "}
              {session.id === own && (
                <Badge size="sm" variant="light" tt="none">
                  {text.users.thisSession}
                </Badge>
              )}
            </span>
            <Button
              size="compact-xs"
              variant="subtle"
              color="gray"
              loading={end.isPending && end.variables.id === session.id}
              onClick={() => endOne(session)}
            >
              {text.users.endSession}
            </Button>
          </li>
        ))}
      </ul>
      {sessions.length > shownSessions && (
        <Text size="xs" c="dimmed" mt={6}>
          {text.users.moreSessions(sessions.length - shownSessions)}
        </Text>
      )}
    </DetailsSection>
  );
}
