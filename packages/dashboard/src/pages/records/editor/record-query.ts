/** A stored record: its query, and the changes by others while the record is open. */
import type { StoredRecord } from "@socle/protocol";
import { queryOptions, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { client } from "../../../service/client.ts";
import { changeOf } from "../data/live-merge.ts";

export const NEW_RECORD = "new";

export function recordQuery(collection: string, id: string) {
  return queryOptions({
    queryKey: ["records", collection, "one", id],
    queryFn: () => client.collection(collection).get<StoredRecord>(id),
    enabled: id !== NEW_RECORD,
  });
}

interface LiveState {
  readonly isDeleted: boolean;
  /** The `updatedAt` of the last change; null before the first change. The page's own saves count, too. */
  readonly changedTo: string | null;
}

/** Follows an open record: changes by others update the cache, and the editor shows a deletion. */
export function useLiveRecord(collection: string, recordId: string): LiveState {
  const queryClient = useQueryClient();
  const [state, setState] = useState<LiveState>({ isDeleted: false, changedTo: null });
  useEffect(() => {
    setState({ isDeleted: false, changedTo: null });
    if (recordId === NEW_RECORD) return undefined;
    const { queryKey } = recordQuery(collection, recordId);
    return client.subscribe(
      `${collection}.*`,
      (event) => {
        if (event.payload["id"] !== recordId) return;
        const change = changeOf(event);
        if (change?.type === "deleted") setState({ isDeleted: true, changedTo: null });
        if (change === null || change.type === "deleted") return;
        const { record } = change;
        // An undo brings a deleted record back.
        if (change.type === "created") setState({ isDeleted: false, changedTo: null });
        const known = queryClient.getQueryData(queryKey);
        // The event of the page's own save brings nothing new.
        if (known === undefined || known.updatedAt >= record.updatedAt) return;
        queryClient.setQueryData(queryKey, record);
        setState({ isDeleted: false, changedTo: record.updatedAt });
      },
      // After a break that was too long, the known record may be old.
      { onReset: () => void queryClient.invalidateQueries({ queryKey }) },
    );
  }, [queryClient, collection, recordId]);
  return state;
}
