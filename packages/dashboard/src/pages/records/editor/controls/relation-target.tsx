/** The target of a relation: its records by name, the search for a picker, and the link to a record. */
import { ActionIcon, Group, HoverCard, Skeleton, Text } from "@mantine/core";
import type { CollectionEntry, FieldDefinition, JsonValue, StoredRecord } from "@socle/protocol";
import { queryOptions, type UseQueryResult, useQuery, useQueryClient } from "@tanstack/react-query";
import { IconExternalLink, IconInfoCircle } from "../../../../icons/index.ts";
import {
  CopyAction,
  formatDateTime,
  formatFieldTime,
  IconAction,
  nameOfUser,
  TextLink,
} from "../../../../kit/index.ts";
import { client } from "../../../../service/client.ts";
import { collectionsQuery, userQuery } from "../../../../service/queries.ts";
import { text } from "../../../../texts/index.ts";
import { RecordLink } from "../../record-link.tsx";
import { isId, previewedFields, recordName, searchedFields, searchFilter, shortValue } from "../naming.ts";
import type { ControlProps } from "./control.tsx";
import classes from "./controls.module.css";
import { PICKER_LIMIT, Picker, type PickerItem, PickerName, type PickerProps } from "./picker.tsx";

export interface RelationTarget {
  readonly name: string;
  /** The collection; null for users, undefined while the collections load, and for an unknown collection. */
  readonly entry: CollectionEntry | null | undefined;
  readonly isUnknown: boolean;
}

export function useTarget({ collection: name = "" }: FieldDefinition): RelationTarget {
  const isUsers = name === "users";
  const { data } = useQuery({ ...collectionsQuery, enabled: !isUsers });
  const entry = isUsers ? null : data?.find((each) => each.name === name);
  return { name, entry, isUnknown: data !== undefined && entry === undefined };
}

/** The shown parts of a chosen record or user. */
interface Chosen extends PickerItem {
  readonly details: readonly { readonly name: string; readonly value: string }[];
}

/** The fields for a picker: large texts are not read. */
function shownFields(target: CollectionEntry): string {
  const names = [...searchedFields(target.fields), ...previewedFields(target.fields)].map(({ name }) => name);
  return ["id", "createdAt", ...new Set(names)].join(",");
}

async function readChosen(target: CollectionEntry | null, id: string): Promise<Chosen> {
  if (target === null) {
    const user = await client.admin.users.get(id);
    const { role, createdAt } = user;
    const created = { name: "createdAt", value: formatDateTime(createdAt) };
    return { id, name: nameOfUser(user), details: [{ name: "role", value: role }, created] };
  }
  const record = await client.collection(target.name).get<StoredRecord>(id, { fields: shownFields(target) });
  const details = previewedFields(target.fields).map(({ name, type }) => ({
    name,
    value: shownDetail(record[name], type),
  }));
  return { id, name: recordName(record, target.fields), details };
}

function shownDetail(value: JsonValue | undefined, type: string): string {
  if (value === undefined || value === null) return text.editor.notSet;
  return type === "datetime" && typeof value === "string" ? formatFieldTime(value) : shortValue(value, 80);
}

export function chosenQuery({ name, entry }: RelationTarget, id: string) {
  return queryOptions({
    queryKey: ["relation", name, id],
    queryFn: () => readChosen(entry ?? null, id),
    enabled: entry !== undefined,
    staleTime: 30_000,
    retry: false,
  });
}

async function searchTarget(
  target: CollectionEntry | null,
  words: string,
  signal: AbortSignal,
): Promise<readonly PickerItem[]> {
  if (isId(words, target === null ? "usr" : "rec")) {
    const { id, name } = await readChosen(target, words);
    return [{ id, name }];
  }
  if (target === null) {
    const { items } = await client.admin.users.list({ limit: PICKER_LIMIT, ...(words !== "" && { search: words }) });
    return items.map((user) => ({ id: user.id, name: nameOfUser(user), note: user.role }));
  }
  const filter = searchFilter(target.fields, words);
  const query = { limit: PICKER_LIMIT, fields: shownFields(target), ...(filter !== undefined && { filter }) };
  const { items } = await client.collection(target.name).page<StoredRecord>(query, { signal });
  return items.map((record) => ({ id: record.id, name: recordName(record, target.fields) }));
}

/** The picker of a record of the target. */
export function TargetPicker({
  control: { field, error, autoFocus },
  target,
  onPick,
  ...picker
}: { control: ControlProps; target: RelationTarget; onPick: (id: string) => void } & Pick<
  PickerProps,
  "chosen" | "size" | "emptyText" | "rightSection"
>) {
  const queryClient = useQueryClient();
  const { name, entry } = target;
  return (
    <Picker
      {...picker}
      name={field.name}
      autoFocus={autoFocus}
      isInvalid={error !== undefined}
      isRequired={field.required === true}
      queryKey={["relation", name]}
      search={(words, signal) => (entry === undefined ? Promise.resolve([]) : searchTarget(entry, words, signal))}
      emptyNote={entry === null ? undefined : <NoTargets name={name} />}
      onPick={({ id, name }) => {
        // The name is known: the control shows the name before the record is read.
        const { queryKey } = chosenQuery(target, id);
        queryClient.setQueryData(queryKey, { id, name, details: [] });
        void queryClient.invalidateQueries({ queryKey });
        if (entry === null) void queryClient.prefetchQuery(userQuery(id));
        onPick(id);
      }}
    />
  );
}

/** Shown when the target has no records: the link to create a first record, in a new tab. */
function NoTargets({ name }: { name: string }) {
  return (
    <>
      {text.editor.noTargets(name)}{" "}
      <TextLink to="/collections/$name" params={{ name }} search={{ record: "new" }} target="_blank" underline="always">
        {text.editor.makeTarget}
      </TextLink>
    </>
  );
}

interface ChosenProps {
  id: string;
  chosen: UseQueryResult<Chosen>;
}

/** The name of a chosen record, or its id after a failed read. */
export function ChosenName({ id, chosen }: ChosenProps) {
  if (chosen.data !== undefined) return <PickerName id={id} name={chosen.data.name} />;
  return chosen.isError ? <span className="mono cut">{id}</span> : <Skeleton height={14} width="60%" />;
}

/** Preview, link and id of the chosen record. */
export function RelationActions({ field, id, chosen }: ChosenProps & { field: FieldDefinition }) {
  const details = chosen.data?.details ?? [];
  return (
    <>
      {details.length > 0 && (
        <HoverCard shadow="md" width={300} position="bottom-end" withArrow openDelay={200}>
          <HoverCard.Target>
            <IconAction icon={IconInfoCircle} label={text.editor.preview(field.name)} />
          </HoverCard.Target>
          <HoverCard.Dropdown p="sm">
            <Group justify="space-between" wrap="nowrap" mb={6}>
              <Text className="mono" fz={11} truncate>
                {id}
              </Text>
              <CopyAction value={id} label={text.common.copyValue(id)} />
            </Group>
            <dl className={classes["details"]}>
              {details.map(({ name, value }) => (
                <div key={name}>
                  <dt>{name}</dt>
                  <dd>{value}</dd>
                </div>
              ))}
            </dl>
          </HoverCard.Dropdown>
        </HoverCard>
      )}
      <ActionIcon
        renderRoot={(props) => <RecordLink collection={field.collection ?? ""} id={id} {...props} />}
        variant="subtle"
        color="gray"
        size="sm"
        aria-label={text.editor.openTargetOf(field.name)}
      >
        <IconExternalLink size={15} />
      </ActionIcon>
    </>
  );
}
