/** Every key of the configuration, with its value, the source of the value, and the ways to set the key. */
import { Group } from "@mantine/core";
import type { EffectiveConfig } from "@socle/protocol";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { Dim, Panel, QueryView, RowsSkeleton, SearchBox } from "../../kit/index.ts";
import { configQuery } from "../../service/queries.ts";
import { text } from "../../texts/index.ts";
import { ConfigRow } from "./config-row.tsx";
import { groupsOf } from "./config-text.ts";
import classes from "./settings.module.css";

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
