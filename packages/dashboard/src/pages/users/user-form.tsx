/** The form of a new user, and of an invitation; and the field for a new password, which can be generated, shown and copied. */
import { Group, PasswordInput, Stack, TextInput } from "@mantine/core";
import { SocleError } from "@socle/client";
import type { CollectionEntry, Role } from "@socle/protocol";
import { useMutation, useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { IconSparkles } from "../../icons/index.ts";
import {
  Action,
  Choice,
  CodeText,
  CopyAction,
  Dim,
  Form,
  FormFoot,
  messageOf,
  Notice,
  notifyDone,
} from "../../kit/index.ts";
import { client } from "../../service/client.ts";
import { configQuery, useMissingForLinks } from "../../service/queries.ts";
import { afterRecentSignIn } from "../../service/recent.ts";
import { text } from "../../texts/index.ts";
import { refreshMails } from "../mails/queries.ts";
import type { RecordForm } from "../records/editor/use-record-form.ts";
import { generatePassword } from "./password.ts";
import { refreshUsers } from "./queries.ts";
import { NewFields, useNewFields, useUserFields } from "./user-fields.tsx";

export type UserFormKind = "new" | "invite";

interface UserFormProps {
  kind: UserFormKind;
  /** Called with the id of the new user, and with null after an invitation. */
  onDone: (id: string | null) => void;
  onCancel: () => void;
}

export function UserForm(props: UserFormProps) {
  const collection = useUserFields();
  return collection === undefined ? (
    <AccountForm {...props} fields={null} />
  ) : (
    <FullForm {...props} collection={collection} />
  );
}

/** The form of a user with fields. */
function FullForm({ collection, ...props }: UserFormProps & { collection: CollectionEntry }) {
  const form = useNewFields(collection);
  return (
    <AccountForm {...props} fields={form}>
      <NewFields collection={collection} form={form} />
    </AccountForm>
  );
}

type Values = NonNullable<ReturnType<RecordForm["collect"]>>;

/** The controls of the form. */
const accountFields = ["email", "password", "role"];

function AccountForm(props: UserFormProps & { fields: RecordForm | null; children?: ReactNode }) {
  const { kind, fields, children, onDone, onCancel } = props;
  const isInvitation = kind === "invite";
  const missing = useMissingForLinks();
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const [role, setRole] = useState<Role>("authenticated");
  const creation = useMutation({
    mutationFn: (values: Values): Promise<string | null> =>
      afterRecentSignIn(async () => {
        if (!isInvitation) return (await client.admin.users.create({ ...values, email, password, role })).id;
        await client.admin.users.invite({ email, role, data: values });
        return null;
      }),
    onSuccess: async (id) => {
      fields?.discard();
      notifyDone(isInvitation ? text.users.invited(email.trim()) : text.users.created(email.trim()));
      await Promise.all([refreshUsers(), refreshMails()]);
      onDone(id);
    },
    onError: (thrown) => fields?.refuse(thrown, accountFields),
  });
  const create = (): void => {
    const values = fields === null ? {} : fields.collect();
    if (values !== null && !creation.isPending) creation.mutate(values);
  };
  const error = creation.error;
  const details = error instanceof SocleError ? error.details : [];
  const problemOf = (field: string): string | undefined => details.find((each) => each.field === field)?.message;
  const isTaken = error instanceof SocleError && error.status === 409;
  return (
    <Form onSubmit={create}>
      <Stack p="md">
        {isInvitation && <Dim size="sm">{text.users.inviteHint}</Dim>}
        {isInvitation && missing.length > 0 && (
          <Notice tone="warn">
            <CodeText text={text.mails.needs(missing)} />
          </Notice>
        )}
        {error !== null &&
          fields === null &&
          !details.some(({ field }) => accountFields.includes(field)) &&
          !isTaken && <Notice tone="bad">{messageOf(error)}</Notice>}
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
        {!isInvitation && <NewPassword value={password} onChange={setPassword} error={problemOf("password")} />}
        <Choice
          size="sm"
          label={text.users.role}
          description={text.users.roleHints[role]}
          words={text.users.roles}
          value={role}
          onChange={setRole}
          error={problemOf("role")}
        />
        {children}
        <FormFoot
          label={isInvitation ? text.users.inviteSubmit : text.users.createSubmit}
          isBusy={creation.isPending}
          onCancel={onCancel}
          disabled={isInvitation && missing.length > 0}
        />
      </Stack>
    </Form>
  );
}

interface NewPasswordProps {
  label?: string;
  /** A hint beside the length. */
  hint?: string;
  autoFocus?: boolean;
  value: string;
  onChange: (value: string) => void;
  error: string | undefined;
}

export function NewPassword(props: NewPasswordProps) {
  const { label = text.users.password, hint, autoFocus = false, value, onChange, error } = props;
  const { data: config } = useQuery(configQuery);
  const least = config?.keys.find(({ key }) => key === "auth.passwordMinLength")?.value;
  const minLength = typeof least === "number" ? least : null;
  const [isVisible, setVisible] = useState(false);
  return (
    <Stack gap={8}>
      <PasswordInput
        label={label}
        description={[minLength === null ? "" : text.users.passwordHint(minLength), hint ?? ""].join(" ").trim()}
        autoFocus={autoFocus}
        autoComplete="new-password"
        required
        withAsterisk={false}
        value={value}
        onChange={(event) => onChange(event.currentTarget.value)}
        visible={isVisible}
        onVisibilityChange={setVisible}
        visibilityToggleButtonProps={{ "aria-label": text.users.showPassword, tabIndex: 0 }}
        error={error}
      />
      <Group gap="xs">
        <Action
          icon={IconSparkles}
          label={text.users.generate}
          onClick={() => {
            onChange(generatePassword());
            setVisible(true);
          }}
        />
        {value !== "" && <CopyAction value={value} label={text.users.copyPassword} />}
      </Group>
    </Stack>
  );
}
