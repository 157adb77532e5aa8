/** The service itself: version, paths, sizes. */
import { Group, Text } from "@mantine/core";
import type { EffectiveConfig } from "@socle/protocol";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { CopyAction, formatBytes, Panel, QueryView, RelativeTime, RowsSkeleton } from "../../kit/index.ts";
import { configQuery, overviewQuery } from "../../service/queries.ts";
import { text } from "../../texts/index.ts";
import classes from "./settings.module.css";

/** A path of the configuration; null when the service does not give the path. */
function pathOf(config: EffectiveConfig | undefined, key: string): string | null {
  const value = config?.keys.find((entry) => entry.key === key)?.value;
  return typeof value === "string" ? value : null;
}

export function ServicePanel() {
  const overview = useQuery(overviewQuery);
  // The panel of the configuration shows a failure; here the paths are left out.
  const { data: config } = useQuery(configQuery);
  return (
    <Panel title={text.settings.service}>
      <QueryView query={overview} skeleton={<RowsSkeleton rows={5} height={24} />}>
        {({ version, startedAt, database, storage, residentMemory }) => (
          <dl className={classes["facts"]}>
            <Fact label={text.settings.version}>{version}</Fact>
            <Fact label={text.settings.startedAt}>
              <RelativeTime at={startedAt} />
            </Fact>
            {config !== undefined && (
              <Fact label={text.settings.configFile} path={config.file}>
                {!config.fileExists && text.settings.noConfigFile}
              </Fact>
            )}
            <Fact label={text.settings.database} path={pathOf(config, "database")}>
              {formatBytes(database.size)}
            </Fact>
            <Fact label={text.settings.wal}>{formatBytes(database.walSize)}</Fact>
            <Fact label={text.settings.storage} path={pathOf(config, "storage")}>
              {text.settings.files(storage.files)}, {formatBytes(storage.size)}
            </Fact>
            <Fact label={text.settings.memory}>{formatBytes(residentMemory)}</Fact>
          </dl>
        )}
      </QueryView>
    </Panel>
  );
}

function Fact({ label, path = null, children }: { label: string; path?: string | null; children?: ReactNode }) {
  return (
    <div className={classes["fact"]}>
      <dt>{label}</dt>
      <dd>
        {children !== undefined && children !== false && <span className="numbers">{children}</span>}
        {path !== null && (
          <Group gap={4} wrap="nowrap" miw={0}>
            <Text span ff="monospace" size="xs" c="dimmed" className="cut" title={path}>
              {path}
            </Text>
            <CopyAction value={path} label={text.common.copyValue(path)} />
          </Group>
        )}
      </dd>
    </div>
  );
}
