/** A backup in the drawer: its facts, its verification with the findings, and the commands that restore the backup. */
import { Group, Progress, Text } from "@mantine/core";
import type { BackupCheck, BackupEntry } from "@socle/protocol";
import {
  IconAlertTriangle,
  IconCircleCheck,
  IconCircleX,
  IconDownload,
  IconInfoCircle,
  IconShieldCheck,
} from "../../icons/index.ts";
import {
  Action,
  CodeBlock,
  DetailsSection,
  Dim,
  ErrorBlock,
  Fact,
  Facts,
  formatBytes,
  formatDuration,
  Mark,
  RelativeTime,
  StatusMark,
  WholeTime,
} from "../../kit/index.ts";
import { text } from "../../texts/index.ts";
import { durationOf } from "../jobs/job-runs.ts";
import classes from "./backups.module.css";
import { addressOf, isEncrypted, restoreCommands, verifyCommand } from "./commands.ts";
import { askDelete, useDownload, useVerify } from "./queries.ts";

const words = text.backups;

/** The outcome of the last verification since the start, in a word. */
export function CheckMark({ check }: { check: BackupCheck | null }) {
  if (check === null) return <span className="quiet">{words.notVerified}</span>;
  const { state, progress, endedAt } = check;
  if (state === "running" || endedAt === null)
    return <Progress value={progress * 100} w={110} aria-label={words.checkProgress} title={words.checks.running} />;
  const isWhole = state === "passed";
  return (
    <span className="inline">
      <Mark tone={isWhole ? "good" : "bad"} icon={isWhole ? IconCircleCheck : IconCircleX}>
        {words.checks[state]}
      </Mark>
      <RelativeTime at={endedAt} c="dimmed" size="xs" />
    </span>
  );
}

/** The time that a backup took; null for a backup that is being made. */
export function tookText(entry: BackupEntry): string | null {
  const ms = durationOf(entry);
  return ms === null ? null : formatDuration(ms);
}

interface BackupActionProps {
  entry: BackupEntry;
  /** The name of the button, if the button stands among buttons of other backups. */
  "aria-label"?: string;
}

export function VerifyAction({ entry: { name, check }, ...action }: BackupActionProps) {
  const verify = useVerify();
  return (
    <Action
      icon={IconShieldCheck}
      label={words.verify}
      size="compact-xs"
      loading={verify.isPending || check?.state === "running"}
      onClick={() => verify.mutate(name)}
      {...action}
    />
  );
}

export function DownloadAction({ entry: { name }, ...action }: BackupActionProps) {
  const download = useDownload();
  return (
    <Action
      icon={IconDownload}
      label={words.download}
      size="compact-xs"
      loading={download.isPending}
      onClick={() => download.mutate(name)}
      {...action}
    />
  );
}

const findingMarks = {
  ok: { tone: "good", icon: IconCircleCheck },
  info: { tone: "quiet", icon: IconInfoCircle },
  error: { tone: "bad", icon: IconAlertTriangle },
} as const;

interface BackupDetailsProps {
  entry: BackupEntry;
  /** The folder or the bucket of the backups. */
  place: string;
  onDeleted: () => void;
}

export function BackupDetails({ entry, place, onDeleted }: BackupDetailsProps) {
  const { name, state, size, startedAt, error } = entry;
  const isStored = state === "completed";
  const address = addressOf(place, name);
  return (
    <>
      <DetailsSection
        title={name}
        actions={
          state === "running" ? null : (
            <Group gap={4} wrap="nowrap">
              {isStored && <DownloadAction entry={entry} />}
              <Action label={words.delete} size="compact-xs" isDanger onClick={() => askDelete(entry, onDeleted)} />
            </Group>
          )
        }
      >
        <Facts>
          <Fact name={words.state} value={<StatusMark status={state} />} />
          <Fact name={words.made} value={<WholeTime at={startedAt} />} />
          <Fact name={words.took} value={tookText(entry)} />
          <Fact name={words.size} value={size === null ? null : formatBytes(size)} />
        </Facts>
      </DetailsSection>
      {error !== null && <ErrorBlock value={error} />}
      {isStored && <Verification entry={entry} address={address} />}
      {isStored && (
        <DetailsSection title={words.restore}>
          <RestoreCommands address={address} />
        </DetailsSection>
      )}
    </>
  );
}

function Verification({ entry, address }: { entry: BackupEntry; address: string }) {
  const { name, check } = entry;
  if (isEncrypted(name))
    return (
      <DetailsSection title={words.verify}>
        <Dim mb="xs">{words.encryptedHint}</Dim>
        <CodeBlock value={verifyCommand(address)} label={words.verify} />
      </DetailsSection>
    );
  return (
    <DetailsSection title={words.verified} actions={<VerifyAction entry={entry} />}>
      <Dim mb="xs">{words.verifyHint}</Dim>
      <Text size="sm" component="div" role="status">
        <CheckMark check={check} />
      </Text>
      {check !== null && check.findings.length > 0 && (
        <ul className={`plain ${classes["findings"]}`} aria-label={words.findings}>
          {check.findings.map(({ state, subject, text: said }) => (
            <li key={`${subject} ${said}`}>
              <Mark {...findingMarks[state]}>
                <span className="breaks">{said}</span>
              </Mark>
            </li>
          ))}
        </ul>
      )}
    </DetailsSection>
  );
}

interface RestoreProps {
  /** Of the backup, or of the place of the continuous backup. */
  address: string;
  /** Of a continuous backup: the moment, and whether the backup needs a key. */
  options?: { moment: string; needsKey: boolean };
}

/** The commands that restore a backup. The service itself restores nothing: a restore needs a stopped service. */
export function RestoreCommands({ address, options }: RestoreProps) {
  const { beside, here } = restoreCommands(address, options);
  return (
    <>
      <Dim mb={4}>{words.restoreBeside}</Dim>
      <CodeBlock value={beside} label={words.restoreBeside} />
      <Dim mt="sm" mb={4}>
        {words.restoreHere}
      </Dim>
      <CodeBlock value={here} label={words.restoreHere} />
      {here.includes("--identity") && <Dim mt="xs">{words.key}</Dim>}
      {address.startsWith("s3://") && <Dim mt="xs">{words.bucketKeys}</Dim>}
    </>
  );
}
