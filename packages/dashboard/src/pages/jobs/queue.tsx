/** A queue in the drawer: its options, the waiting runs, the runs that have failed for good; and the starts of runs by hand. */
import { Group, Modal, Stack, Text, TextInput } from "@mantine/core";
import { DateTimePicker } from "@mantine/dates";
import type { JobEntry, NewQueueRun, QueueRun } from "@socle/protocol";
import { useMutation, useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { IconPlayerPlay, IconPlus } from "../../icons/index.ts";
import {
  Action,
  actionColumn,
  CodeBlock,
  type Column,
  Complaint,
  confirmDanger,
  DataTable,
  DetailsSection,
  Dim,
  ErrorState,
  ErrorText,
  Fact,
  Facts,
  Form,
  FormFoot,
  formatDuration,
  formatNumber,
  JsonEditor,
  jsonText,
  messageOf,
  notifyDone,
  notifyError,
  RunPreview,
  StatusMark,
  timeColumn,
} from "../../kit/index.ts";
import { client } from "../../service/client.ts";
import { text } from "../../texts/index.ts";
import classes from "./jobs.module.css";
import { askRetryAll, queueRunQuery, queueRunsQuery, refreshJobs } from "./queries.ts";

const words = text.jobs.queue;

export function QueueFacts({ job, queue }: { job: JobEntry; queue: NonNullable<JobEntry["queue"]> }) {
  return (
    <Facts>
      <Fact name={words.waiting} value={formatNumber(queue.waiting)} />
      <Fact name={words.running} value={formatNumber(queue.running)} />
      <Fact name={words.failed} value={formatNumber(queue.failed)} />
      <Fact name={words.concurrency} value={words.concurrencyNote(queue.concurrency)} />
      <Fact name={text.runs.retries} value={formatNumber(job.retries)} />
      <Fact name={words.backoff} value={words[queue.backoff]} />
      <Fact name={text.runs.timeout} value={formatDuration(job.timeout)} />
      <Fact name={text.runs.file} value={job.filePath} isMono />
    </Facts>
  );
}

const keyColumn: Column<QueueRun> = {
  header: words.key,
  width: 140,
  render: ({ key }) =>
    key === null ? <span className="quiet">{words.noKey}</span> : <span className="mono">{key}</span>,
};

function openColumns(remove: (run: QueueRun) => void): Column<QueueRun>[] {
  return [
    { header: text.runs.status, width: 110, render: ({ status }) => <StatusMark status={status} /> },
    timeColumn(words.due, ({ dueAt }) => dueAt),
    keyColumn,
    {
      header: words.attempts,
      align: "right",
      width: 120,
      render: ({ failures }) => failures > 0 && formatNumber(failures),
    },
    actionColumn(90, (run) => run.status === "waiting" && <DeleteButton run={run} onDelete={remove} />),
  ];
}

function DeleteButton({ run, onDelete }: { run: QueueRun; onDelete: (run: QueueRun) => void }) {
  return (
    <Action
      label={words.delete}
      size="compact-xs"
      aria-label={words.deleteOf(run.runId)}
      onClick={() => onDelete(run)}
    />
  );
}

interface FailedActions {
  readonly retry: (run: QueueRun) => void;
  readonly remove: (run: QueueRun) => void;
  /** The id of the run with a retry under way. */
  readonly busy: string | undefined;
}

function failedColumns({ retry, remove, busy }: FailedActions): Column<QueueRun>[] {
  return [
    timeColumn(words.failedAt, ({ failedAt }) => failedAt),
    { header: text.runs.error, render: ({ error }) => error !== null && <ErrorText value={error} isOneLine /> },
    keyColumn,
    actionColumn(150, (run) => (
      <Group gap={4} justify="flex-end" wrap="nowrap">
        <Action
          label={words.retry}
          size="compact-xs"
          loading={busy === run.runId}
          aria-label={words.retryOf(run.runId)}
          onClick={() => retry(run)}
        />
        <DeleteButton run={run} onDelete={remove} />
      </Group>
    )),
  ];
}

interface QueueRunsProps {
  job: JobEntry;
  shownId: string | undefined;
  onRun: (runId: string) => void;
}

export function QueueRuns({ job: { name, filePath }, shownId, onRun }: QueueRunsProps) {
  const retry = useMutation({
    mutationFn: (run: QueueRun) => retryQueued(name, run),
    onError: (error) => notifyError(words.retryFailed, error),
    onSettled: refreshJobs,
  });
  const busy = retry.isPending ? retry.variables.runId : undefined;
  const remove = ({ runId }: QueueRun): void =>
    confirmDanger({
      title: words.deleteTitle,
      body: words.deleteBody,
      action: words.deleteAction,
      onConfirm: async () => {
        await client.admin.scripts.deleteQueued(name, runId);
        notifyDone(words.deleted);
        await refreshJobs();
      },
    });
  const columns = failedColumns({ retry: (run) => retry.mutate(run), remove, busy });
  const table = { name, shownId, onRun };
  return (
    <>
      <RunTable
        {...table}
        status="failed"
        title={words.failed}
        columns={columns}
        actions={(n) => <Action label={words.retryAll(n)} size="compact-xs" onClick={() => askRetryAll(n, filePath)} />}
      />
      <RunTable {...table} status={undefined} title={words.next} columns={openColumns(remove)} />
    </>
  );
}

function RunTable(props: {
  name: string;
  status: "failed" | undefined;
  title: string;
  columns: Column<QueueRun>[];
  /** Buttons for all runs, by their number. */
  actions?: (n: number) => ReactNode;
  shownId: string | undefined;
  onRun: (runId: string) => void;
}) {
  const { name, status, title, columns, actions, shownId, onRun } = props;
  const { data, error, refetch } = useQuery(queueRunsQuery(name, status));
  if (error !== null) return <ErrorState error={error} onRetry={refetch} />;
  if (data === undefined || data.total === 0) return null;
  return (
    <DetailsSection title={title} actions={actions?.(data.total)}>
      <div className={classes["attempts"]}>
        <DataTable
          label={title}
          columns={columns}
          rows={data.items}
          rowKey={({ runId }) => runId}
          onOpen={({ runId }) => onRun(runId)}
          openKey={shownId}
        />
        {data.total > data.items.length && <Dim p="xs">{words.more(formatNumber(data.total - data.items.length))}</Dim>}
      </div>
    </DetailsSection>
  );
}

/** The payload of a run that is open or has failed for good. The service drops the payload of other ended runs. */
export function QueuedPayload({ name, runId }: { name: string; runId: string | undefined }) {
  const { data } = useQuery({ ...queueRunQuery(name, runId ?? ""), enabled: runId !== undefined });
  if (data === undefined) return null;
  return (
    <>
      <DetailsSection title={words.payload}>
        <CodeBlock value={jsonText(data.payload)} label={words.payload} />
      </DetailsSection>
      <RunPreview
        key={data.runId}
        runId={data.runId}
        replay={data.status === "failed" ? () => retryQueued(name, data) : null}
      />
    </>
  );
}

async function retryQueued(name: string, { runId }: QueueRun): Promise<void> {
  await client.admin.scripts.retryQueued(name, runId);
  notifyDone(words.retried);
}

export function EnqueueButton({ name, onOpen }: { name: string; onOpen: () => void }) {
  return (
    <Action
      icon={IconPlus}
      label={words.enqueue}
      size="compact-sm"
      aria-label={words.enqueueOf(name)}
      onClick={onOpen}
    />
  );
}

interface EnqueueProps {
  name: string;
  onClose: () => void;
  onEnqueued: (runId: string) => void;
}

export function EnqueueDialog(props: EnqueueProps) {
  return (
    <Modal opened onClose={props.onClose} title={words.enqueueOf(props.name)} size="lg">
      <EnqueueForm {...props} />
    </Modal>
  );
}

function EnqueueForm({ name, onClose, onEnqueued }: EnqueueProps) {
  const [payload, setPayload] = useState("{}");
  const [key, setKey] = useState("");
  const [at, setAt] = useState<string | null>(null);
  const enqueue = useMutation({
    mutationFn: () => client.admin.scripts.enqueue(name, runOf({ payload, key, at })),
    onSuccess: async ({ runId }) => {
      notifyDone(words.enqueued);
      onClose();
      onEnqueued(runId);
      await refreshJobs();
    },
  });
  return (
    <Form onSubmit={() => enqueue.isPending || enqueue.mutate()}>
      <Stack>
        <div>
          <Text size="sm" fw={500} mb={4} aria-hidden>
            {words.payload}
          </Text>
          <JsonEditor value={payload} onChange={setPayload} label={words.payload} autoFocus minHeight={120} />
        </div>
        <TextInput
          label={words.key}
          description={words.keyNote}
          value={key}
          onChange={(event) => setKey(event.currentTarget.value)}
          autoComplete="off"
        />
        <DateTimePicker label={words.at} placeholder={words.atOnce} value={at} onChange={setAt} clearable />
        {enqueue.isError && <Complaint>{messageOf(enqueue.error)}</Complaint>}
        <FormFoot label={words.enqueue} isBusy={enqueue.isPending} onCancel={onClose} />
      </Stack>
    </Form>
  );
}

/** @throws SyntaxError for a payload that is no JSON. */
function runOf({ payload, key, at }: { payload: string; key: string; at: string | null }): NewQueueRun {
  return {
    payload: JSON.parse(payload === "" ? "null" : payload),
    ...(key !== "" && { key }),
    ...(at !== null && { at: new Date(at).toISOString() }),
  };
}

/** Runs a job now. The details of the started run open and show its progress. */
export async function startJob(name: string, onStarted: (runId: string) => void): Promise<void> {
  const { runId } = await client.admin.scripts.runJob(name);
  onStarted(runId);
  await refreshJobs();
}

export function RunNow({ name, onStarted }: { name: string; onStarted: (runId: string) => void }) {
  const start = useMutation({
    mutationFn: () => startJob(name, onStarted),
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
