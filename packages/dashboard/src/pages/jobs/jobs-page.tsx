/** Jobs (`/_/jobs`): the schedule of each job, its last run, a start by hand; and a drawer with the runs of a job. */
import { Tooltip } from "@mantine/core";
import type { JobEntry, ScriptFileEntry } from "@socle/protocol";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { IconCalendarClock, IconCalendarOff, IconCircleX } from "../../icons/index.ts";
import {
  actionColumn,
  type Column,
  DetailsDrawer,
  EmptyState,
  Example,
  ExampleButton,
  FilledPage,
  formatDuration,
  formatNumber,
  LinkAction,
  ListTable,
  Mark,
  RelativeTime,
  RowsSkeleton,
  ScriptProblems,
  StatusMark,
  timeColumn,
} from "../../kit/index.ts";
import { useLiveRefresh, useScriptFiles } from "../../service/live.ts";
import { text } from "../../texts/index.ts";
import type { JobSearch } from "../search.ts";
import { cronWords } from "./cron-words.ts";
import { JobDetails } from "./job-details.tsx";
import { durationOf } from "./job-runs.ts";
import { jobChannels, jobsQuery, refreshJobs } from "./queries.ts";
import { EnqueueButton, EnqueueDialog, RunNow } from "./queue.tsx";

const route = getRouteApi("/inside/jobs");

function columnsOf(
  files: readonly ScriptFileEntry[],
  { open, enqueue }: { open: (search: JobSearch) => void; enqueue: (name: string) => void },
): Column<JobEntry>[] {
  const fileOf = (path: string) => files.find(({ filePath }) => filePath === path);
  return [
    { header: text.jobs.name, render: ({ name }) => <strong>{name}</strong> },
    {
      header: text.jobs.schedule,
      render: ({ schedule, queue }) =>
        schedule === null ? (
          <QueueState queue={queue} />
        ) : (
          <Tooltip label={<span className="mono">{schedule}</span>}>
            <span>{cronWords(schedule)}</span>
          </Tooltip>
        ),
    },
    { header: text.jobs.timezone, narrow: "hidden", render: ({ timezone }) => timezone },
    {
      header: text.jobs.nextRun,
      width: 130,
      render: ({ nextRun, queue }) => {
        if (queue !== null) return null;
        return nextRun === null ? text.common.never : <RelativeTime at={nextRun} />;
      },
    },
    { header: text.jobs.lastRun, width: 280, render: ({ lastRun }) => <LastRun run={lastRun} /> },
    {
      ...timeColumn(text.scripts.loaded, ({ filePath }) => fileOf(filePath)?.loadedAt ?? null),
      narrow: "hidden",
    },
    actionColumn(120, ({ name, queue }) =>
      queue === null ? (
        <RunNow name={name} onStarted={(run) => open({ job: name, run })} />
      ) : (
        <EnqueueButton name={name} onOpen={() => enqueue(name)} />
      ),
    ),
  ];
}

/** The number of runs in a queue, and whether some have failed for good. */
function QueueState({ queue }: Pick<JobEntry, "queue">) {
  if (queue === null) return null;
  const open = queue.waiting + queue.running;
  return (
    <span className="inline">
      <span>{text.jobs.queue.name}</span>
      <span className="quiet">
        {open === 0 ? text.jobs.queue.empty : text.jobs.queue.openCount(formatNumber(open))}
      </span>
      {queue.failed > 0 && (
        <Mark tone="bad" icon={IconCircleX}>
          {text.jobs.queue.failedCount(formatNumber(queue.failed))}
        </Mark>
      )}
    </span>
  );
}

function LastRun({ run }: { run: JobEntry["lastRun"] }) {
  if (run === null) return <span className="quiet">{text.common.never}</span>;
  const duration = durationOf(run);
  return (
    <span className="inline">
      <StatusMark status={run.status} />
      <span className="quiet">
        {duration !== null && `${formatDuration(duration)} · `}
        <RelativeTime at={run.startedAt} />
      </span>
    </span>
  );
}

export function JobsPage() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const query = useQuery(jobsQuery);
  const [enqueueing, setEnqueueing] = useState<string | null>(null);
  useLiveRefresh(jobChannels, [["jobs"], ["run-log"]]);
  const open = (next: JobSearch): void => void navigate({ search: next });
  const files = useScriptFiles("job");
  const { data } = query;
  // Files were added, removed or loaded again: a schedule may have changed.
  const loaded = files?.map(({ filePath, loadedAt }) => `${filePath} ${loadedAt}`).join();
  useEffect(() => {
    if (loaded !== undefined) void refreshJobs();
  }, [loaded]);
  const job = data?.find(({ name }) => name === search.job);
  return (
    <FilledPage
      title={text.jobs.title}
      note={data === undefined ? undefined : formatNumber(data.length)}
      actions={<ExampleButton label={text.jobs.new} title={text.jobs.newTitle} {...example} />}
    >
      <ScriptProblems files={files} />
      <ListTable
        label={text.jobs.title}
        query={query}
        rows={data}
        columns={columnsOf(files ?? [], { open, enqueue: setEnqueueing })}
        rowKey={({ name }) => name}
        onOpen={({ name }) => open({ job: name })}
        openKey={search.job}
        empty={<NoJobs />}
      />
      {enqueueing !== null && (
        <EnqueueDialog
          name={enqueueing}
          onClose={() => setEnqueueing(null)}
          onEnqueued={(run) => open({ job: enqueueing, run })}
        />
      )}
      <DetailsDrawer isOpen={search.job !== undefined} onClose={() => open({})} title={search.job} size={640}>
        {job !== undefined && (
          <JobDetails
            key={job.name}
            job={job}
            runId={search.run}
            onRun={(run) => open({ job: job.name, run })}
            onEnqueue={() => setEnqueueing(job.name)}
          />
        )}
        {job === undefined && (data === undefined ? <RowsSkeleton rows={6} height={20} /> : <NoSuchJob />)}
      </DetailsDrawer>
    </FilledPage>
  );
}

function NoSuchJob() {
  return (
    <EmptyState icon={IconCalendarOff} title={text.jobs.goneTitle} body={text.jobs.goneBody}>
      <LinkAction label={text.jobs.openLog} to="/logs" search={{}} />
    </EmptyState>
  );
}

const example = {
  path: "jobs/cleanup.ts",
  code: `export const schedule = "30 3 * * *";
export const options: JobOptions = {
  timezone: "Europe/Berlin",
};

const job: Job = async ({ db, logger }) => {
  const drafts = await db.posts.where({ published: false });
  for (const { id } of drafts.items)
    await db.posts.delete(id);
  logger.info("Cleaned up", { drafts: drafts.items.length });
};

export default job;
`,
};

function NoJobs() {
  return (
    <EmptyState icon={IconCalendarClock} title={text.jobs.emptyTitle} body={text.jobs.emptyBody}>
      <Example {...example} />
    </EmptyState>
  );
}
