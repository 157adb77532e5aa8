/** The form of an email and a password, with the service's errors at their fields. */
import { Alert, Button, PasswordInput, Stack, TextInput } from "@mantine/core";
import { SocleError } from "@socle/client";
import type { Credentials } from "@socle/protocol";
import { type FormEvent, useState } from "react";
import { messageOf } from "../../kit/states.tsx";
import { text } from "../../texts/index.ts";

export function CredentialsForm(props: {
  submitLabel: string;
  /** An email that is given and cannot be changed. */
  email?: string;
  passwordHint?: string;
  /** For the browser's password store. */
  passwordKind: "current-password" | "new-password";
  onSubmit: (credentials: Credentials) => Promise<unknown>;
}) {
  const { submitLabel, email: givenEmail, passwordHint, passwordKind, onSubmit } = props;
  const [email, setEmail] = useState(givenEmail ?? "");
  const [password, setPassword] = useState("");
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);

  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      await onSubmit({ email, password });
    } catch (thrown) {
      setError(thrown);
    } finally {
      setBusy(false);
    }
  };

  const details = error instanceof SocleError ? error.details : [];
  const problemOf = (field: string): string | undefined => details.find((each) => each.field === field)?.message;
  const isWrong = error instanceof SocleError && error.status === 401;
  return (
    <form onSubmit={submit}>
      <Stack>
        {error !== null && details.length === 0 && (
          <Alert color="red" variant="light" role="alert">
            {isWrong && passwordKind === "current-password" ? text.login.wrong : messageOf(error)}
          </Alert>
        )}
        <TextInput
          label={text.login.email}
          type="email"
          autoComplete="username"
          required
          withAsterisk={false}
          value={email}
          readOnly={givenEmail !== undefined}
          onChange={(event) => setEmail(event.currentTarget.value)}
          error={problemOf("email")}
          data-autofocus={givenEmail === undefined}
        />
        <PasswordInput
          label={text.login.password}
          description={passwordHint}
          autoComplete={passwordKind}
          required
          withAsterisk={false}
          value={password}
          onChange={(event) => setPassword(event.currentTarget.value)}
          error={problemOf("password")}
          data-autofocus={givenEmail !== undefined}
        />
        <Button type="submit" loading={isBusy} fullWidth>
          {submitLabel}
        </Button>
      </Stack>
    </form>
  );
}
