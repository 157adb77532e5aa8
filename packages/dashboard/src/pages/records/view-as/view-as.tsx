/** The view of the records as another caller: the choice of the caller, the banner, and the panel of a record. */
import { Button, Group, Modal, Stack, Text } from "@mantine/core";
import { type FieldDefinition, type JsonValue, RECORD_TIMES } from "@socle/protocol";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { IconEye } from "../../../icons/index.ts";
import {
  Action,
  DetailsDrawer,
  Dim,
  Fact,
  Facts,
  formatFieldTime,
  Markdown,
  QueryView,
  RowsSkeleton,
  UserName,
  UserSelect,
} from "../../../kit/index.ts";
import { text } from "../../../texts/index.ts";
import { shortValue } from "../editor/naming.ts";
import classes from "../records.module.css";
import type { RecordsPage } from "../use-records-page.ts";
import { ANONYMOUS, lookAtRecord } from "./look.ts";

const words = text.records.viewAs;

/** The choice of the caller. */
export function ViewAsDialog({ page, onClose }: { page: RecordsPage; onClose: () => void }) {
  const pick = (as: string | undefined): void => {
    if (as === undefined) return;
    page.state.clear();
    page.toTop();
    page.setSearch({ as });
    onClose();
  };
  return (
    <Modal opened onClose={onClose} title={words.title}>
      <Stack>
        <Dim size="sm">{words.about}</Dim>
        <Group>
          <UserSelect label={words.user} anyLabel={words.user} value={undefined} onChange={pick} />
          <Button variant="default" size="xs" onClick={() => pick(ANONYMOUS)}>
            {words.anonymous}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}

/** The fields of a collection that a record does not have: the caller may not read the fields. */
function hiddenIn(page: RecordsPage, record: object | undefined): string[] {
  return record === undefined ? [] : page.collection.fields.map(({ name }) => name).filter((name) => !(name in record));
}

function Caller({ as }: { as: string }) {
  return <b>{as === ANONYMOUS ? words.anonymous : <UserName id={as} nobody={words.anonymous} />}</b>;
}

export function ViewAsBanner({ page }: { page: RecordsPage }) {
  const { as } = page.search;
  if (as === undefined) return null;
  const hidden = hiddenIn(page, page.shown.rows.items[0]?.record);
  return (
    <Group component="section" className={classes["viewAs"] ?? ""} gap="sm" aria-label={words.title}>
      <IconEye size={16} aria-hidden />
      <Text size="sm" role="status" flex={1} miw={200}>
        {words.banner} <Caller as={as} />. {words.readOnly}
        {hidden.length > 0 && ` ${words.hidden(hidden)}`}
      </Text>
      <Action label={words.end} onClick={() => page.setSearch({ as: undefined, record: undefined })} />
    </Group>
  );
}

/** A record as the caller sees the record. */
function shownValue({ name, type, format }: FieldDefinition, value: JsonValue): ReactNode {
  if (value === null) return "–";
  if (typeof value === "string" && format === "markdown") return <Markdown value={value} label={name} />;
  return typeof value === "string" && type === "datetime" ? formatFieldTime(value) : shortValue(value, 2_000);
}

export function ViewAsRecord({
  page,
  as,
  id,
  onClose,
}: {
  page: RecordsPage;
  as: string;
  id: string;
  onClose: () => void;
}) {
  const { name, collection } = page;
  const query = useQuery({
    queryKey: ["records", name, "as", as, id],
    queryFn: ({ signal }) => lookAtRecord(name, as, { id, signal }),
    retry: false,
  });
  return (
    <DetailsDrawer isOpen onClose={onClose} title={text.editor.record(name)}>
      <Stack p="md">
        <Text size="sm">
          {words.banner} <Caller as={as} />. {words.readOnly}
        </Text>
        <QueryView query={query} skeleton={<RowsSkeleton rows={6} />}>
          {(record) => (
            <>
              <Facts>
                <Fact name="id" value={record.id} isMono copy={text.common.copyValue("id")} />
                {collection.fields
                  .filter((field) => field.name in record)
                  .map((field) => (
                    <Fact key={field.name} name={field.name} value={shownValue(field, record[field.name] ?? null)} />
                  ))}
                {RECORD_TIMES.map((time) => (
                  <Fact key={time} name={time} value={formatFieldTime(record[time])} />
                ))}
              </Facts>
              {hiddenIn(page, record).length > 0 && <Dim size="sm">{words.hidden(hiddenIn(page, record))}</Dim>}
            </>
          )}
        </QueryView>
      </Stack>
    </DetailsDrawer>
  );
}
