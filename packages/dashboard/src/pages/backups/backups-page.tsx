/** The backups (`/_/backups`): the set-up, the continuous backup, the stored backups; a drawer verifies, downloads and restores a backup. */
import { Progress, Stack } from "@mantine/core";
import type { BackupEntry } from "@socle/protocol";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { IconDatabaseExport } from "../../icons/index.ts";
import {
  Action,
  actionColumn,
  type Column,
  DataTable,
  DetailsDrawer,
  EmptyState,
  formatBytes,
  formatDateTime,
  formatNumber,
  Page,
  Panel,
  QueryView,
  StatusMark,
  useShortcut,
} from "../../kit/index.ts";
import { configQuery } from "../../service/queries.ts";
import { text } from "../../texts/index.ts";
import { BackupDetails, CheckMark, DownloadAction, tookText, VerifyAction } from "./backup-details.tsx";
import classes from "./backups.module.css";
import { isEncrypted } from "./commands.ts";
import { ContinuousPanel } from "./continuous-panel.tsx";
import { backupsQuery, useBackupNow } from "./queries.ts";
import { SetupPanel, settingOf } from "./setup-panel.tsx";

const route = getRouteApi("/inside/backups");
const words = text.backups;

function State({ state, progress, error }: BackupEntry) {
  if (state === "running")
    return <Progress value={progress * 100} w={110} aria-label={words.progress} title={words.states.running} />;
  return (
    <span title={error ?? undefined}>
      <StatusMark status={state} />
    </span>
  );
}

function Acts({ entry }: { entry: BackupEntry }) {
  const { name, state } = entry;
  if (state !== "completed") return null;
  return (
    <span className={classes["acts"]}>
      {!isEncrypted(name) && <VerifyAction entry={entry} aria-label={words.verifyOf(name)} />}
      <DownloadAction entry={entry} aria-label={words.downloadOf(name)} />
    </span>
  );
}

const columns: Column<BackupEntry>[] = [
  { header: words.made, render: ({ startedAt }) => formatDateTime(startedAt) },
  {
    header: words.took,
    width: 90,
    narrow: "hidden",
    render: tookText,
  },
  { header: words.size, width: 100, render: ({ size }) => (size === null ? null : formatBytes(size)) },
  { header: words.state, width: 150, render: (entry) => <State {...entry} /> },
  {
    header: words.verified,
    width: 190,
    render: ({ state, check }) => (state === "completed" ? <CheckMark check={check} /> : null),
  },
  actionColumn(200, (entry) => <Acts entry={entry} />),
];

export function BackupsPage() {
  const { backup } = route.useSearch();
  const navigate = route.useNavigate();
  const query = useQuery(backupsQuery);
  const config = useQuery(configQuery);
  const begin = useBackupNow();
  const open = (name: string | undefined): void => void navigate({ search: { backup: name } });
  const start = (): void => {
    if (!begin.isPending) begin.mutate();
  };
  useShortcut({ keys: "n", label: words.now, group: text.shortcuts.page }, start);
  const isRunning = query.data?.some(({ state }) => state === "running") === true;
  const opened = query.data?.find(({ name }) => name === backup);
  const place = String(settingOf(config.data, "backup.target") ?? "");
  return (
    <Page
      title={words.title}
      actions={
        <Action
          icon={IconDatabaseExport}
          label={words.now}
          variant="filled"
          loading={begin.isPending || isRunning}
          onClick={start}
        />
      }
    >
      <div className="pair">
        <SetupPanel query={config} />
        <ContinuousPanel config={config.data} />
      </div>
      <Panel
        title={words.stored}
        actions={query.data && <span className="quiet">{formatNumber(query.data.length)}</span>}
      >
        <QueryView query={query}>
          {(rows) =>
            rows.length === 0 ? (
              <EmptyState icon={IconDatabaseExport} title={words.empty} body={words.emptyBody}>
                <Action icon={IconDatabaseExport} label={words.now} onClick={start} />
              </EmptyState>
            ) : (
              <div className={classes["table"]}>
                <DataTable
                  label={words.stored}
                  rows={rows}
                  columns={columns}
                  rowKey={({ name }) => name}
                  onOpen={({ name }) => open(name)}
                  openKey={backup}
                />
              </div>
            )
          }
        </QueryView>
      </Panel>
      <DetailsDrawer isOpen={opened !== undefined} onClose={() => open(undefined)} title={words.backup} size={620}>
        {opened !== undefined && (
          <Stack gap={0}>
            <BackupDetails entry={opened} place={place} onDeleted={() => open(undefined)} />
          </Stack>
        )}
      </DetailsDrawer>
    </Page>
  );
}
