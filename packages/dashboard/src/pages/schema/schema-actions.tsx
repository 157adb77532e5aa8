/** The links and the menu of a collection's schema: records, duplicate, copy, delete. */
import { ActionIcon, Menu } from "@mantine/core";
import { useClipboard } from "@mantine/hooks";
import { IconClipboard, IconCopyPlus, IconDots, IconTable, IconTrash } from "@tabler/icons-react";
import { useNavigate } from "@tanstack/react-router";
import { LinkAction, notifyDone } from "../../kit/index.ts";
import { text } from "../../texts/index.ts";

export function SchemaActions({ name, json, onDelete }: { name: string; json: () => string; onDelete: () => void }) {
  const navigate = useNavigate();
  const clipboard = useClipboard();
  return (
    <>
      <LinkAction icon={IconTable} label={text.schema.records} to="/collections/$name" params={{ name }} />
      <Menu position="bottom-end" width={230} shadow="md">
        <Menu.Target>
          <ActionIcon variant="default" size={30} aria-label={text.schema.actions}>
            <IconDots size={16} />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item
            leftSection={<IconCopyPlus size={16} />}
            onClick={() => void navigate({ to: "/collections/-/new", search: { from: name } })}
          >
            {text.schema.duplicate}
          </Menu.Item>
          <Menu.Item
            leftSection={<IconClipboard size={16} />}
            onClick={() => {
              clipboard.copy(json());
              notifyDone(text.schema.jsonCopied);
            }}
          >
            {text.schema.copyJson}
          </Menu.Item>
          <Menu.Divider />
          <Menu.Item color="var(--mantine-color-error)" leftSection={<IconTrash size={16} />} onClick={onDelete}>
            {text.schema.delete}
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
    </>
  );
}
