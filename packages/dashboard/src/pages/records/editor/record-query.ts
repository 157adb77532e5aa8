/** The query for a stored record. */
import type { StoredRecord } from "@socle/protocol";
import { queryOptions } from "@tanstack/react-query";
import { client } from "../../../service/client.ts";

export const NEW_RECORD = "new";

export function recordQuery(collection: string, id: string) {
  return queryOptions({
    queryKey: ["records", collection, "one", id],
    queryFn: () => client.collection(collection).get<StoredRecord>(id),
    enabled: id !== NEW_RECORD,
  });
}
