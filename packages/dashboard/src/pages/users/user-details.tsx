/** Drawer of a user: role, fields, sessions, password, links, deletion. */
import { Group, Stack, Text } from "@mantine/core";
import { SocleError } from "@socle/client";
import type { Role, User, UserEntry } from "@socle/protocol";
import { IconActivity, IconCheck, IconFolder, IconTrash, IconUserSearch } from "@tabler/icons-react";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useRef, useState } from "react";
import {
  Action,
  Choice,
  CopyAction,
  confirmDanger,
  DetailsSection,
  Dim,
  Fact,
  Facts,
  Form,
  FormFoot,
  LinkAction,
  messageOf,
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
import { OwnBadge } from "./role-mark.tsx";
import { UserFields, useUserFields } from "./user-fields.tsx";
import { NewPassword } from "./user-form.tsx";
import { UserSessions } from "./user-sessions.tsx";

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
          <Fact name={text.users.email} value={user.email} copy={text.users.copyEmail} />
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
      <UserSessions user={user} />
      <UserPassword user={user} />
      <Deletion user={user} isOwn={isOwn} onGone={isOwn ? leave : onGone} />
    </>
  );
}

function Deletion({ user, isOwn, onGone }: { user: UserEntry; isOwn: boolean; onGone: () => void }) {
  const ask = (): void =>
    confirmDanger({
      title: text.users.deleteTitle(user.email),
      body: isOwn ? text.users.deleteSelf : text.users.deleteBody,
      action: text.users.deleteAction,
      typed: user.email,
      onConfirm: async () => {
        await client.admin.users.delete(user.id);
        if (!isOwn) notifyDone(text.users.deleted(user.email));
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

interface UserRoleProps {
  user: User;
  isOwn: boolean;
  /** Called when the signed-in admin loses the admin role. */
  onOwnLoss: () => void;
}

/** The role as a control: a question comes before a user gets or loses the admin role. */
function UserRole({ user, isOwn, onOwnLoss }: UserRoleProps) {
  const change = useMutation({
    mutationFn: (role: Role) => client.admin.users.setRole(user.id, role),
    onSuccess: async (_, role) => {
      if (isOwn && role !== "admin") return onOwnLoss();
      if (role === "admin") notifyDone(text.users.promoted(user.email));
      else if (user.role === "admin") notifyDone(text.users.demoted(user.email));
      else notifyDone(text.users.roleChanged(user.email, text.users.roles[role]));
      return refreshUsers();
    },
  });
  const choose = (role: Role): void => {
    if (role === user.role) return;
    if (role !== "admin" && user.role !== "admin") {
      change.mutate(role);
      return;
    }
    const isPromotion = role === "admin";
    confirmDanger({
      title: isPromotion ? text.users.promoteTitle(user.email) : text.users.demoteTitle(user.email),
      body: isPromotion ? text.users.promoteBody : isOwn ? text.users.demoteSelf : text.users.demoteBody,
      action: isPromotion ? text.users.promoteAction : text.users.demoteAction,
      // The control shows a refusal.
      onConfirm: () => change.mutateAsync(role).catch(() => undefined),
    });
  };
  return (
    <Choice
      maw={320}
      aria-label={text.users.role}
      words={text.users.roles}
      value={change.isPending ? change.variables : user.role}
      onChange={choose}
      // A disabled input would lose the focus.
      readOnly={change.isPending}
      aria-busy={change.isPending}
      description={text.users.roleHints[user.role]}
      inputWrapperOrder={["input", "description", "error"]}
      error={change.error === null ? null : messageOf(change.error)}
      styles={{ wrapper: { width: 200 } }}
    />
  );
}

function UserPassword({ user }: { user: User }) {
  const [isOpen, setOpen] = useState(false);
  const wasOpen = useRef(false);
  const open = (): void => {
    wasOpen.current = true;
    setOpen(true);
  };
  // After the form closes, the focus returns to this button.
  const takeFocus = (button: HTMLButtonElement | null): void => {
    if (wasOpen.current) button?.focus();
  };
  return (
    <DetailsSection
      title={text.users.passwordTitle}
      actions={!isOpen && <Action label={text.users.resetPassword} size="compact-xs" ref={takeFocus} onClick={open} />}
    >
      {isOpen ? (
        <PasswordForm user={user} onClose={() => setOpen(false)} />
      ) : (
        <Dim size="sm">{text.users.resetHint}</Dim>
      )}
    </DetailsSection>
  );
}

function PasswordForm({ user, onClose }: { user: User; onClose: () => void }) {
  const [password, setPassword] = useState("");
  const reset = useMutation({
    mutationFn: () => client.admin.users.setPassword(user.id, password),
    onSuccess: refreshUsers,
  });
  const { error } = reset;
  const detail = error instanceof SocleError ? error.details.find(({ field }) => field === "password") : undefined;
  if (reset.isSuccess)
    return (
      <Stack gap="xs" role="status">
        <span className="inline">
          <IconCheck size={16} aria-hidden />
          <Text size="sm">{text.users.passwordSet}</Text>
        </span>
        <span className="inline">
          <span className="mono">{password}</span>
          <CopyAction value={password} label={text.users.copyPassword} />
        </span>
        <Action label={text.common.close} ml="auto" onClick={onClose} autoFocus />
      </Stack>
    );
  return (
    <Form onSubmit={reset.mutate}>
      <Stack gap="sm">
        <NewPassword
          label={text.users.newPassword}
          hint={text.users.resetHint}
          autoFocus
          value={password}
          onChange={setPassword}
          error={error === null ? undefined : (detail?.message ?? messageOf(error))}
        />
        <FormFoot size="xs" label={text.users.setPassword} isBusy={reset.isPending} onCancel={onClose} />
      </Stack>
    </Form>
  );
}
