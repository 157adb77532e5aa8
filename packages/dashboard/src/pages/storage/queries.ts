/** Queries of the storage page: the list of files, a single file, the records with the file, and the refresh after a change. */
import type { StoredFile, Visibility } from "@socle/protocol";
import { keepPreviousData, queryOptions, useMutation } from "@tanstack/react-query";
import { confirmDanger, offsetOf, pageSize } from "../../kit/index.ts";
import { client } from "../../service/client.ts";
import { queryClient } from "../../service/queries.ts";
import { text } from "../../texts/index.ts";
import type { StorageSearch } from "../search.ts";

export function fileListQuery({ search, visibility, user, page }: StorageSearch) {
  return queryOptions({
    queryKey: ["storage", "list", { search, visibility, user, page }],
    queryFn: () => client.admin.files({ search, visibility, userId: user, limit: pageSize, offset: offsetOf(page) }),
    placeholderData: keepPreviousData,
  });
}

export function fileQuery(id: string) {
  return queryOptions({ queryKey: ["storage", "one", id], queryFn: () => client.admin.file(id) });
}

/** The first records that hold the file's id, and the number of all records with the id. */
export function usesQuery(id: string) {
  return queryOptions({
    queryKey: ["storage", "uses", id],
    queryFn: () => client.admin.fileUses(id, { limit: 20 }),
    staleTime: 0,
  });
}

/** The change of a file's visibility. A question comes before the file becomes public. */
export function useVisibility({ id, filename }: StoredFile, onError?: (error: Error) => void) {
  const change = useMutation({
    mutationFn: (to: Visibility) => client.admin.setVisibility(id, to),
    onSuccess: (changed) => {
      queryClient.setQueryData(fileQuery(id).queryKey, changed);
      // The question closes with the change, and does not wait for the lists.
      void refreshFiles();
    },
  });
  const choose = (to: Visibility): void => {
    if (to !== "public") change.mutate(to, { ...(onError && { onError }) });
    else
      confirmDanger({
        title: text.storage.publishTitle(filename),
        body: text.storage.publishBody,
        action: text.storage.publishAction,
        onConfirm: () => change.mutateAsync(to),
      });
  };
  return { change, choose };
}

/** Reads lists, single files and the overview's sizes again. Pictures stay: the bytes of a file never change. */
export async function refreshFiles(): Promise<void> {
  await Promise.all([
    ...["list", "one", "uses"].map((part) => queryClient.invalidateQueries({ queryKey: ["storage", part] })),
    queryClient.invalidateQueries({ queryKey: ["overview"] }),
  ]);
}
