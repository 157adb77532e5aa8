/** Every key of the configuration, with its value, the source of the value, and the ways to set the key. */
import { Badge, Group, Menu, Text, Tooltip } from "@mantine/core";
import type { ConfigEntry, ConfigSource, EffectiveConfig, LogLevel } from "@socle/protocol";
import { queryOptions, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { IconCopy } from "../../icons/index.ts";
import {
  Choice,
  CodeText,
  Dim,
  IconAction,
  notifyDone,
  notifyError,
  Panel,
  QueryView,
  RowsSkeleton,
  SearchBox,
} from "../../kit/index.ts";
import { client } from "../../service/client.ts";
import { configQuery } from "../../service/queries.ts";
import { text } from "../../texts/index.ts";
import { asJson, asVariable, groupsOf, readable } from "./config-text.ts";
import { SettingEditor } from "./setting-editor.tsx";
import classes from "./settings.module.css";

const logLevelQuery = queryOptions({ queryKey: ["log-level"], queryFn: () => client.admin.logLevel() });

const route = getRouteApi("/inside/settings");

export function ConfigPanel() {
  const query = useQuery(configQuery);
  const { search = "" } = route.useSearch();
  const navigate = useNavigate();
  return (
    <Panel title={text.settings.config}>
      <Group px="md" py="xs" justify="space-between" gap="sm" align="end">
        <Dim maw={560}>{text.settings.configNote}</Dim>
        <SearchBox
          width={280}
          label={text.settings.search}
          value={search}
          onChange={(next) =>
            navigate({ to: "/settings", search: { search: next }, replace: true, resetScroll: false })
          }
        />
      </Group>
      <QueryView query={query} skeleton={<RowsSkeleton rows={12} />}>
        {(config) => <Groups config={config} search={search} />}
      </QueryView>
    </Panel>
  );
}

function Groups({ config, search }: { config: EffectiveConfig; search: string }) {
  const groups = groupsOf(config.keys, search);
  const found = groups.reduce((all, [, entries]) => all + entries.length, 0);
  return (
    <>
      <Dim px="md" pb={4} role="status" className="numbers">
        {found === 0 ? text.settings.nothingFound : text.settings.found(found)}
      </Dim>
      {groups.map(([name, entries]) => (
        <section key={name} aria-label={name || text.settings.general}>
          <h3 className={classes["group"]}>{name === "" ? text.settings.general : name}</h3>
          <ul className="plain">
            {entries.map((entry) => (
              <ConfigRow key={entry.key} entry={entry} />
            ))}
          </ul>
        </section>
      ))}
    </>
  );
}

const colours: { readonly [source in ConfigSource]: string } = {
  default: "gray",
  settings: "teal",
  file: "verdigris",
  environment: "violet",
  "command line": "orange",
};

function ConfigRow({ entry }: { entry: ConfigEntry }) {
  const { key, value, default: standard, source, variable, description, isSecret, unit } = entry;
  const isOther = !isSecret && JSON.stringify(value) !== JSON.stringify(standard) && standard !== null;
  return (
    <li className={classes["key"]}>
      <div className={classes["about"]}>
        <Text size="sm" fw={600} ff="monospace" className="breaks">
          {key}
        </Text>
        <Dim>
          <CodeText text={sentence(description)} />
        </Dim>
      </div>
      <div className={classes["value"]}>
        <Value entry={entry} />
        {key === "log.level" && <LogLevelNow />}
        {entry.isLive && <SettingEditor entry={entry} />}
        {isOther && <Dim>{text.settings.defaultIs(readable({ value: standard, unit }))}</Dim>}
      </div>
      <div className={classes["source"]}>
        <Badge
          size="sm"
          radius="sm"
          variant={source === "default" ? "default" : "light"}
          color={colours[source]}
          c="var(--mantine-color-text)"
          tt="none"
          fw={500}
        >
          {text.settings.sources[source]}
        </Badge>
        {source === "environment" && (
          <Dim ff="monospace" className="breaks">
            {variable}
          </Dim>
        )}
      </div>
      <CopyMenu entry={entry} />
    </li>
  );
}

/** Makes a sentence: descriptions of the service begin with a lower-case letter. */
function sentence(description: string): string {
  return description.charAt(0).toUpperCase() + description.slice(1);
}

function Value({ entry }: { entry: ConfigEntry }) {
  const { value, isSecret, isSet } = entry;
  if (isSecret || value === null) {
    return (
      <Dim size="sm" fs="italic">
        {isSet ? text.settings.set : text.settings.notSet}
      </Dim>
    );
  }
  const shown = `numbers ${classes["shown"]}`;
  if (entry.unit === null) {
    return (
      <Text size="sm" className={shown}>
        {readable(entry)}
      </Text>
    );
  }
  return (
    <Tooltip label={text.settings.raw(JSON.stringify(value))}>
      <Text size="sm" className={shown} tabIndex={0}>
        {readable(entry)}
      </Text>
    </Tooltip>
  );
}

/** The level of the log in force: changed here until the next start, which takes the value of the configuration again. */
function LogLevelNow() {
  const queryClient = useQueryClient();
  const query = useQuery(logLevelQuery);
  const change = useMutation({
    mutationFn: (level: LogLevel) => client.admin.setLogLevel(level),
    onSuccess: (state) => {
      queryClient.setQueryData(logLevelQuery.queryKey, state);
      notifyDone(text.settings.levelSet(text.logs.levels[state.level]));
    },
    onError: (error) => notifyError(text.settings.levelNotSet, error),
  });
  return (
    <QueryView query={query} skeleton={<RowsSkeleton rows={1} />}>
      {({ level, configured }) => (
        <Choice
          mt={4}
          label={text.settings.levelNow}
          description={level === configured ? text.settings.levelOfStart : text.settings.levelUntilStart}
          words={text.logs.levels}
          value={level}
          disabled={change.isPending}
          onChange={(next) => next !== level && change.mutate(next)}
        />
      )}
    </QueryView>
  );
}

function CopyMenu({ entry }: { entry: ConfigEntry }) {
  const copy = async (written: string): Promise<void> => {
    try {
      await navigator.clipboard.writeText(written);
      notifyDone(text.common.copied);
    } catch (error) {
      notifyError(text.errors.title, error);
    }
  };
  return (
    <Menu position="bottom-end" withinPortal>
      <Menu.Target>
        <IconAction icon={IconCopy} iconSize={14} label={text.settings.copyMenu(entry.key)} />
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item onClick={() => copy(asVariable(entry))}>
          {text.settings.copyVariable}
          <Dim ff="monospace" truncate maw={280}>
            {asVariable(entry)}
          </Dim>
        </Menu.Item>
        <Menu.Item onClick={() => copy(asJson(entry))}>
          {text.settings.copyJson}
          <Dim ff="monospace" truncate maw={280}>
            {asJson(entry).replace(/\s+/g, " ")}
          </Dim>
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
