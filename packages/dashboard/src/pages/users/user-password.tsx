/** A new password for a user. The change ends the user's sessions. */
import { Stack, Text } from "@mantine/core";
import { SocleError } from "@socle/client";
import type { User } from "@socle/protocol";
import { IconCheck } from "@tabler/icons-react";
import { useMutation } from "@tanstack/react-query";
import { type FormEvent, useRef, useState } from "react";
import { Action, CopyAction, DetailsSection, Dim, FormFoot, messageOf } from "../../kit/index.ts";
import { client } from "../../service/client.ts";
import { text } from "../../texts/index.ts";
import { NewPassword } from "./new-password.tsx";
import { refreshUsers } from "./queries.ts";

export function UserPassword({ user }: { user: User }) {
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
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    reset.mutate();
  };
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
    <form onSubmit={submit}>
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
    </form>
  );
}
