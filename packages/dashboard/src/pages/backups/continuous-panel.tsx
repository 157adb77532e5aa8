/** The continuous backup: whether all writes have left, the moments that can be restored, and the commands that restore a moment. */
import { TextInput } from "@mantine/core";
import type { ContinuousExtent, EffectiveConfig } from "@socle/protocol";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { IconAlertTriangle, IconCircleCheck } from "../../icons/index.ts";
import {
  CodeText,
  Dim,
  Fact,
  Facts,
  formatBytes,
  formatDateTime,
  formatDuration,
  Mark,
  Panel,
  QueryView,
  RowsSkeleton,
} from "../../kit/index.ts";
import { text } from "../../texts/index.ts";
import { RestoreCommands } from "./backup-details.tsx";
import classes from "./backups.module.css";
import { continuousQuery } from "./queries.ts";
import { settingOf } from "./setup-panel.tsx";

const words = text.backups;

export function ContinuousPanel({ config }: { config: EffectiveConfig | undefined }) {
  const isOn = settingOf(config, "backup.continuous") !== null;
  const query = useQuery({ ...continuousQuery, enabled: isOn });
  if (config === undefined) return null;
  return (
    <Panel title={words.continuous}>
      {isOn ? (
        <QueryView query={query} skeleton={<RowsSkeleton rows={5} height={24} />}>
          {(extent) => <Extent extent={extent} needsKey={settingOf(config, "backup.recipient") !== null} />}
        </QueryView>
      ) : (
        <Dim px="md" pb="md" pt="xs" size="sm">
          <CodeText text={words.noContinuous} />
        </Dim>
      )}
    </Panel>
  );
}

function Lateness({ behind, isLate, problem }: ContinuousExtent) {
  if (problem === null && !isLate)
    return (
      <Mark tone="good" icon={IconCircleCheck}>
        {words.inTime}
      </Mark>
    );
  return (
    <Mark tone="bad" icon={IconAlertTriangle}>
      {problem === null ? words.behind(formatDuration(behind * 1_000)) : words.stopped(problem)}
    </Mark>
  );
}

function Extent({ extent, needsKey }: { extent: ContinuousExtent; needsKey: boolean }) {
  const { place, from, to, snapshots, gaps } = extent;
  const [local, setLocal] = useState("");
  const at = local === "" ? null : new Date(local);
  const moment = at === null || Number.isNaN(at.getTime()) ? "" : at.toISOString();
  return (
    <div className={classes["facts"]}>
      <Facts>
        <Fact name={words.state} value={<Lateness {...extent} />} />
        <Fact name={words.target} value={place} isMono />
        <Fact
          name={words.moments}
          value={
            from === null || to === null ? (
              <Dim>{words.noMoments}</Dim>
            ) : (
              `${words.momentsFrom} ${formatDateTime(from)} ${words.momentsTo} ${formatDateTime(to)}`
            )
          }
        />
        <Fact
          name={words.snapshots}
          value={words.snapshotsOf(snapshots.length, formatBytes(snapshots.reduce((sum, { bytes }) => sum + bytes, 0)))}
        />
        <Fact
          name={words.gaps}
          value={
            gaps.length === 0
              ? words.noGaps
              : gaps.map((gap) => words.gap(formatDateTime(gap.from), formatDateTime(gap.to))).join("; ")
          }
        />
      </Facts>
      {from !== null && (
        <details className={classes["restore"]}>
          <summary>{words.restore}</summary>
          <TextInput
            label={words.at}
            description={words.atHint}
            type="datetime-local"
            step={1}
            size="xs"
            w={230}
            maw="100%"
            mb="sm"
            value={local}
            onChange={(event) => setLocal(event.currentTarget.value)}
          />
          <RestoreCommands address={place} options={{ moment, needsKey }} />
        </details>
      )}
    </div>
  );
}
