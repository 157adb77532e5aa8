/** The sign-in (`/_/login`). */
import { Code, Stack, Text } from "@mantine/core";
import { SocleError } from "@socle/client";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, useRouter } from "@tanstack/react-router";
import { useEffect } from "react";
import { client } from "../../service/client.ts";
import { signIn, useSession } from "../../service/session.ts";
import { text } from "../../texts/index.ts";
import { CredentialsForm } from "./credentials-form.tsx";
import { FrontPage } from "./front-page.tsx";

const route = getRouteApi("/login");

export function LoginPage() {
  const { from } = route.useSearch();
  const router = useRouter();
  const { phase } = useSession();
  // Signed in here, or by another tab.
  useEffect(() => {
    if (phase === "in") router.history.replace(`/_${from ?? "/"}`);
  }, [phase, from, router]);
  // The service refuses any token (401) while it waits for its first admin, and knows no set-up (404) afterwards.
  const { error } = useQuery({
    queryKey: ["invitation", ""],
    queryFn: () => client.invitation(""),
    retry: false,
    staleTime: 60_000,
    refetchOnWindowFocus: false,
  });
  const hasNoAdmin = error instanceof SocleError && error.status === 401;
  return (
    <FrontPage pageTitle={text.login.pageTitle} title={text.login.title}>
      <CredentialsForm
        submitLabel={text.login.submit}
        passwordKind="current-password"
        onSubmit={async (credentials) => {
          await signIn(credentials);
        }}
      />
      {hasNoAdmin && (
        <Stack gap={4}>
          <Text size="xs" c="dimmed">
            {text.login.noAdmin}
          </Text>
          <Code block>socle admin create you@example.com</Code>
        </Stack>
      )}
    </FrontPage>
  );
}
