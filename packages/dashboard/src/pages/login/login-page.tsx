/** The sign-in (`/_/login`). */
import { Code, Stack, Text } from "@mantine/core";
import { getRouteApi, useRouter } from "@tanstack/react-router";
import { signIn } from "../../service/session.ts";
import { text } from "../../texts/index.ts";
import { CredentialsForm } from "./credentials-form.tsx";
import { FrontPage } from "./front-page.tsx";

const route = getRouteApi("/login");

export function LoginPage() {
  const { from } = route.useSearch();
  const router = useRouter();
  return (
    <FrontPage pageTitle={text.login.pageTitle} title={text.login.title}>
      <CredentialsForm
        submitLabel={text.login.submit}
        passwordKind="current-password"
        onSubmit={async (credentials) => {
          await signIn(credentials);
          router.history.replace(`/_${from ?? "/"}`);
        }}
      />
      <Stack gap={4}>
        <Text size="xs" c="dimmed">
          {text.login.noAdmin}
        </Text>
        <Code block>socle admin create you@example.com</Code>
      </Stack>
    </FrontPage>
  );
}
