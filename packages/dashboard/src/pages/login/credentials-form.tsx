/** The form of an email and a password, with the service's errors at their fields. */
import { PasswordInput, Stack, TextInput } from "@mantine/core";
import { SocleError } from "@socle/client";
import type { Credentials } from "@socle/protocol";
import { useMutation } from "@tanstack/react-query";
import { type FormEvent, useEffect, useRef, useState } from "react";
import { Action } from "../../kit/action.tsx";
import { messageOf, Notice } from "../../kit/states.tsx";
import { text } from "../../texts/first.ts";

interface Problems {
  email?: string;
  password?: string;
}

/** The mistakes that the page finds before a request. All errors appear at their fields in the same way. */
function problemsOf({ email, password }: Credentials, passwordMinLength: number): Problems {
  return {
    ...(!/^\S+@\S+$/.test(email.trim()) && { email: text.login.noEmail }),
    ...(password === ""
      ? { password: text.login.noPassword }
      : [...password].length < passwordMinLength && { password: text.login.shortPassword(passwordMinLength) }),
  };
}

export function CredentialsForm(props: {
  submitLabel: string;
  /** A fixed email. */
  email?: string;
  passwordHint?: string;
  /** Set for a new password. */
  passwordMinLength?: number;
  /** For the browser's password store. */
  passwordKind: "current-password" | "new-password";
  onSubmit: (credentials: Credentials) => Promise<unknown>;
}) {
  const { submitLabel, email: givenEmail, passwordHint, passwordMinLength = 0, passwordKind, onSubmit } = props;
  const [email, setEmail] = useState(givenEmail ?? "");
  const [password, setPassword] = useState("");
  const [problems, setProblems] = useState<Problems>({});
  const [tries, setTries] = useState(0);
  const countTry = (): void => setTries((n) => n + 1);
  const request = useMutation({ mutationFn: onSubmit, onError: countTry });
  const { error, isPending: isBusy } = request;

  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const own = problemsOf({ email, password }, passwordMinLength);
    setProblems(own);
    request.reset();
    countTry();
    if (own.email === undefined && own.password === undefined) request.mutate({ email, password });
  };

  const details = error instanceof SocleError ? error.details : [];
  const refused = (field: string): string | undefined => details.find((each) => each.field === field)?.message;
  const emailError = problems.email ?? (refused("email") === undefined ? undefined : text.login.noEmail);
  const passwordError = problems.password ?? refused("password")?.replace(/^password must/, text.login.passwordMust);
  const emailInput = useRef<HTMLInputElement>(null);
  const passwordInput = useRef<HTMLInputElement>(null);
  // After a failed try, the field with the mistake gets the focus. At the beginning, the first empty field gets the focus.
  // biome-ignore lint/correctness/useExhaustiveDependencies: each try is the reason.
  useEffect(() => {
    if (isBusy) return;
    const isPassword = emailError === undefined && (tries > 0 || givenEmail !== undefined);
    const input = isPassword ? passwordInput.current : emailInput.current;
    input?.focus();
    if (tries > 0) input?.select();
  }, [tries, isBusy]);
  const isWrong = error instanceof SocleError && error.status === 401;
  return (
    <form onSubmit={submit} noValidate>
      <Stack>
        {error !== null && details.length === 0 && (
          <Notice tone="bad">
            {isWrong && passwordKind === "current-password" ? text.login.wrong : messageOf(error)}
          </Notice>
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
          error={emailError}
          ref={emailInput}
          data-autofocus={givenEmail === undefined || undefined}
        />
        <PasswordInput
          label={text.login.password}
          description={passwordHint}
          autoComplete={passwordKind}
          required
          withAsterisk={false}
          value={password}
          onChange={(event) => setPassword(event.currentTarget.value)}
          error={passwordError}
          ref={passwordInput}
          data-autofocus={givenEmail !== undefined || undefined}
        />
        <Action label={submitLabel} type="submit" loading={isBusy} fullWidth size="sm" variant="filled" />
      </Stack>
    </form>
  );
}
