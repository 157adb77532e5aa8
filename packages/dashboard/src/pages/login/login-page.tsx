/** The sign-in (`/_/login`). */
import { Code, Stack } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, useRouter } from "@tanstack/react-router";
import { useEffect } from "react";
import { Dim } from "../../kit/words.tsx";
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
      <CredentialsForm
        submitLabel={text.login.submit}
        passwordKind="current-password"
        onSubmit={async (credentials) => {
          await signIn(credentials);
        }}
      />
      {setup?.status === "open" && (
        <Stack gap={4}>
          <Dim>{text.login.noAdmin}</Dim>
          <Code block>socle admin create you@example.com</Code>
        </Stack>
      )}
    </FrontPage>
  );
}
