/** The head of the drawer: the name of the record, its times, and its owner. */
import { Badge, Group, Text } from "@mantine/core";
import type { CollectionEntry, StoredRecord } from "@socle/protocol";
import { useQuery } from "@tanstack/react-query";
import { IdText, RelativeTime } from "../../../kit/index.ts";
import { userQuery } from "../../../service/queries.ts";
import { text } from "../../../texts/index.ts";
import classes from "./editor.module.css";

interface RecordHeadProps {
  collection: CollectionEntry;
  record: StoredRecord | null;
  isChangedElsewhere: boolean;
}

export function RecordHead({ collection, record, isChangedElsewhere }: RecordHeadProps) {
  const ownerField = collection.fields.find(({ owner }) => owner === true);
  const owner = ownerField === undefined ? undefined : record?.[ownerField.name];
  if (record === null) return <div className={classes["headLine"]} />;
  return (
    <Group gap="2px 16px" fz="xs" c="dimmed" mih={20} className={classes["headLine"]}>
      <IdText id={record.id} />
      <span>
        {text.editor.created} <RelativeTime at={record.createdAt} />
      </span>
      <span>
        {text.editor.updated} <RelativeTime at={record.updatedAt} />
      </span>
      {owner !== undefined && (
        <span className="cut">
          {text.editor.owner} {typeof owner === "string" ? <Owner id={owner} /> : text.editor.noOwner}
        </span>
      )}
      <span role="status">
        {isChangedElsewhere && (
          <Badge size="sm" variant="light" tt="none" fw={500}>
            {text.editor.changedElsewhere}
          </Badge>
        )}
      </span>
    </Group>
  );
}

function Owner({ id }: { id: string }) {
  const query = useQuery({ ...userQuery(id), retry: false });
  return (
    <Text span inherit c="var(--mantine-color-text)">
      {query.data?.email ?? `…${id.slice(-8)}`}
    </Text>
  );
}
