/** A running import, and its result. */
import { Alert, Button, Group, Progress, Stack, Text } from "@mantine/core";
import { IconAlertTriangle, IconDownload, IconPlayerPause, IconPlayerPlay, IconTable } from "@tabler/icons-react";
import { useSyncExternalStore } from "react";
import { ButtonLink, Dim, formatDuration, LeaveGuard, messageOf, Panel } from "../../kit/index.ts";
import { saveBlob } from "../../kit/save-blob.ts";
import { text } from "../../texts/index.ts";
import { RejectedTable } from "./rejected-table.tsx";
import type { ImportRun, RunState } from "./run/import-run.ts";
import type { ImportPlan } from "./run/prepare.ts";
import { rejectedFile } from "./run/rejected-file.ts";
import type { LoadedSource } from "./use-source.ts";

export function RunPanel(props: { run: ImportRun; source: LoadedSource; plan: ImportPlan; onAgain: () => void }) {
  const { run, source, plan, onAgain } = props;
  const state = useSyncExternalStore(run.subscribe, run.state);
  const isRunning = state.phase === "running";
  const isOver = ["done", "cancelled", "failed"].includes(state.phase);

  const download = (): void => {
    const { parts, extension, type } = rejectedFile(state.kept, source.format, source.columns);
    const base = source.file.name.replace(/\.[^.]*$/, "").replace(/-rejected$/, "");
    saveBlob(new Blob(parts, { type }), `${base}-rejected.${extension}`);
  };

  return (
    <Stack gap="md">
      <LeaveGuard
        isActive={!isOver}
        title={text.import.leaveTitle}
        body={text.import.leaveBody}
        action={text.import.leave}
      />
      <Panel title={source.file.name}>
        <Stack gap="sm" p="md" pt="xs">
          <Progress
            value={state.part * 100}
            size="lg"
            aria-label={text.import.progress}
            color={state.phase === "failed" ? "red.8" : "verdigris"}
            animated={isRunning}
          />
          <Group justify="space-between" gap="sm">
            <Group gap="md" className="numbers">
              <Text fw={600} role="status" size="sm">
                {phaseText(state)}
              </Text>
              <Text size="sm">
                {plan.match === null ? text.import.created(state.stored) : text.import.updated(state.stored)}
              </Text>
              <Text size="sm" c={state.rejected > 0 ? "var(--mantine-color-error)" : "dimmed"}>
                {text.import.rejected(state.rejected)}
              </Text>
              {isRunning && state.rowsPerSecond !== null && (
                <Dim size="sm">{text.import.speed(Math.round(state.rowsPerSecond))}</Dim>
              )}
              {isRunning && state.secondsLeft !== null && (
                <Dim size="sm">{text.import.left(formatDuration(Math.ceil(state.secondsLeft) * 1_000))}</Dim>
              )}
            </Group>
            <Group gap="xs">
              {isOver ? (
                <>
                  <Button variant="default" size="xs" onClick={onAgain}>
                    {text.import.again}
                  </Button>
                  <ButtonLink
                    to="/collections/$name"
                    params={{ name: plan.collection }}
                    size="xs"
                    leftSection={<IconTable size={14} />}
                  >
                    {text.import.openRecords}
                  </ButtonLink>
                </>
              ) : (
                <>
                  <PauseButton run={run} isPaused={state.phase === "paused"} />
                  <Button variant="default" size="xs" onClick={() => run.cancel()}>
                    {text.import.stop}
                  </Button>
                </>
              )}
            </Group>
          </Group>
          {state.phase === "failed" && (
            <Alert color="red" variant="light" role="alert" icon={<IconAlertTriangle aria-hidden />}>
              {messageOf(state.error)}
            </Alert>
          )}
        </Stack>
      </Panel>
      {state.kept.length > 0 && (
        <Panel
          title={text.import.rejectedTitle}
          actions={
            <Button variant="light" size="xs" leftSection={<IconDownload size={14} />} onClick={download}>
              {text.import.download}
            </Button>
          }
        >
          <Dim px="md" pb="xs">
            {text.import.downloadHint}
            {state.rejected > state.kept.length && ` ${text.import.keptOnly(state.kept.length, state.rejected)}`}
          </Dim>
          <RejectedTable rejected={state.kept} />
        </Panel>
      )}
    </Stack>
  );
}

function phaseText(state: RunState): string {
  return state.phase === "waiting" ? text.import.waitSeconds(state.waitSeconds) : text.import.phases[state.phase];
}

function PauseButton({ run, isPaused }: { run: ImportRun; isPaused: boolean }) {
  return isPaused ? (
    <Button size="xs" leftSection={<IconPlayerPlay size={14} />} onClick={() => run.resume()}>
      {text.import.resume}
    </Button>
  ) : (
    <Button variant="default" size="xs" leftSection={<IconPlayerPause size={14} />} onClick={() => run.pause()}>
      {text.import.pause}
    </Button>
  );
}
