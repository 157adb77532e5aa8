/** The form of a new service key, and the key, which is shown once. */
import { Stack, TagsInput, TextInput } from "@mantine/core";
import { SocleError } from "@socle/client";
import type { CreatedApiKey } from "@socle/protocol";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Action, CodeBlock, CodeText, Dim, Form, FormFoot, messageOf, Notice } from "../../kit/index.ts";
import { client } from "../../service/client.ts";
import { collectionsQuery } from "../../service/queries.ts";
import { afterRecentSignIn } from "../../service/recent.ts";
import { text } from "../../texts/index.ts";
import { refreshKeys } from "./queries.ts";

interface KeyValues {
  readonly name: string;
  readonly scopes: string[];
  /** The last day of the key, in the zone of the browser; empty for a key without an end. */
  readonly expiresAt: string;
}

/** The controls of the form, by the names of the API. */
const controls = ["name", "scopes", "expiresAt"];
/** Scopes that need no collection. */
const general = ["*:read", "*:write", "storage:read", "storage:write", "function:/*"];

export function NewKey({ onClose }: { onClose: () => void }) {
  const [values, setValues] = useState<KeyValues>({ name: "", scopes: [], expiresAt: "" });
  const creation = useMutation({
    mutationFn: () => {
      const { name, scopes, expiresAt } = values;
      const end = expiresAt === "" ? null : new Date(`${expiresAt}T23:59:59`).toISOString();
      return afterRecentSignIn(() => client.admin.keys.create({ name, scopes, expiresAt: end }));
    },
    onSuccess: refreshKeys,
  });
  if (creation.isSuccess) return <CreatedKey created={creation.data} onClose={onClose} />;
  return (
    <KeyForm
      values={values}
      onChange={(patch) => setValues((old) => ({ ...old, ...patch }))}
      error={creation.error}
      isBusy={creation.isPending}
      onSubmit={() => creation.isPending || creation.mutate()}
      onCancel={onClose}
    />
  );
}

interface KeyFormProps {
  values: KeyValues;
  onChange: (patch: Partial<KeyValues>) => void;
  error: unknown;
  isBusy: boolean;
  onSubmit: () => void;
  onCancel: () => void;
}

function KeyForm({ values, onChange, error, isBusy, onSubmit, onCancel }: KeyFormProps) {
  const { data: collections = [] } = useQuery(collectionsQuery);
  const details = error instanceof SocleError ? error.details : [];
  const problemOf = (field: string): string | undefined =>
    details
      .filter((detail) => detail.field === field)
      .map(({ message }) => message)
      .join(". ") || undefined;
  const scopes = [...general, ...collections.flatMap(({ name }) => [`${name}:read`, `${name}:write`])];
  return (
    <Form onSubmit={onSubmit}>
      <Stack p="md">
        {error !== null && !details.some(({ field }) => controls.includes(field)) && (
          <Notice tone="bad">{messageOf(error)}</Notice>
        )}
        <TextInput
          label={text.keys.name}
          description={text.keys.nameHint}
          autoComplete="off"
          required
          withAsterisk={false}
          value={values.name}
          onChange={(event) => onChange({ name: event.currentTarget.value })}
          error={problemOf("name")}
          data-autofocus
        />
        <TagsInput
          label={text.keys.scopes}
          description={<CodeText text={text.keys.scopesHint} />}
          placeholder={values.scopes.length === 0 ? text.keys.addScope : ""}
          data={[...new Set(scopes)]}
          splitChars={[",", " "]}
          value={values.scopes}
          onChange={(next) => onChange({ scopes: next })}
          error={problemOf("scopes")}
        />
        <TextInput
          label={text.keys.expiresAt}
          description={text.keys.endHint}
          type="date"
          value={values.expiresAt}
          onChange={(event) => onChange({ expiresAt: event.currentTarget.value })}
          error={problemOf("expiresAt")}
        />
        <FormFoot label={text.keys.create} isBusy={isBusy} onCancel={onCancel} />
      </Stack>
    </Form>
  );
}

function CreatedKey({ created: { key, name }, onClose }: { created: CreatedApiKey; onClose: () => void }) {
  return (
    <Stack p="md" gap="sm" role="status">
      <Notice tone="warn">{text.keys.copyNow}</Notice>
      <Dim size="sm">{name}</Dim>
      <CodeBlock value={key} label={text.keys.key} />
      <Dim>{text.keys.use}</Dim>
      <CodeBlock value={`Authorization: Bearer ${key}`} label={text.keys.use} />
      <Action label={text.keys.done} size="sm" ml="auto" onClick={onClose} />
    </Stack>
  );
}
