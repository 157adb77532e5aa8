/** The panel of the status: whether all is well, and the conditions of the service that are not, the worst first, each with the remedy. */
import { Group, Text, Title } from "@mantine/core";
import type { StatusItem } from "@socle/protocol";
import { useQuery } from "@tanstack/react-query";
import { IconAlertTriangle, IconCircleCheck } from "../../icons/index.ts";
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
      {({ isWell, items }) => (
        <Panel>
          <Group
            gap={10}
            px="md"
            py="sm"
            wrap="nowrap"
            className={classes["verdict"]}
            data-level={isWell ? undefined : items[0]?.level}
          >
            {isWell ? <IconCircleCheck size={24} aria-hidden /> : <IconAlertTriangle size={24} aria-hidden />}
            <Title order={2} size="h4">
              {isWell
                ? text.overview.allWell
                : text.overview.attention(items.filter(({ level }) => level !== "note").length)}
            </Title>
          </Group>
          {items.length > 0 && (
            <ul className={`plain ${classes["list"]}`}>
              {items.map((item) => (
                <Condition key={`${item.id} ${item.text}`} item={item} />
              ))}
            </ul>
          )}
        </Panel>
      )}
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
