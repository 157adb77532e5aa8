/** The actions of the page. On narrow screens a menu holds all actions except the first. */
import { ActionIcon, Button, Menu, Text, Tooltip } from "@mantine/core";
import {
  IconCode,
  IconDots,
  IconDownload,
  IconPlugConnectedX,
  IconPlus,
  IconRefresh,
  IconSchema,
  IconUpload,
} from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import { IconAction } from "../../kit/icon-action.tsx";
import { ButtonLink } from "../../kit/links.tsx";
import { useIsLive } from "../../service/socket.ts";
import { text } from "../../texts/index.ts";
import classes from "./records.module.css";

interface HeadActionsProps {
  name: string;
  isNarrow: boolean;
  isBusy: boolean;
  /** The label of the export: "Export 29 filtered". */
  exportLabel: string;
  onNew: () => void;
  onExport: () => void;
  onCode: () => void;
  onRefresh: () => void;
}

export function HeadActions(props: HeadActionsProps) {
  const { name, isNarrow, isBusy, onNew, onRefresh } = props;
  const isLive = useIsLive();
  return (
    <>
      {!isLive && (
        <Tooltip label={text.records.notLiveHint} multiline w={240}>
          <Text component="span" size="xs" c="dimmed" className={classes["notLive"]} role="status">
            <IconPlugConnectedX size={14} aria-hidden />
            {text.records.notLive}
          </Text>
        </Tooltip>
      )}
      {!isNarrow && (
        <>
          <IconAction
            tip={text.common.refresh}
            icon={IconRefresh}
            iconSize={16}
            label={text.common.refresh}
            size={30}
            onClick={onRefresh}
            aria-busy={isBusy}
          />
          <ButtonLink
            to="/collections/$name/schema"
            params={{ name }}
            size="xs"
            variant="default"
            leftSection={<IconSchema size={14} />}
          >
            {text.records.schema}
          </ButtonLink>
        </>
      )}
      <MoreActions {...props} />
      <Button size="xs" leftSection={<IconPlus size={14} />} onClick={onNew}>
        {text.records.new}
      </Button>
    </>
  );
}

function MoreActions({ name, isNarrow, exportLabel, onExport, onCode, onRefresh }: HeadActionsProps) {
  return (
    <Menu position="bottom-end" width={190} withinPortal>
      <Menu.Target>
        <ActionIcon variant="default" size={30} aria-label={text.records.actions}>
          <IconDots size={16} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {isNarrow && (
          <>
            <Menu.Item leftSection={<IconRefresh size={16} />} onClick={onRefresh}>
              {text.common.refresh}
            </Menu.Item>
            <Menu.Item
              leftSection={<IconSchema size={16} />}
              renderRoot={(props) => <Link to="/collections/$name/schema" params={{ name }} {...props} />}
            >
              {text.records.schema}
            </Menu.Item>
            <Menu.Divider />
          </>
        )}
        <Menu.Item
          leftSection={<IconUpload size={16} />}
          renderRoot={(props) => <Link to="/collections/$name/import" params={{ name }} {...props} />}
        >
          {text.records.import}
        </Menu.Item>
        <Menu.Item leftSection={<IconDownload size={16} />} onClick={onExport}>
          {exportLabel}
        </Menu.Item>
        <Menu.Item leftSection={<IconCode size={16} />} onClick={onCode}>
          {text.records.code}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
