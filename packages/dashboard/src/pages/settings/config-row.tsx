/** A key of the configuration: its purpose, its value, its source, and its forms to copy. */
import { Badge, Menu, Text, Tooltip } from "@mantine/core";
import type { ConfigEntry, ConfigSource } from "@socle/protocol";
import { IconCopy } from "@tabler/icons-react";
import { Dim, IconAction, notifyDone, notifyError } from "../../kit/index.ts";
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
        <Dim>
          <CodeText text={sentence(description)} />
        </Dim>
      </div>
      <div className={classes["value"]}>
        <Value entry={entry} />
        {isOther && <Dim>{text.settings.defaultIs(readable({ value: standard, unit }))}</Dim>}
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
          <Dim ff="monospace" className={classes["variable"]}>
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
