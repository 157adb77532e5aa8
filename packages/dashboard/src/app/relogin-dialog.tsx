/** The sign-in over a page whose session has ended. The page below keeps everything that was typed. */

import { Modal, Stack, Text } from "@mantine/core";
import type { User } from "@socle/protocol";
import { useNavigate } from "@tanstack/react-router";
import { Action } from "../kit/index.ts";
import { CredentialsForm } from "../pages/login/credentials-form.tsx";
import { queryClient } from "../service/queries.ts";
import { signIn, signOut } from "../service/session.ts";
import { text } from "../texts/index.ts";

export function ReloginDialog({ user }: { user: User }) {
  const navigate = useNavigate();
  const leave = async (): Promise<void> => {
    // The session is over: the service has no session left to end.
    await signOut().catch(() => undefined);
    queryClient.clear();
    await navigate({ to: "/login", search: {} });
  };
  return (
    <Modal
      opened
      onClose={() => undefined}
      withCloseButton={false}
      closeOnClickOutside={false}
      closeOnEscape={false}
      title={text.login.expiredTitle}
      zIndex={1_000}
    >
      <Stack>
        <Text size="sm">{text.login.expiredBody}</Text>
        <CredentialsForm
          submitLabel={text.login.submit}
          email={user.email}
          passwordKind="current-password"
          onSubmit={async (credentials) => {
            await signIn(credentials);
            await queryClient.invalidateQueries();
          }}
        />
        <Action label={text.login.otherAccount} variant="subtle" color="gray" onClick={leave} />
      </Stack>
    </Modal>
  );
}
