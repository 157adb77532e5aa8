/** Follows an open record: changes by others update the cache, and the editor shows a deletion. */
import type { JsonValue, StoredRecord } from "@socle/protocol";
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { client } from "../../../service/client.ts";
import { NEW_RECORD, recordQuery } from "./record-query.ts";

export interface LiveState {
  readonly isDeleted: boolean;
  /** The `updatedAt` of the last change; null before the first change. The page's own saves count, too. */
  readonly changedTo: string | null;
}

function isRecord(payload: { [key: string]: unknown }): payload is StoredRecord {
  return typeof payload["id"] === "string" && typeof payload["updatedAt"] === "string";
}

export function useLiveRecord(collection: string, recordId: string): LiveState {
  const queryClient = useQueryClient();
  const [state, setState] = useState<LiveState>({ isDeleted: false, changedTo: null });
  useEffect(() => {
    setState({ isDeleted: false, changedTo: null });
    if (recordId === NEW_RECORD) return undefined;
    const { queryKey } = recordQuery(collection, recordId);
    return client.subscribe(
      `${collection}.*`,
      ({ type, payload }) => {
        if (payload["id"] !== recordId) return;
        if (type.endsWith(".deleted")) {
          setState({ isDeleted: true, changedTo: null });
          return;
        }
        if (!isRecord(payload)) return;
        const known = queryClient.getQueryData<{ [field: string]: JsonValue }>(queryKey);
        // The event of the page's own save brings nothing new.
        if (known === undefined || String(known["updatedAt"]) >= payload.updatedAt) return;
        queryClient.setQueryData(queryKey, payload);
        setState({ isDeleted: false, changedTo: payload.updatedAt });
      },
      // After a break that was too long, the known record may be old.
      { onReset: () => void queryClient.invalidateQueries({ queryKey }) },
    );
  }, [queryClient, collection, recordId]);
  return state;
}
