/** The set-up of the first admin (`/_/setup?token=…`), by the link in the start log. The link works once. */
import { Stack, Text } from "@mantine/core";
import { SocleError } from "@socle/client";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { LinkAction } from "../../kit/action.tsx";
import { ErrorState, RowsSkeleton } from "../../kit/states.tsx";
import { client } from "../../service/client.ts";
import { setUp } from "../../service/session.ts";
import { text } from "../../texts/index.ts";
import { CredentialsForm } from "./credentials-form.tsx";
import { FrontPage } from "./front-page.tsx";

const route = getRouteApi("/setup");

export function SetupPage() {
  const { token = "" } = route.useSearch();
  const navigate = useNavigate();
  const invitation = useQuery({
    queryKey: ["invitation", token],
    queryFn: () => client.invitation(token),
    refetchOnWindowFocus: false,
  });
  const isOver = invitation.error instanceof SocleError && [401, 404].includes(invitation.error.status);

  if (isOver) {
    return (
      <FrontPage pageTitle={text.setup.pageTitle} title={text.setup.overTitle}>
        <Stack>
          <Text size="sm">{text.setup.overBody}</Text>
          <LinkAction label={text.setup.toLogin} to="/login" variant="light" size="sm" />
        </Stack>
      </FrontPage>
    );
  }
  return (
    <FrontPage pageTitle={text.setup.pageTitle} title={text.setup.title} body={text.setup.body}>
      {invitation.isPending && <RowsSkeleton rows={3} />}
      {invitation.isError && <ErrorState error={invitation.error} onRetry={invitation.refetch} />}
      {invitation.isSuccess && (
        <CredentialsForm
          submitLabel={text.setup.submit}
          passwordKind="new-password"
          passwordHint={text.setup.passwordHint(invitation.data.passwordMinLength)}
          passwordMinLength={invitation.data.passwordMinLength}
          onSubmit={async (credentials) => {
            await setUp(token, credentials);
            await navigate({ to: "/", replace: true });
          }}
        />
      )}
    </FrontPage>
  );
}
