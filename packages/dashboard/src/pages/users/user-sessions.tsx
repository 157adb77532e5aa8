/** The sessions of a user: start and end of each session, and buttons to end a single session or all sessions. */
import type { SessionEntry, UserEntry } from "@socle/protocol";
import { useMutation } from "@tanstack/react-query";
import {
  Action,
  confirmDanger,
  DetailsSection,
  Dim,
  formatDay,
  nameOfUser,
  notifyDone,
  notifyFailure,
  RelativeTime,
} from "../../kit/index.ts";
import { client } from "../../service/client.ts";
import { unlessGone } from "../../service/refusals.ts";
import { text } from "../../texts/index.ts";
import { refreshUsers } from "./queries.ts";
import { OwnBadge } from "./role-mark.tsx";
import { Row } from "./row.tsx";
import { sessionIdOf } from "./session-id.ts";

/** Most sessions in the list; "End all" also ends the other sessions. */
const shownSessions = 20;

/** A session that has ended meanwhile counts as ended. */
async function endSession(userId: string, id: string): Promise<void> {
  await unlessGone(client.admin.users.endSession(userId, id));
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
  // The current session ends last: without this session, the page could not end the other sessions.
  const all = [...sessions].sort((a, b) => Number(a.id === own) - Number(b.id === own));
  const askForAll = (): void =>
    confirmDanger({
      title: text.users.endAllTitle(sessions.length),
      body: sessions.some(({ id }) => id === own) ? text.users.endAllOwn : text.users.endAllBody(nameOfUser(user)),
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
      actions={sessions.length > 1 && <Action label={text.users.endAll} size="compact-xs" onClick={askForAll} />}
    >
      {sessions.length === 0 && <Dim size="sm">{text.users.noSessions}</Dim>}
      <ul className="plain">
        {sessions.slice(0, shownSessions).map((session) => (
          <SessionRow
            key={session.id}
            session={session}
            isOwn={session.id === own}
            isEnding={end.isPending && end.variables.id === session.id}
            onEnd={() => endOne(session)}
          />
        ))}
      </ul>
      {sessions.length > shownSessions && <Dim mt={6}>{text.users.moreSessions(sessions.length - shownSessions)}</Dim>}
    </DetailsSection>
  );
}

interface SessionRowProps {
  session: SessionEntry;
  isOwn: boolean;
  isEnding: boolean;
  /** The label of the button. */
  label?: string;
  /** Without this function, the row has no button. */
  onEnd?: () => void;
}

export function SessionRow({ session, isOwn, isEnding, label = text.users.endSession, onEnd }: SessionRowProps) {
  const button = onEnd && <Action label={label} size="compact-xs" isQuiet loading={isEnding} onClick={onEnd} />;
  return (
    <Row action={button}>
      {text.users.sessionSince} <RelativeTime at={session.createdAt} />
      <span className="quiet">
        {" · "}
        {text.users.lastUsed} <RelativeTime at={session.lastUsedAt} />
        {" · "}
        {text.users.sessionEnds} {formatDay(session.expiresAt)}
      </span>{" "}
      {isOwn && <OwnBadge label={text.users.thisSession} />}
      <Origin session={session} />
    </Row>
  );
}

/** The address and the program of a sign-in, in a line that is cut. */
function Origin({ session: { address, userAgent } }: { session: SessionEntry }) {
  const origin = [address, userAgent].filter((part) => part !== null).join(" · ");
  if (origin === "") return null;
  return (
    <Dim truncate title={origin}>
      {text.users.sessionFrom} {origin}
    </Dim>
  );
}
