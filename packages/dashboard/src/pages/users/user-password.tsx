/** The password of a user in the drawer: a mail with a link for a new password, or a new password by the admin. */
import { Group, Stack, Text } from "@mantine/core";
import { SocleError } from "@socle/client";
import type { User } from "@socle/protocol";
import { useMutation } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { IconCheck } from "../../icons/index.ts";
import { Action, CopyAction, DetailsSection, Dim, Form, FormFoot, messageOf } from "../../kit/index.ts";
import { client } from "../../service/client.ts";
import { afterRecentSignIn } from "../../service/recent.ts";
import { text } from "../../texts/index.ts";
import { refreshUsers } from "./queries.ts";
import { SendMail } from "./send-mail.tsx";
import { NewPassword } from "./user-form.tsx";

export function UserPassword({ user, email }: { user: User; email: string }) {
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
        <Stack gap="xs" align="flex-start">
          <Dim size="sm">{text.users.resetHint}</Dim>
          <Group gap="4px 12px">
            <SendMail
              label={text.users.sendReset}
              done={text.users.resetSent(email)}
              send={() => client.admin.users.sendReset(user.id)}
            />
          </Group>
        </Stack>
      )}
    </DetailsSection>
  );
}

function PasswordForm({ user, onClose }: { user: User; onClose: () => void }) {
  const [password, setPassword] = useState("");
  const reset = useMutation({
    mutationFn: () => afterRecentSignIn(() => client.admin.users.setPassword(user.id, password)),
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
