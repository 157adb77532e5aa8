/** The question before the deletion of a collection: the number of its records, or the collections that point to the collection. */
import { Alert, Button, Code, Group, List, Modal, Stack, Text, TextInput } from "@mantine/core";
import { IconAlertTriangle } from "@tabler/icons-react";
import { useMutation, useQuery } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { Complaint, ErrorState, messageOf, RowsSkeleton, TextLink } from "../../../kit/index.ts";
import { client } from "../../../service/client.ts";
import { text } from "../../../texts/index.ts";
import schemaClasses from "../schema.module.css";
import { contradictionsOf, pointersIn } from "./refusal.ts";
import { useFirstFocus } from "./use-first-focus.ts";

const words = text.schema.deletion;

export function DeleteDialog(props: { name: string; onClose: () => void; onDeleted: () => void }) {
  const { name, onClose, onDeleted } = props;
  const plan = useQuery({
    queryKey: ["schema plan", name, "delete"],
    queryFn: () => client.admin.collections.planDelete(name),
    gcTime: 0,
    staleTime: 0,
    refetchOnWindowFocus: false,
  });
  const isRefused = plan.isError && contradictionsOf(plan.error) !== null;
  return (
    <Modal opened onClose={onClose} title={words.title(name)}>
      {plan.isPending && <RowsSkeleton rows={2} />}
      {isRefused && <Pointers message={messageOf(plan.error)} onClose={onClose} />}
      {plan.isError && !isRefused && <ErrorState error={plan.error} onRetry={plan.refetch} />}
      {plan.data !== undefined && !plan.isError && (
        <DeleteForm name={name} records={plan.data.records} onClose={onClose} onDeleted={onDeleted} />
      )}
    </Modal>
  );
}

function Pointers({ message, onClose }: { message: string; onClose: () => void }) {
  const pointers = pointersIn(message);
  const first = useFirstFocus<HTMLButtonElement>();
  return (
    <Stack>
      <Alert
        className={schemaClasses["danger"]}
        icon={<IconAlertTriangle aria-hidden />}
        title={words.pointersTitle}
        role="alert"
      >
        <Text size="sm" mb="xs">
          {pointers.length === 0 ? message : words.pointersBody}
        </Text>
        <List size="sm">
          {pointers.map(({ collection, field }) => (
            <List.Item key={`${collection}.${field}`}>
              <TextLink
                to="/collections/$name/schema"
                params={{ name: collection }}
                onClick={onClose}
                underline="always"
                className="mono"
              >
                {collection}.{field}
              </TextLink>
            </List.Item>
          ))}
        </List>
      </Alert>
      <Group justify="flex-end">
        <Button ref={first} onClick={onClose}>
          {text.common.close}
        </Button>
      </Group>
    </Stack>
  );
}

function DeleteForm(props: { name: string; records: number; onClose: () => void; onDeleted: () => void }) {
  const { name, records, onClose, onDeleted } = props;
  const [word, setWord] = useState("");
  const first = useFirstFocus<HTMLInputElement>();
  const deletion = useMutation({
    mutationFn: () => client.admin.collections.delete(name),
    onSuccess: onDeleted,
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (word === name && !deletion.isPending) deletion.mutate();
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        <Text size="sm">{records === 0 ? words.noRecords : words.records(records)}</Text>
        <TextInput
          label={
            <>
              {text.common.typeToConfirm} <Code>{name}</Code>
            </>
          }
          value={word}
          onChange={(event) => setWord(event.currentTarget.value)}
          autoComplete="off"
          ref={first}
        />
        {deletion.isError && <Complaint>{messageOf(deletion.error)}</Complaint>}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose} disabled={deletion.isPending}>
            {text.common.cancel}
          </Button>
          <Button type="submit" color="red.8" disabled={word !== name} loading={deletion.isPending}>
            {text.schema.delete}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
