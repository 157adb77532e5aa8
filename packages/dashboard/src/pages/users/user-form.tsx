/** The form of a new user. */
import { Alert, Button, Group, Select, Stack, TextInput } from "@mantine/core";
import { SocleError } from "@socle/client";
import { ROLES, type Role, type User } from "@socle/protocol";
import { useMutation } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { messageOf, notifyDone } from "../../kit/index.ts";
import { client } from "../../service/client.ts";
import { text } from "../../texts/index.ts";
import { NewPassword } from "./new-password.tsx";
import { refreshUsers } from "./queries.ts";
import classes from "./users.module.css";

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
    <form onSubmit={submit} className={classes["form"]}>
      <Stack>
        {error !== null && details.length === 0 && !isTaken && (
          <Alert color="red" variant="light" role="alert">
            {messageOf(error)}
          </Alert>
        )}
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
        <Select
          label={text.users.role}
          description={text.users.roleHints[role]}
          data={ROLES.map((value) => ({ value, label: text.users.roles[value] }))}
          value={role}
          onChange={(value) => setRole(ROLES.find((each) => each === value) ?? role)}
          allowDeselect={false}
          error={problemOf("role")}
        />
        <Group justify="flex-end">
          <Button variant="default" onClick={onCancel}>
            {text.common.cancel}
          </Button>
          <Button type="submit" loading={creation.isPending}>
            {text.users.createSubmit}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
