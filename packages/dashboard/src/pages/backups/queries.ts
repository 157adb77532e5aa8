/** The stored backups, the continuous backup, and the requests that change them. */
import type { BackupEntry } from "@socle/protocol";
import { queryOptions, useMutation } from "@tanstack/react-query";
import { confirmDanger, notifyDone, notifyError, saveBlob } from "../../kit/index.ts";
import { client } from "../../service/client.ts";
import { queryClient } from "../../service/queries.ts";
import { unlessGone } from "../../service/refusals.ts";
import { text } from "../../texts/index.ts";
import { chosenFile } from "../records/export/use-export.ts";

const words = text.backups;

/** More backups are in the place of the backups. */
const most = 1_000;
/** How often the list is read while a backup is made or verified, and otherwise. */
const busyMs = 500;
const quietMs = 15_000;

function isBusy({ state, check }: BackupEntry): boolean {
  return state === "running" || check?.state === "running";
}

export const backupsQuery = queryOptions({
  queryKey: ["backups", "list"],
  queryFn: async () => (await client.admin.backups.list({ limit: most })).items,
  refetchInterval: ({ state }) => (state.data?.some(isBusy) === true ? busyMs : quietMs),
});

/** To be asked only with a continuous backup. */
export const continuousQuery = queryOptions({
  queryKey: ["backups", "continuous"],
  queryFn: () => client.admin.backups.continuous(),
  refetchInterval: quietMs,
});

async function refresh(): Promise<void> {
  await Promise.all([
    queryClient.invalidateQueries({ queryKey: ["backups"] }),
    queryClient.invalidateQueries({ queryKey: ["overview"] }),
  ]);
}

export function useBackupNow() {
  return useMutation({
    mutationFn: () => client.admin.backups.begin(),
    onSuccess: () => notifyDone(words.begun),
    onError: (error) => notifyError(words.notBegun, error),
    onSettled: refresh,
  });
}

export function useVerify() {
  return useMutation({
    mutationFn: (name: string) => client.admin.backups.verify(name),
    onError: (error) => notifyError(words.notVerifiable, error),
    onSettled: refresh,
  });
}

/** The download goes straight to the disk where the browser can ask for a place; otherwise through the memory of the browser. */
export function useDownload() {
  return useMutation({
    mutationFn: async (name: string) => {
      const file = await chosenFile(name, "application/octet-stream");
      const response = await client.admin.backups.download(name);
      if (file === null) saveBlob(await response.blob(), name);
      else await response.body?.pipeTo(file);
    },
    onError: (error) => {
      // The user has closed the question for the place.
      if (!(error instanceof DOMException && error.name === "AbortError")) notifyError(words.notDownloaded, error);
    },
  });
}

export function askDelete({ name }: BackupEntry, onDeleted: () => void): void {
  confirmDanger({
    title: words.deleteTitle,
    body: words.deleteBody(name),
    action: words.deleteAction,
    onConfirm: async () => {
      await unlessGone(client.admin.backups.delete(name));
      notifyDone(words.deleted);
      onDeleted();
      await refresh();
    },
  });
}
