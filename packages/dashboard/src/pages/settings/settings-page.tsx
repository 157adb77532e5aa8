/** The settings in force: the service, the look of the dashboard, mail, sign-in at providers, every key of the configuration. */
import { Box, Group, SegmentedControl, Text, useMantineColorScheme } from "@mantine/core";
import type { EffectiveConfig } from "@socle/protocol";
import { useMutation, useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { IconRefresh } from "../../icons/index.ts";
import {
  Action,
  CopyAction,
  choicesOf,
  Dim,
  Fact,
  Facts,
  formatBytes,
  notifyDone,
  notifyError,
  Page,
  Panel,
  QueryView,
  RelativeTime,
  RowsSkeleton,
} from "../../kit/index.ts";
import { client } from "../../service/client.ts";
import { configQuery, overviewQuery } from "../../service/queries.ts";
import { text } from "../../texts/index.ts";
import { ConfigPanel } from "./config-panel.tsx";
import { MailPanel } from "./mail-panel.tsx";
import { ProvidersPanel } from "./providers-panel.tsx";
import classes from "./settings.module.css";

export function SettingsPage() {
  return (
    <Page title={text.settings.title} actions={<ReloadAction />}>
      <div className={classes["top"]}>
        <ServicePanel />
        <AppearancePanel />
      </div>
      <div className="pair">
        <MailPanel />
        <ProvidersPanel />
      </div>
      <ConfigPanel />
    </Page>
  );
}

/** Loads the code of the project again. A service under development loads each change by itself, and says so. */
function ReloadAction() {
  const reload = useMutation({
    mutationFn: () => client.admin.reloadCode(),
    onSuccess: () => notifyDone(text.settings.reloading),
    onError: (error) => notifyError(text.settings.notReloaded, error),
  });
  return (
    <Action
      icon={IconRefresh}
      label={text.settings.reload}
      loading={reload.isPending}
      onClick={() => reload.mutate()}
    />
  );
}

function AppearancePanel() {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return (
    <Panel title={text.settings.appearance} pb="md">
      <Dim size="sm" px="md" pt={4} pb={6}>
        {text.settings.theme}
      </Dim>
      <SegmentedControl
        mx="md"
        size="sm"
        aria-label={text.settings.theme}
        data={choicesOf(text.shell.themes)}
        value={colorScheme}
        onChange={setColorScheme}
      />
    </Panel>
  );
}

/** A path of the configuration; null when the service does not give the path. */
function pathOf(config: EffectiveConfig | undefined, key: string): string | null {
  const value = config?.keys.find((entry) => entry.key === key)?.value;
  return typeof value === "string" ? value : null;
}

function ServicePanel() {
  const overview = useQuery(overviewQuery);
  // The panel of the configuration shows a failure; here the paths are left out.
  const { data: config } = useQuery(configQuery);
  return (
    <Panel title={text.settings.service}>
      <QueryView query={overview} skeleton={<RowsSkeleton rows={5} height={24} />}>
        {({ version, startedAt, database, storage, residentMemory }) => (
          <Box px="md" pb="sm">
            <Facts>
              <Fact name={text.settings.version} value={version} />
              <Fact name={text.settings.startedAt} value={<RelativeTime at={startedAt} />} />
              {config !== undefined && (
                <Path name={text.settings.configFile} path={config.file}>
                  {!config.fileExists && text.settings.noConfigFile}
                </Path>
              )}
              <Path name={text.settings.database} path={pathOf(config, "database")}>
                {formatBytes(database.size)}
              </Path>
              <Fact name={text.settings.wal} value={formatBytes(database.walSize)} />
              <Path name={text.settings.storage} path={pathOf(config, "storage")}>
                {text.settings.files(storage.files)}, {formatBytes(storage.size)}
              </Path>
              <Fact name={text.settings.memory} value={formatBytes(residentMemory)} />
            </Facts>
          </Box>
        )}
      </QueryView>
    </Panel>
  );
}

/** A fact with the path of its file. */
function Path({ name, path, children }: { name: string; path: string | null; children: ReactNode }) {
  const place = path !== null && (
    <Group gap={4} wrap="nowrap" miw={0}>
      <Text span ff="monospace" size="xs" c="dimmed" className="cut" title={path}>
        {path}
      </Text>
      <CopyAction value={path} label={text.common.copyValue(path)} />
    </Group>
  );
  const value = (
    <Group gap="0 16px">
      {children !== false && <span className="numbers">{children}</span>}
      {place}
    </Group>
  );
  return <Fact name={name} value={value} />;
}
