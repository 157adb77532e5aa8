/** The page of a view: its query and its rule as texts, and the fields that the service has derived. */
import { Code, Group, List, Stack, Text, Textarea, TextInput } from "@mantine/core";
import type { CollectionEntry } from "@socle/protocol";
import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { IconTable, IconTrash } from "../../icons/index.ts";
import {
  Action,
  CodeText,
  Complaint,
  Dim,
  FilledPage,
  Form,
  focusPage,
  LinkAction,
  messageOf,
  notifyDone,
} from "../../kit/index.ts";
import { client } from "../../service/client.ts";
import { collectionQuery, collectionsQuery, queryClient } from "../../service/queries.ts";
import { text } from "../../texts/index.ts";
import { DeleteDialog } from "./review/delete-dialog.tsx";

const words = text.schema.view;

export function ViewPage({ entry }: { entry: CollectionEntry }) {
  const { name } = entry;
  const navigate = useNavigate();
  const [isDeleting, setDeleting] = useState(false);
  return (
    <FilledPage
      title={name}
      note={words.title}
      actions={
        <>
          <LinkAction icon={IconTable} label={text.schema.records} to="/collections/$name" params={{ name }} />
          <Action icon={IconTrash} label={words.delete} isDanger onClick={() => setDeleting(true)} />
        </>
      }
    >
      <Stack p={{ base: 12, sm: 16 }} maw={860}>
        <Dim size="sm">
          <CodeText text={words.intro} />
        </Dim>
        <ViewForm key={entry.updatedAt} entry={entry} />
        <div>
          <Text size="sm" fw={500} mb={4}>
            {words.fields}
          </Text>
          <List size="sm">
            {entry.fields.map((field) => (
              <List.Item key={field.name}>
                <Code>{field.name}</Code> {text.schema.types[field.type].label}
              </List.Item>
            ))}
          </List>
        </div>
      </Stack>
      {isDeleting && (
        <DeleteDialog
          name={name}
          onClose={() => {
            setDeleting(false);
            focusPage();
          }}
          onDeleted={() => {
            notifyDone(text.schema.deletion.done(name));
            void navigate({ to: "/collections" });
            queryClient.removeQueries({ queryKey: collectionQuery(name).queryKey });
            void queryClient.invalidateQueries({ queryKey: collectionsQuery.queryKey });
          }}
        />
      )}
    </FilledPage>
  );
}

function ViewForm({ entry: { name, definition, permissions } }: { entry: CollectionEntry }) {
  const [query, setQuery] = useState(definition.query ?? "");
  const [read, setRead] = useState(permissions?.read ?? "");
  const isDirty = query !== definition.query || read !== (permissions?.read ?? "");
  const save = useMutation({
    mutationFn: () =>
      client.admin.collections.update(name, { query, permissions: read.trim() === "" ? null : { read: read.trim() } }),
    onSuccess: (next) => {
      queryClient.setQueryData(collectionQuery(name).queryKey, next);
      notifyDone(text.schema.applied(name));
      void queryClient.invalidateQueries();
    },
  });
  return (
    <Form onSubmit={() => save.mutate()}>
      <Stack>
        <Textarea
          label={words.query}
          value={query}
          onChange={(event) => setQuery(event.currentTarget.value)}
          autosize
          minRows={6}
          maxRows={24}
          spellCheck={false}
          classNames={{ input: "mono" }}
        />
        <TextInput
          label={words.read}
          description={words.readHint}
          value={read}
          onChange={(event) => setRead(event.currentTarget.value)}
          spellCheck={false}
          classNames={{ input: "mono" }}
        />
        {save.isError && <Complaint>{messageOf(save.error)}</Complaint>}
        <Group>
          <Action label={words.save} type="submit" variant="filled" disabled={!isDirty} loading={save.isPending} />
        </Group>
      </Stack>
    </Form>
  );
}
