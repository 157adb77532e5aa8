/** A new password for a user. The change ends the user's sessions. */
import { Button, Group, Stack, Text } from "@mantine/core";
import { SocleError } from "@socle/client";
import type { User } from "@socle/protocol";
import { IconCheck } from "@tabler/icons-react";
import { useMutation } from "@tanstack/react-query";
import { type FormEvent, useRef, useState } from "react";
import { Action, CopyAction, DetailsSection, Dim, messageOf } from "../../kit/index.ts";
import { client } from "../../service/client.ts";
import { text } from "../../texts/index.ts";
import { NewPassword } from "./new-password.tsx";
import { refreshUsers } from "./queries.ts";

export function UserPassword({ user }: { user: User }) {
  const [isOpen, setOpen] = useState(false);
  const wasOpen = useRef(false);
  const [password, setPassword] = useState("");
  const reset = useMutation({
    mutationFn: () => client.admin.users.setPassword(user.id, password),
    onSuccess: refreshUsers,
  });
  const close = (): void => {
    setOpen(false);
    setPassword("");
    reset.reset();
  };
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    reset.mutate();
  };
  const { error } = reset;
  const detail = error instanceof SocleError ? error.details.find(({ field }) => field === "password") : undefined;
  return (
    <DetailsSection
      title={text.users.passwordTitle}
      actions={
        !isOpen && (
          <Button
            size="compact-xs"
            variant="default"
            // After the form closes, the focus returns to this button.
            ref={(button) => {
              if (button !== null && wasOpen.current) button.focus();
            }}
            onClick={() => {
              wasOpen.current = true;
              setOpen(true);
            }}
          >
            {text.users.resetPassword}
          </Button>
        )
      }
    >
      {!isOpen && <Dim size="sm">{text.users.resetHint}</Dim>}
      {isOpen && reset.isSuccess && (
        <Stack gap="xs" role="status">
          <Group gap="xs">
            <IconCheck size={16} aria-hidden />
            <Text size="sm">{text.users.passwordSet}</Text>
          </Group>
          <Group gap="xs">
            <Text className="mono" size="sm">
              {password}
            </Text>
            <CopyAction value={password} label={text.users.copyPassword} />
          </Group>
          <Group justify="flex-end">
            <Action label={text.common.close} onClick={close} autoFocus />
          </Group>
        </Stack>
      )}
      {isOpen && !reset.isSuccess && (
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
            <Group justify="flex-end" gap="xs">
              <Action label={text.common.cancel} onClick={close} />
              <Action label={text.users.setPassword} type="submit" loading={reset.isPending} variant="filled" />
            </Group>
          </Stack>
        </form>
      )}
    </DetailsSection>
  );
}
