/** The panel of the status: the conditions of the service that are not well, the worst first, each with the remedy. The panel is hidden while all is well. */
import { Text } from "@mantine/core";
import type { StatusItem } from "@socle/protocol";
import { useQuery } from "@tanstack/react-query";
import { Dim, Panel, QueryView, RelativeTime, TextLink } from "../../kit/index.ts";
import { client } from "../../service/client.ts";
import { text } from "../../texts/index.ts";
import { LevelMark } from "../logs/level-mark.tsx";
import classes from "./overview.module.css";

const refreshMs = 10_000;
const levels = { error: "ERROR", warning: "WARN", note: "INFO" } as const;

export function StatusPanel() {
  const query = useQuery({
    queryKey: ["overview", "status"],
    queryFn: () => client.admin.status(),
    refetchInterval: refreshMs,
  });
  return (
    <QueryView query={query} skeleton={null}>
      {({ items }) =>
        items.length > 0 && (
          <Panel title={text.overview.status}>
            <ul className={`plain ${classes["list"]}`}>
              {items.map((item) => (
                <Condition key={`${item.id} ${item.text}`} item={item} />
              ))}
            </ul>
          </Panel>
        )
      }
    </QueryView>
  );
}

function Condition({ item }: { item: StatusItem }) {
  return (
    <li className={classes["condition"]}>
      <span className={classes["level"]}>
        <LevelMark level={levels[item.level]} />
      </span>
      <span>
        <Text span size="sm">
          {item.id === "failures_open" ? <TextLink to="/failures">{item.text}</TextLink> : item.text}
        </Text>
        <Dim size="xs">{item.remedy}</Dim>
      </span>
      <Text span size="xs" c="dimmed" className="noBreak">
        <RelativeTime at={item.since} />
      </Text>
    </li>
  );
}
