/** The form of a new user. */
import { Stack, TextInput } from "@mantine/core";
import { SocleError } from "@socle/client";
import type { Role, User } from "@socle/protocol";
import { useMutation } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { Choice, FormFoot, messageOf, Notice, notifyDone } from "../../kit/index.ts";
import { client } from "../../service/client.ts";
import { text } from "../../texts/index.ts";
import { NewPassword } from "./new-password.tsx";
import { refreshUsers } from "./queries.ts";

export function UserForm({ onCreated, onCancel }: { onCreated: (user: User) => void; onCancel: () => void }) {
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const [role, setRole] = useState<Role>("authenticated");
  const creation = useMutation({
    mutationFn: () => client.admin.users.create({ email, password, role }),
    onSuccess: async (user) => {
      notifyDone(text.users.created(user.email));
      await refreshUsers();
      onCreated(user);
    },
  });
  const error = creation.error;
  const details = error instanceof SocleError ? error.details : [];
  const problemOf = (field: string): string | undefined => details.find((each) => each.field === field)?.message;
  const isTaken = error instanceof SocleError && error.status === 409;

  const submit = (event: FormEvent): void => {
    event.preventDefault();
    creation.mutate();
  };
  return (
    <form onSubmit={submit}>
      <Stack p="md">
        {error !== null && details.length === 0 && !isTaken && <Notice tone="bad">{messageOf(error)}</Notice>}
        <TextInput
          label={text.users.email}
          type="email"
          autoComplete="off"
          required
          withAsterisk={false}
          value={email}
          onChange={(event) => setEmail(event.currentTarget.value)}
          error={isTaken ? messageOf(error) : problemOf("email")}
          data-autofocus
        />
        <NewPassword value={password} onChange={setPassword} error={problemOf("password")} />
        <Choice
          size="sm"
          label={text.users.role}
          description={text.users.roleHints[role]}
          words={text.users.roles}
          value={role}
          onChange={setRole}
          error={problemOf("role")}
        />
        <FormFoot label={text.users.createSubmit} isBusy={creation.isPending} onCancel={onCancel} />
      </Stack>
    </form>
  );
}
