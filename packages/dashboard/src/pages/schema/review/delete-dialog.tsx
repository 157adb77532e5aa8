/** The question before the deletion of a collection: the number of its records, or the collections that point to the collection. */
import { Group, List, Modal, Stack, Text } from "@mantine/core";
import { USERS } from "@socle/protocol";
import { useQuery } from "@tanstack/react-query";
import { useFirstFocus } from "../../../kit/focus.ts";
import {
  Action,
  CodeText,
  Confirmation,
  ErrorState,
  messageOf,
  Notice,
  RowsSkeleton,
  TextLink,
} from "../../../kit/index.ts";
import { client } from "../../../service/client.ts";
import { text } from "../../../texts/index.ts";
import { contradictionsOf, pointersIn } from "./refusal.ts";

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
        <Confirmation
          body={<CodeText text={bodyOf(name, plan.data.records)} />}
          action={text.schema.delete}
          typed={name}
          onConfirm={async () => {
            await client.admin.collections.delete(name);
            onDeleted();
          }}
          onClose={onClose}
        />
      )}
    </Modal>
  );
}

function bodyOf(name: string, records: number): string {
  if (name === USERS) return words.users(records);
  return records === 0 ? words.noRecords : words.records(records);
}

function Pointers({ message, onClose }: { message: string; onClose: () => void }) {
  const pointers = pointersIn(message);
  const first = useFirstFocus<HTMLButtonElement>();
  return (
    <Stack>
      <Notice tone="bad" title={words.pointersTitle}>
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
      </Notice>
      <Group justify="flex-end">
        <Action label={text.common.close} ref={first} onClick={onClose} size="sm" variant="filled" />
      </Group>
    </Stack>
  );
}
