/** Drawer of a user: the account with its fields, factors, links, keys, sessions and mails, the password, the deletion. */
import { Group, Text } from "@mantine/core";
import type { UserEntry } from "@socle/protocol";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { IconActivity, IconFolder, IconTrash, IconUserSearch } from "../../icons/index.ts";
import {
  Action,
  confirmDanger,
  DetailsSection,
  Dim,
  Fact,
  Facts,
  LinkAction,
  nameOfUser,
  notifyDone,
  QueryView,
  Warning,
  WholeTime,
} from "../../kit/index.ts";
import { client } from "../../service/client.ts";
import { userQuery } from "../../service/queries.ts";
import { signOut, useSession } from "../../service/session.ts";
import { text } from "../../texts/index.ts";
import { refreshUsers } from "./queries.ts";
import { OwnBadge, VerifiedMark } from "./role-mark.tsx";
import { SendMail } from "./send-mail.tsx";
import { UserFactors } from "./user-factors.tsx";
import { UserFields, useUserFields } from "./user-fields.tsx";
import { UserKeys } from "./user-keys.tsx";
import { UserLinks } from "./user-links.tsx";
import { UserMails } from "./user-mails.tsx";
import { UserPassword } from "./user-password.tsx";
import { UserRole } from "./user-role.tsx";
import { UserSessions } from "./user-sessions.tsx";
import { UserUndo } from "./user-undo.tsx";

export function UserDetails({ id, onGone }: { id: string; onGone: () => void }) {
  // The service sends no event for a change of sessions: the drawer reads the sessions each time on opening.
  const query = useQuery({ ...userQuery(id), staleTime: 0 });
  return <QueryView query={query}>{(user) => <Details key={user.id} user={user} onGone={onGone} />}</QueryView>;
}

function Details({ user, onGone }: { user: UserEntry; onGone: () => void }) {
  const session = useSession();
  const fields = useUserFields();
  const navigate = useNavigate();
  const isOwn = session.phase !== "out" && session.user.id === user.id;
  const leave = async (): Promise<void> => {
    // The session may have ended already: a failed sign-out is no problem.
    await signOut().catch(() => undefined);
    await navigate({ to: "/login", search: {} });
  };
  return (
    <>
      <DetailsSection title={text.users.account} actions={isOwn && <OwnBadge label={text.users.you} />}>
        <Facts>
          <Fact
            name={text.users.email}
            value={nameOfUser(user)}
            {...(user.email !== null && { copy: text.users.copyEmail })}
          />
          {user.email !== null && (
            <Fact name={text.users.address} value={<Verification user={user} email={user.email} />} />
          )}
          <Fact name={text.users.role} value={<UserRole user={user} isOwn={isOwn} onOwnLoss={leave} />} />
          <Fact name={text.users.createdAt} value={<WholeTime at={user.createdAt} />} />
          <Fact name={text.users.id} value={user.id} isMono copy={text.users.copyId} />
        </Facts>
        <Group gap="xs" mt="sm">
          <LinkAction icon={IconFolder} label={text.users.files} to="/storage" search={{ user: user.id }} />
          <LinkAction icon={IconActivity} label={text.users.eventsBy} to="/events" search={{ actor: user.id }} />
          <LinkAction icon={IconUserSearch} label={text.users.eventsAbout} to="/events" search={{ about: user.id }} />
        </Group>
      </DetailsSection>
      {fields !== undefined && <UserFields collection={fields} id={user.id} />}
      <UserFactors user={user} />
      <UserLinks user={user} />
      <UserKeys user={user} />
      <UserSessions user={user} />
      {user.email !== null && <UserMails email={user.email} />}
      {user.email !== null && <UserPassword user={user} email={user.email} />}
      <UserUndo id={user.id} />
      <Deletion user={user} isOwn={isOwn} onGone={isOwn ? leave : onGone} />
    </>
  );
}

/** Whether the user has proven the address; otherwise, a button sends a mail for the proof. */
function Verification({ user: { id, verified }, email }: { user: UserEntry; email: string }) {
  return (
    <Group gap="4px 12px">
      {verified !== undefined && <VerifiedMark isVerified={verified} />}
      {!verified && (
        <SendMail
          label={text.users.sendVerification}
          done={text.users.verificationSent(email)}
          send={() => client.admin.users.sendVerification(id)}
        />
      )}
    </Group>
  );
}

function Deletion({ user, isOwn, onGone }: { user: UserEntry; isOwn: boolean; onGone: () => void }) {
  const ask = (): void =>
    confirmDanger({
      title: text.users.deleteTitle(nameOfUser(user)),
      body: isOwn ? text.users.deleteSelf : text.users.deleteBody,
      action: text.users.deleteAction,
      typed: nameOfUser(user),
      onConfirm: async () => {
        await client.admin.users.delete(user.id);
        if (!isOwn) notifyDone(text.users.deleted(nameOfUser(user)));
        onGone();
        // The own account has no session to read with.
        if (!isOwn) await refreshUsers();
      },
    });
  return (
    <DetailsSection title={text.users.deleteSection}>
      <Dim size="sm" mb="sm">
        {text.users.deleteHint}
      </Dim>
      {isOwn && (
        <Text size="sm" mb="sm" component="div">
          <Warning>{text.users.ownWarning}</Warning>
        </Text>
      )}
      <Action icon={IconTrash} label={text.users.deleteAction} isDanger onClick={ask} />
    </DetailsSection>
  );
}
