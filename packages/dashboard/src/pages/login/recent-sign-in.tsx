/** The sign-in before a change of credentials: the service asks for a sign-in of the last ten minutes. */
import { Text } from "@mantine/core";
import { SocleError } from "@socle/client";
import { useSession } from "../../service/session.ts";
import { SignInForm } from "./sign-in-form.tsx";

/** Whether the service has refused a request because the sign-in is too old. */
export function isTooOld(error: unknown): boolean {
  return error instanceof SocleError && error.details.some(({ rule }) => rule === "recent_login");
}

export function RecentSignIn(props: { title: string; body: string; onDone: () => Promise<unknown> }) {
  const { title, body, onDone } = props;
  const session = useSession();
  if (session.phase === "out") return null;
  return (
    <>
      <Text fw={600} role="alert">
        {title}
      </Text>
      <Text size="sm">{body}</Text>
      <SignInForm email={session.user.email} onDone={onDone} />
    </>
  );
}
