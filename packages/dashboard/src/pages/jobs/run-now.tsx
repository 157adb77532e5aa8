/** The button that starts a job at once and opens the new run. */
import { IconPlayerPlay } from "@tabler/icons-react";
import { useMutation } from "@tanstack/react-query";
import { Action, notifyError } from "../../kit/index.ts";
import { client } from "../../service/client.ts";
import { text } from "../../texts/index.ts";
import { refreshJobs } from "./queries.ts";

export function RunNow({ name, onStarted }: { name: string; onStarted: (runId: string) => void }) {
  const start = useMutation({
    mutationFn: () => client.admin.scripts.runJob(name),
    onSuccess: async ({ runId }) => {
      // The details of the started run open and show its progress.
      onStarted(runId);
      await refreshJobs();
    },
    onError: (error) => notifyError(text.jobs.notStarted(name), error),
  });
  return (
    <Action
      icon={IconPlayerPlay}
      label={text.jobs.runNow}
      size="compact-sm"
      loading={start.isPending}
      aria-label={text.jobs.runNowOf(name)}
      onClick={() => start.mutate()}
    />
  );
}
