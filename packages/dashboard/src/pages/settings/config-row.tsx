/** One key: what it is for, its value, its source, and its forms to copy. */
import { ActionIcon, Badge, Menu, Text, Tooltip } from "@mantine/core";
import type { ConfigEntry, ConfigSource } from "@socle/protocol";
import { IconCopy } from "@tabler/icons-react";
import { notifyDone, notifyError } from "../../kit/index.ts";
import { text } from "../../texts/index.ts";
import { CodeText } from "../schema/code-text.tsx";
import { asJson, asVariable, readable } from "./config-text.ts";
import classes from "./settings.module.css";

const colours: { readonly [source in ConfigSource]: string } = {
  default: "gray",
  file: "verdigris",
  environment: "violet",
  "command line": "orange",
};

export function ConfigRow({ entry }: { entry: ConfigEntry }) {
  const { key, value, default: standard, source, variable, description, isSecret, unit } = entry;
  const isOther = !isSecret && JSON.stringify(value) !== JSON.stringify(standard) && standard !== null;
  return (
    <li className={classes["key"]}>
      <div className={classes["about"]}>
        <Text size="sm" fw={600} ff="monospace" className={classes["name"]}>
          {key}
        </Text>
        <Text size="xs" c="dimmed">
          <CodeText text={sentence(description)} />
        </Text>
      </div>
      <div className={classes["value"]}>
        <Value entry={entry} />
        {isOther && (
          <Text size="xs" c="dimmed">
            {text.settings.defaultIs(readable({ value: standard, unit }))}
          </Text>
        )}
      </div>
      <div className={classes["source"]}>
        <Badge
          size="sm"
          radius="sm"
          variant={source === "default" ? "default" : "light"}
          color={colours[source]}
          tt="none"
          fw={500}
        >
          {text.settings.sources[source]}
        </Badge>
        {source === "environment" && (
          <Text size="xs" c="dimmed" ff="monospace" className={classes["variable"]}>
            {variable}
          </Text>
        )}
      </div>
      <CopyMenu entry={entry} />
    </li>
  );
}

/** Descriptions of the service begin in the middle of a sentence. */
function sentence(description: string): string {
  return description.charAt(0).toUpperCase() + description.slice(1);
}

function Value({ entry }: { entry: ConfigEntry }) {
  const { value, isSecret, isSet } = entry;
  if (isSecret || value === null) {
    return (
      <Text size="sm" c="dimmed" fs="italic">
        {isSet ? text.settings.set : text.settings.notSet}
      </Text>
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
        <ActionIcon variant="subtle" color="gray" size="sm" aria-label={text.settings.copyMenu(entry.key)}>
          <IconCopy size={14} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item onClick={() => copy(asVariable(entry))}>
          {text.settings.copyVariable}
          <Text size="xs" c="dimmed" ff="monospace" truncate maw={280}>
            {asVariable(entry)}
          </Text>
        </Menu.Item>
        <Menu.Item onClick={() => copy(asJson(entry))}>
          {text.settings.copyJson}
          <Text size="xs" c="dimmed" ff="monospace" truncate maw={280}>
            {asJson(entry).replace(/\s+/g, " ")}
          </Text>
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
