/** The target of a relation: its records by name, the search for a picker, and the link to a record. */
import { ActionIcon, Group, HoverCard, Text } from "@mantine/core";
import { SocleError } from "@socle/client";
import type { CollectionEntry, FieldDefinition, JsonValue, StoredRecord } from "@socle/protocol";
import { IconExternalLink, IconInfoCircle } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import { CopyAction, formatDateTime, formatFieldTime, IconAction, TextLink } from "../../../../kit/index.ts";
import { client } from "../../../../service/client.ts";
import { text } from "../../../../texts/index.ts";
import { isId, previewedFields, recordName, searchedFields, searchFilter, shortValue } from "../naming.ts";
import classes from "./controls.module.css";
import { PICKER_LIMIT, type PickerItem } from "./picker.tsx";

/** The shown parts of a chosen record or user. */
export interface Chosen extends PickerItem {
  readonly details: readonly { readonly name: string; readonly value: string }[];
}

/** The fields for a picker: large texts are not read. */
function shownFields(target: CollectionEntry): string {
  const names = [...searchedFields(target.fields), ...previewedFields(target.fields)].map(({ name }) => name);
  return ["id", "createdAt", ...new Set(names)].join(",");
}

export async function readChosen(target: CollectionEntry | null, id: string): Promise<Chosen> {
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

export async function searchTarget(
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

export function isMissing(error: unknown): boolean {
  return error instanceof SocleError && error.status === 404;
}

/** Shown when the target has no records: the link to create a first record, in a new tab. */
export function NoTargets({ name }: { name: string }) {
  return (
    <>
      {text.editor.noTargets(name)}{" "}
      <TextLink to="/collections/$name" params={{ name }} search={{ record: "new" }} target="_blank" underline="always">
        {text.editor.makeTarget}
      </TextLink>
    </>
  );
}

/** Preview, link and id of the chosen record. */
export function RelationActions({
  field,
  id,
  chosen,
}: {
  field: FieldDefinition;
  id: string;
  chosen: Chosen | undefined;
}) {
  const target = field.collection ?? "";
  const open = text.editor.openTargetOf(field.name);
  return (
    <>
      {chosen !== undefined && chosen.details.length > 0 && (
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
