/** The change of the admin's own password, which ends the sessions of all other devices. */
import { PasswordInput, Stack } from "@mantine/core";
import { SocleError } from "@socle/client";
import type { User } from "@socle/protocol";
import { useMutation } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { Action, Dim, Form, messageOf, Notice, notifyDone, Panel } from "../../kit/index.ts";
import { client } from "../../service/client.ts";
import { text } from "../../texts/index.ts";
import { NewPassword } from "../users/user-form.tsx";
import { refreshAccount } from "./queries.ts";

/** The errors at the fields of the form, and the error that belongs to no field. */
function problemsOf(error: unknown): { current?: string; password?: string; other?: string } {
  if (error === null) return {};
  if (!(error instanceof SocleError)) return { other: messageOf(error) };
  // A wrong present password is refused as forbidden, without a field.
  if (error.is("forbidden")) return { current: text.account.wrongPassword };
  const { current, password } = error.fields;
  if (current === undefined && password === undefined) return { other: messageOf(error) };
  return {
    ...(current !== undefined && { current }),
    ...(password !== undefined && { password: password.replace(/^password must/, text.login.passwordMust) }),
  };
}

export function PasswordPanel({ user }: { user: User }) {
  const [current, setCurrent] = useState("");
  const [password, setPassword] = useState("");
  const present = useRef<HTMLInputElement>(null);
  const change = useMutation({
    mutationFn: () => client.auth.changePassword(current, password),
    onSuccess: async () => {
      setCurrent("");
      setPassword("");
      notifyDone(text.account.passwordChanged);
      await refreshAccount();
    },
    onError: (error) => {
      if (problemsOf(error).current === undefined) return;
      present.current?.focus();
      present.current?.select();
    },
  });
  const problems = problemsOf(change.error);
  return (
    <Panel title={text.account.passwordTitle} pb="md">
      <Form onSubmit={() => change.isPending || change.mutate()}>
        <Stack px="md" gap="sm">
          <Dim>{text.account.passwordHint}</Dim>
          {problems.other !== undefined && <Notice tone="bad">{problems.other}</Notice>}
          {/* The store of passwords of the browser keeps the new password under this name. */}
          <input type="hidden" autoComplete="username" value={user.email ?? ""} readOnly />
          <PasswordInput
            label={text.account.currentPassword}
            autoComplete="current-password"
            required
            withAsterisk={false}
            value={current}
            onChange={(event) => setCurrent(event.currentTarget.value)}
            visibilityToggleButtonProps={{ "aria-label": text.users.showPassword, tabIndex: 0 }}
            error={problems.current}
            ref={present}
          />
          <NewPassword
            label={text.account.newPassword}
            value={password}
            onChange={setPassword}
            error={problems.password}
          />
          <Action
            label={text.account.changePassword}
            type="submit"
            size="sm"
            variant="filled"
            ml="auto"
            loading={change.isPending}
          />
        </Stack>
      </Form>
    </Panel>
  );
}
