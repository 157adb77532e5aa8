/** Drawer of a run of a function: its state, its error with the position, its log, its earlier ends. */
import { Code, Group, Text } from "@mantine/core";
import type { FunctionRun } from "@socle/protocol";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { IconHistory, IconRefresh, IconTimeline } from "../../icons/index.ts";
import {
  Action,
  Complaint,
  DetailsSection,
  Dim,
  EmptyState,
  ErrorBlock,
  ErrorState,
  Fact,
  Facts,
  formatDateTime,
  formatDuration,
  LinkAction,
  lastStack,
  messageOf,
  RelativeTime,
  RowsSkeleton,
  RunLog,
  RunPreview,
  SourceBlock,
  StatusMark,
  TextLink,
  UndoAction,
} from "../../kit/index.ts";
import { useRunLog, useScriptFiles } from "../../service/live.ts";
import { text } from "../../texts/index.ts";
import { collectionOf } from "../events/event-list.ts";
import { eventQuery } from "../events/use-events.ts";
import classes from "./functions.module.css";
import { runQuery, useRetry } from "./queries.ts";
import { isUnderWay, rowKeyOf, statesOf } from "./runs-of.ts";

export function RunDetails({ runId, listed }: { runId: string; listed: readonly FunctionRun[] }) {
  const query = useQuery(runQuery(runId, listed.find((run) => run.runId === runId)?.filePath));
  const [run, ...earlier] = statesOf(runId, listed, query.data);
  if (run !== undefined) return <Details run={run} earlier={earlier} />;
  if (query.isError) return <ErrorState error={query.error} onRetry={query.refetch} />;
  if (query.isPending) return <RowsSkeleton rows={6} height={20} />;
  return (
    <EmptyState icon={IconHistory} title={text.functions.goneTitle} body={text.functions.goneBody}>
      <LinkAction label={text.functions.openLog} to="/logs" search={{ search: runId }} />
    </EmptyState>
  );
}

function Details({ run, earlier }: { run: FunctionRun; earlier: readonly FunctionRun[] }) {
  const log = useRunLog(run.runId, isUnderWay(run));
  const retry = useRetry();
  // A waiting or running run may have failed attempts: the last error is in the log.
  const stack = run.status === "completed" ? null : lastStack(log.data ?? []);
  const error = stack ?? run.error;
  return (
    <>
      <DetailsSection
        title={text.runs.run}
        actions={
          <Group gap="xs">
            <UndoAction label={text.undo.run} selection={{ run: run.runId }} size="compact-sm" />
            {run.canRetry && (
              <Action
                icon={IconRefresh}
                label={text.runs.retry}
                size="compact-sm"
                loading={retry.isPending}
                onClick={() => retry.mutate(run)}
              />
            )}
          </Group>
        }
      >
        {retry.isError && (
          <Complaint mb="xs">
            {text.functions.retryFailed}. {messageOf(retry.error)}
          </Complaint>
        )}
        <RunFacts run={run} />
        <LinkAction icon={IconTimeline} label={text.trace.open} to="/trace/$id" params={{ id: run.runId }} mt="sm" />
        {run.status === "failed" && !run.canRetry && <Dim mt="xs">{text.functions.noRetry}</Dim>}
      </DetailsSection>
      {error !== null && (
        <DetailsSection title={text.runs.error}>
          <ErrorBlock value={error} />
          <SourceBlock runId={run.runId} error={error} />
          {run.status === "failed" && run.canRetry && <NextStep run={run} />}
        </DetailsSection>
      )}
      <RunPreview runId={run.runId} replay={run.canRetry ? () => retry.mutateAsync(run) : null} />
      <RunLog query={log} runId={run.runId} />
      {earlier.length > 0 && (
        <DetailsSection title={text.functions.earlier}>
          <ul className="plain">
            {earlier.map((each) => (
              <li key={rowKeyOf(each)} className={classes["end"]}>
                <Group justify="space-between" wrap="nowrap">
                  <StatusMark status={each.status} />
                  <RelativeTime at={each.endedAt ?? each.createdAt} c="dimmed" />
                </Group>
                {each.error !== null && <ErrorBlock value={each.error} />}
              </li>
            ))}
          </ul>
        </DetailsSection>
      )}
    </>
  );
}

/** The next step to a successful run: a newer version of the file is loaded already, or the user has to change the file. */
function NextStep({ run: { filePath, endedAt } }: { run: FunctionRun }) {
  const files = useScriptFiles("function");
  const loadedAt = files?.find((file) => file.filePath === filePath)?.loadedAt ?? null;
  if (loadedAt === null || endedAt === null) return null;
  const isNewer = Date.parse(loadedAt) > Date.parse(endedAt);
  return (
    <Text size="sm" mt="xs" role="status">
      {isNewer ? (
        text.functions.loadedSince
      ) : (
        <>
          {text.functions.notLoadedSince} <Code>socle dev</Code> {text.scripts.whenLoaded}
        </>
      )}
    </Text>
  );
}

/** The record of the run, read from the event that started the run. */
function useRecordLink({ eventId }: FunctionRun): ReactNode {
  const { data } = useQuery({ ...eventQuery(eventId), enabled: eventId !== "" });
  const id = data?.payload["id"];
  const collection = data === undefined || data === null ? null : collectionOf(data);
  if (typeof id !== "string" || collection === null) return null;
  return (
    <TextLink to="/collections/$name" params={{ name: collection }} search={{ record: id }} className="mono">
      {id}
    </TextLink>
  );
}

function RunFacts({ run }: { run: FunctionRun }) {
  const record = useRecordLink(run);
  const { runId, status, filePath, eventType, eventId, createdAt, endedAt, durationMs } = run;
  return (
    <Facts>
      <Fact name={text.runs.status} value={<StatusMark status={status} />} />
      <Fact
        name={text.runs.file}
        value={
          <TextLink to="/functions" search={{ tab: "runs", file: filePath }} className="mono">
            {filePath}
          </TextLink>
        }
      />
      <Fact
        name={text.functions.event}
        value={
          <>
            {eventType}{" "}
            {eventId !== "" && (
              <TextLink to="/events" search={{ event: eventId }} className="mono">
                {eventId}
              </TextLink>
            )}
          </>
        }
      />
      <Fact name={text.functions.record} value={record} />
      <Fact name={text.functions.happened} value={formatDateTime(createdAt)} />
      {run.retryAt !== undefined && (
        <Fact
          name={text.functions.nextAttempt}
          value={
            <>
              {text.functions.attempt((run.failures ?? 0) + 1)} · <RelativeTime at={run.retryAt} />
            </>
          }
        />
      )}
      <Fact name={text.functions.ended} value={endedAt && formatDateTime(endedAt)} />
      <Fact name={text.runs.duration} value={durationMs === null ? null : formatDuration(durationMs)} />
      <Fact name={text.runs.run} value={runId} isMono copy={text.common.copyValue(runId)} />
    </Facts>
  );
}
