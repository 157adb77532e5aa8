/** The pages before the sign-in: the sign-in (`/_/login`), and the set-up of the first admin (`/_/setup?token=…`). */
import { Center, Code, Group, Image, Paper, Stack, Text, Title } from "@mantine/core";
import { useDocumentTitle } from "@mantine/hooks";
import { SocleError } from "@socle/client";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate, useRouter } from "@tanstack/react-router";
import { type ReactNode, useEffect } from "react";
import iconUrl from "../../assets/icon.svg";
import { LinkAction } from "../../kit/action.tsx";
import { ErrorState, RowsSkeleton } from "../../kit/states.tsx";
import { Dim } from "../../kit/words.tsx";
import { client } from "../../service/client.ts";
import { setUp, useSession } from "../../service/session.ts";
import { text } from "../../texts/first.ts";
import { CredentialsForm } from "./credentials-form.tsx";
import { SignInForm } from "./sign-in-form.tsx";

const route = getRouteApi("/login");

export function LoginPage() {
  const { from } = route.useSearch();
  const router = useRouter();
  const { phase } = useSession();
  // The user has signed in here or in another tab.
  useEffect(() => {
    if (phase === "in") router.history.replace(`/_${from ?? "/"}`);
  }, [phase, from, router]);
  const { data: setup } = useQuery({
    queryKey: ["setup"],
    queryFn: () => client.setupStatus(),
    retry: false,
    staleTime: 60_000,
    refetchOnWindowFocus: false,
  });
  return (
    <FrontPage pageTitle={text.login.pageTitle} title={text.login.title}>
      <SignInForm />
      {setup?.status === "open" && (
        <Stack gap={4}>
          <Dim>{text.login.noAdmin}</Dim>
          <Code block>socle admin create you@example.com</Code>
        </Stack>
      )}
    </FrontPage>
  );
}

const setupRoute = getRouteApi("/setup");

export function SetupPage() {
  const { token = "" } = setupRoute.useSearch();
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

function FrontPage(props: { pageTitle: string; title: string; body?: string; children: ReactNode }) {
  const { pageTitle, title, body, children } = props;
  useDocumentTitle(`${pageTitle} · Socle`);
  return (
    <Center component="main" mih="100dvh" p="md">
      <Stack w="100%" maw={400} gap="lg">
        <Group gap="sm" justify="center">
          <Image src={iconUrl} w={36} h={36} alt="" />
          <Title order={1} size="h3">
            {title}
          </Title>
        </Group>
        <Paper withBorder radius="lg" p="xl" shadow="xs">
          <Stack>
            {body !== undefined && <Dim size="sm">{body}</Dim>}
            {children}
          </Stack>
        </Paper>
      </Stack>
    </Center>
  );
}
