/** The control for `relation`: searches the target collection, shows the chosen record by name, and leads to it. */
import { ActionIcon, Group, HoverCard, Input, Skeleton, Text } from "@mantine/core";
import { useInViewport } from "@mantine/hooks";
import { SocleError } from "@socle/client";
import type { CollectionEntry, JsonValue, StoredRecord } from "@socle/protocol";
import { IconExternalLink, IconInfoCircle } from "@tabler/icons-react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { CopyAction, formatDateTime, formatFieldTime, messageOf } from "../../../../kit/index.ts";
import { client } from "../../../../service/client.ts";
import { collectionsQuery, userQuery } from "../../../../service/queries.ts";
import { text } from "../../../../texts/index.ts";
import { isId, previewedFields, recordName, searchedFields, searchFilter, shortValue } from "../naming.ts";
import { ClearButton } from "./clear-button.tsx";
import { type ControlProps, isCompact } from "./control.ts";
import classes from "./controls.module.css";
import { PICKER_LIMIT, Picker, type PickerItem, PickerName } from "./picker.tsx";

/** The shown part of a chosen record or user. */
interface Chosen extends PickerItem {
  readonly details: readonly { readonly name: string; readonly value: string }[];
}

/** The fields that a picker reads: large texts stay at the service. */
function shownFields(target: CollectionEntry): string {
  const names = [...searchedFields(target.fields), ...previewedFields(target.fields)].map(({ name }) => name);
  return ["id", "createdAt", ...new Set(names)].join(",");
}

async function readChosen(target: CollectionEntry | null, id: string): Promise<Chosen> {
  if (target === null) {
    const user = await client.admin.users.get(id);
    const created = formatDateTime(user.createdAt);
    return {
      id,
      name: user.email,
      details: [
        { name: "role", value: user.role },
        { name: "createdAt", value: created },
      ],
    };
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

async function search(
  target: CollectionEntry | null,
  words: string,
  signal: AbortSignal,
): Promise<readonly PickerItem[]> {
  if (target === null) {
    if (isId(words, "usr")) return [await readChosen(null, words)].map(({ id, name }) => ({ id, name }));
    const { items } = await client.admin.users.list({ limit: PICKER_LIMIT, ...(words !== "" && { search: words }) });
    return items.map(({ id, email, role }) => ({ id, name: email, note: role }));
  }
  if (isId(words, "rec")) return [await readChosen(target, words)].map(({ id, name }) => ({ id, name }));
  const filter = searchFilter(target.fields, words);
  const { items } = await client
    .collection(target.name)
    .page<StoredRecord>(
      { limit: PICKER_LIMIT, fields: shownFields(target), ...(filter !== undefined && { filter }) },
      { signal },
    );
  return items.map((record) => ({ id: record.id, name: recordName(record, target.fields) }));
}

function isMissing(error: unknown): boolean {
  return error instanceof SocleError && error.status === 404;
}

/** @param props `emptyText`: see `Picker`. */
export function RelationControl(props: ControlProps & { emptyText?: string }) {
  const { field, value, onChange, error, label, size, autoFocus } = props;
  const targetName = field.collection ?? "";
  const isUsers = targetName === "users";
  const collections = useQuery({ ...collectionsQuery, enabled: !isUsers });
  const target = isUsers ? null : collections.data?.find(({ name }) => name === targetName);
  const queryClient = useQueryClient();
  const { ref, inViewport } = useInViewport();
  const [wasSeen, see] = useState(false);
  useEffect(() => {
    if (inViewport) see(true);
  }, [inViewport]);

  const id = typeof value === "string" ? value : null;
  const key = ["relation", targetName, id ?? ""];
  const chosen = useQuery({
    queryKey: key,
    queryFn: () => readChosen(target ?? null, id ?? ""),
    // Forms with a hundred relations read the names of those that are on the screen.
    enabled: id !== null && target !== undefined && wasSeen,
    staleTime: 30_000,
    retry: false,
  });
  const pick = (item: PickerItem): void => {
    // The name is known: the control shows it before the record is read.
    queryClient.setQueryData<Chosen>(["relation", targetName, item.id], { ...item, note: undefined, details: [] });
    void queryClient.invalidateQueries({ queryKey: ["relation", targetName, item.id] });
    if (isUsers) void queryClient.prefetchQuery(userQuery(item.id));
    onChange(item.id);
  };
  if (!isUsers && collections.data !== undefined && target === undefined) {
    return (
      <Input.Wrapper label={label} error={error} labelElement="div" classNames={{ label: classes["label"] ?? "" }}>
        <Text size="sm" c="dimmed">
          {text.editor.unknownCollection(targetName)} {id !== null && <span className="mono">{id}</span>}
        </Text>
      </Input.Wrapper>
    );
  }
  const shown =
    id === null ? null : chosen.data !== undefined ? (
      <PickerName id={id} name={chosen.data.name} />
    ) : chosen.isError ? (
      <span className={`mono ${classes["pickerText"]}`}>{id}</span>
    ) : (
      <Skeleton height={14} width="60%" />
    );
  const picker = (
    <Picker
      name={field.name}
      chosen={shown}
      size={size}
      autoFocus={autoFocus}
      isInvalid={error !== undefined}
      isRequired={field.required === true}
      emptyText={props.emptyText}
      queryKey={["relation", targetName]}
      search={(words, signal) => (target === undefined ? Promise.resolve([]) : search(target, words, signal))}
      onPick={pick}
      rightSection={
        id === null ? null : (
          <Group gap={0} wrap="nowrap">
            {!isCompact(props) && <RelationActions field={field} id={id} chosen={chosen.data} />}
            {field.required !== true && <ClearButton field={field} onChange={onChange} />}
          </Group>
        )
      }
    />
  );
  const dangling = chosen.isError ? (isMissing(chosen.error) ? text.editor.dangling : messageOf(chosen.error)) : null;
  return (
    <Input.Wrapper
      ref={ref}
      label={label}
      error={error}
      description={isCompact(props) ? null : dangling}
      inputWrapperOrder={["label", "input", "description", "error"]}
      labelElement="div"
      classNames={{ label: classes["label"] ?? "", description: classes["warning"] ?? "" }}
    >
      {picker}
    </Input.Wrapper>
  );
}

/** Preview, link and id of the chosen record. */
function RelationActions({
  field,
  id,
  chosen,
}: Pick<ControlProps, "field"> & { id: string; chosen: Chosen | undefined }) {
  const target = field.collection ?? "";
  const open = text.editor.openTargetOf(field.name);
  return (
    <>
      {chosen !== undefined && chosen.details.length > 0 && (
        <HoverCard shadow="md" width={300} position="bottom-end" withArrow openDelay={200}>
          <HoverCard.Target>
            <ActionIcon variant="subtle" color="gray" size="sm" aria-label={text.editor.preview(field.name)}>
              <IconInfoCircle size={15} />
            </ActionIcon>
          </HoverCard.Target>
          <HoverCard.Dropdown p="sm">
            <Group justify="space-between" wrap="nowrap" mb={6}>
              <Text className="mono" fz={11} truncate>
                {id}
              </Text>
              <CopyAction value={id} label={text.common.copyValue(id)} />
            </Group>
            <dl className={classes["details"]}>
              {chosen.details.map(({ name, value }) => (
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
        renderRoot={(props) =>
          target === "users" ? (
            <Link to="/users" search={{ user: id }} {...props} />
          ) : (
            <Link to="/collections/$name" params={{ name: target }} search={{ record: id }} {...props} />
          )
        }
        variant="subtle"
        color="gray"
        size="sm"
        aria-label={open}
      >
        <IconExternalLink size={15} />
      </ActionIcon>
    </>
  );
}
