/** The form that sends a request of an operation as the signed-in admin, with the same request for curl, and the answer. */
import { Select, Stack, Text, Textarea, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { IconSend } from "../../icons/index.ts";
import {
  Action,
  CodeBlock,
  Complaint,
  confirmDanger,
  DetailsSection,
  Dim,
  Form,
  JsonEditor,
  messageOf,
} from "../../kit/index.ts";
import { text } from "../../texts/index.ts";
import type { Operation, Parameter } from "./operations.ts";
import { addressOf, curlOf, keyOf, missingOf, send, type TriedAnswer, type Values } from "./request.ts";
import { exampleOf, type Schemas } from "./schema-text.ts";

interface TryFormProps {
  operation: Operation;
  schemas: Schemas;
}

/** The body to begin with; null for a request without a body. */
function firstBody({ body }: Operation, schemas: Schemas): string | null {
  if (body === null) return null;
  return body.type === "application/json" ? JSON.stringify(exampleOf(body.schema, schemas), null, 2) : "";
}

/** Sends a request. Other pages read their data again after a change. */
function useSending(operation: Operation) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (values: Values) => send(operation, values),
    onSuccess: async () => {
      if (operation.method !== "GET") await queries.invalidateQueries();
    },
  });
}

export function TryForm({ operation, schemas }: TryFormProps) {
  const [values, setValues] = useState<Values>({ parameters: {}, body: firstBody(operation, schemas) });
  const sending = useSending(operation);
  const { method, body } = operation;
  const missing = missingOf(operation, values);
  // A browser form for files would need the file itself: curl has the example.
  const isForm = body?.type.startsWith("multipart/") === true;
  const submit = (): void => {
    if (method === "GET") sending.mutate(values);
    else
      confirmDanger({
        title: text.api.confirmTitle(method),
        body: text.api.confirmBody(method, addressOf(operation, values)),
        action: text.api.send(method),
        onConfirm: () => sending.mutateAsync(values),
      });
  };
  return (
    <DetailsSection title={text.api.tryIt}>
      <Form onSubmit={submit} aria-label={text.api.tryIt}>
        <Stack gap="xs">
          {operation.parameters.map((parameter) => (
            <ParameterInput
              key={keyOf(parameter)}
              parameter={parameter}
              value={values.parameters[keyOf(parameter)] ?? ""}
              onChange={(next) =>
                setValues({ ...values, parameters: { ...values.parameters, [keyOf(parameter)]: next } })
              }
            />
          ))}
          {body !== null && !isForm && (
            <BodyInput
              type={body.type}
              value={values.body ?? ""}
              onChange={(next) => setValues({ ...values, body: next })}
            />
          )}
          <Dim>{text.api.curl}</Dim>
          <CodeBlock value={curlOf(operation, values, window.location.origin)} label={text.api.curl} isUnbroken />
          {isForm && <Dim>{text.api.formNote}</Dim>}
          {missing.length > 0 && <Dim>{text.api.missing(missing.join(", "))}</Dim>}
          <Action
            type="submit"
            icon={IconSend}
            label={text.api.send(method)}
            variant="filled"
            disabled={missing.length > 0 || isForm}
            loading={sending.isPending}
            style={{ alignSelf: "flex-start" }}
          />
        </Stack>
      </Form>
      {sending.isError && <Complaint mt="sm">{messageOf(sending.error)}</Complaint>}
      {sending.data !== undefined && <AnswerView answer={sending.data} />}
    </DetailsSection>
  );
}

interface InputProps {
  value: string;
  onChange: (value: string) => void;
}

function ParameterInput({ parameter, value, onChange }: InputProps & { parameter: Parameter }) {
  const { name, in: place, required = false, schema } = parameter;
  const label = `${name} (${text.api.places[place]})`;
  const choices = schema.enum ?? (schema.const === undefined ? undefined : [schema.const]);
  if (choices !== undefined)
    return (
      <Select
        size="xs"
        label={label}
        data={choices.map(String)}
        value={value === "" ? null : value}
        onChange={(next) => onChange(next ?? "")}
        placeholder={text.api.none}
        clearable
        clearButtonProps={{ "aria-label": text.api.clear(name) }}
      />
    );
  return (
    <TextInput
      size="xs"
      label={label}
      withAsterisk={required}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
      autoComplete="off"
    />
  );
}

function BodyInput({ type, value, onChange }: InputProps & { type: string }) {
  if (type === "application/json")
    return (
      <div>
        <Text size="xs" fw={500} mb={2}>
          {text.api.body}
        </Text>
        <JsonEditor label={text.api.body} value={value} onChange={onChange} minHeight={120} maxHeight={320} />
      </div>
    );
  return (
    <Textarea
      size="xs"
      label={`${text.api.body} (${type})`}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
      minRows={3}
      autosize
    />
  );
}

/** The status, the headers and the body of an answer. */
function AnswerView({ answer }: { answer: TriedAnswer }) {
  const { status, statusText, headers, body, isCut } = answer;
  const isRedirect = status === 0;
  return (
    <Stack gap="xs" mt="md" role="region" aria-label={text.api.answer}>
      <Text fw={600} size="sm" role="status" {...(status >= 400 && { c: "var(--mantine-color-error)" })}>
        {isRedirect ? text.api.redirect : text.api.status(status, statusText)}
      </Text>
      {headers !== "" && <Part label={text.api.headers} value={headers} />}
      {body !== "" && <Part label={text.api.answerBody} value={body} />}
      {isCut && <Dim>{text.api.cut}</Dim>}
    </Stack>
  );
}

/** A part of the answer, under its name. */
function Part({ label, value }: { label: string; value: string }) {
  return (
    <div>
      <Dim mb={4}>{label}</Dim>
      <CodeBlock value={value} label={label} />
    </div>
  );
}
