/** The head of the page: the way back, and the actions. On narrow screens a menu holds all actions except the first. */
import { ActionIcon, Menu, Text, Tooltip } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import {
  IconChevronLeft,
  IconCode,
  IconDots,
  IconDownload,
  IconEye,
  IconPencil,
  IconPlugConnectedX,
  IconPlus,
  IconRefresh,
  IconSchema,
  IconTrash,
  IconUpload,
} from "../../icons/index.ts";
import { Action, LinkAction } from "../../kit/action.tsx";
import { IconAction } from "../../kit/icon-action.tsx";
import { useIsLive } from "../../service/client.ts";
import { text } from "../../texts/index.ts";
import classes from "./records.module.css";
import type { RecordsPage } from "./use-records-page.ts";

/** The link back to the list of collections, for screens too narrow to show the list beside the page. */
export function BackToCollections() {
  return (
    <ActionIcon
      component={Link}
      to="/collections"
      variant="subtle"
      color="gray"
      hiddenFrom="md"
      aria-label={text.records.toCollections}
      ml={-6}
    >
      <IconChevronLeft size={18} />
    </ActionIcon>
  );
}

export function HeadActions({ page }: { page: RecordsPage }) {
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
      {!page.isNarrow && (
        <>
          <IconAction
            tip={text.common.refresh}
            icon={IconRefresh}
            iconSize={16}
            label={text.common.refresh}
            word={text.common.refresh}
            size={30}
            onClick={page.reload}
            aria-busy={page.shown.rows.isFetching}
          />
          <LinkAction
            icon={IconSchema}
            label={text.records.schema}
            to="/collections/$name/schema"
            params={{ name: page.name }}
          />
        </>
      )}
      <MoreActions page={page} />
      {!page.isReadOnly && (
        <Action
          icon={IconPlus}
          label={page.areUsers ? text.users.new : text.records.new}
          onClick={() => page.open("new")}
          variant="filled"
        />
      )}
    </>
  );
}

function MoreActions({ page }: { page: RecordsPage }) {
  const { name, areUsers, isReadOnly, isNarrow, isPartial, shown, setDialog } = page;
  return (
    <Menu position="bottom-end" width={190} withinPortal>
      <Menu.Target>
        <IconAction icon={IconDots} iconSize={16} variant="default" size={30} label={text.records.actions} />
      </Menu.Target>
      <Menu.Dropdown>
        {isNarrow && (
          <>
            <Menu.Item leftSection={<IconRefresh size={16} />} onClick={page.reload}>
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
        {!areUsers && !isReadOnly && (
          <Menu.Item
            leftSection={<IconUpload size={16} />}
            renderRoot={(props) => <Link to="/collections/$name/import" params={{ name }} {...props} />}
          >
            {text.records.import}
          </Menu.Item>
        )}
        {!areUsers && !isReadOnly && (
          <Menu.Item leftSection={<IconPencil size={16} />} onClick={() => setDialog({ type: "edit" })}>
            {text.records.editAll(shown.rows.total)}
          </Menu.Item>
        )}
        {!isReadOnly && (
          <Menu.Item leftSection={<IconDownload size={16} />} onClick={() => setDialog({ type: "export" })}>
            {isPartial ? text.records.exportFiltered(shown.rows.total) : text.records.exportAll}
          </Menu.Item>
        )}
        {page.collection.definition.trash !== undefined && (
          <Menu.Item
            leftSection={<IconTrash size={16} />}
            renderRoot={(props) => <Link to="/collections/$name/trash" params={{ name }} {...props} />}
          >
            {text.trash.open}
          </Menu.Item>
        )}
        {!areUsers && page.hasRecords && (
          <Menu.Item leftSection={<IconEye size={16} />} onClick={() => setDialog({ type: "viewAs" })}>
            {text.records.viewAs.open}
          </Menu.Item>
        )}
        <Menu.Item leftSection={<IconCode size={16} />} onClick={() => setDialog({ type: "code" })}>
          {text.records.code}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
