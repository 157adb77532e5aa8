/** The question before the deletion of a record: its name, and the records that point to the record. */
import { Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Warning } from "../../../kit/index.ts";
import { countPointers } from "../../../service/pointers.ts";
import { text } from "../../../texts/index.ts";

export function DeleteBody({ collection, id, name }: { collection: string; id: string; name: string }) {
  const { data } = useQuery({
    queryKey: ["pointers", collection, id],
    queryFn: () => countPointers(collection, [id]),
    staleTime: 0,
    gcTime: 0,
    retry: false,
  });
  return (
    <>
      {text.editor.deleteBody(name)}
      <Text size="sm" mt="xs" component="div" mih={22} role="status">
        {data === undefined || data === null ? (
          ""
        ) : data.length === 0 ? (
          text.editor.noPointers
        ) : (
          <Warning>{text.records.pointers(data, 1)}</Warning>
        )}
      </Text>
    </>
  );
}
