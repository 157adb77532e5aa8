/** The menu of saved views: chooses, saves and deletes the views that all admins share. */
import { Button, Menu, Modal, Stack, TextInput } from "@mantine/core";
import type { SavedView } from "@socle/protocol";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { IconBookmark, IconPlus, IconTrash } from "../../../icons/index.ts";
import {
  Complaint,
  confirmDanger,
  Dim,
  Form,
  FormFoot,
  messageOf,
  notifyDone,
  notifyFailure,
  useFirstFocus,
} from "../../../kit/index.ts";
import { client } from "../../../service/client.ts";
import { queryClient } from "../../../service/queries.ts";
import { text } from "../../../texts/index.ts";
import classes from "../records.module.css";
import type { RecordsPage } from "../use-records-page.ts";
import { addressOf, contentOf, differs, goneFields, savedViewsQuery } from "./saved-views.ts";

const words = text.records.views;

export function ViewMenu({ page }: { page: RecordsPage }) {
  const { name: collection, search, setSearch, views, shown } = page;
  const { all = [], active } = views;
  const [isNaming, setNaming] = useState(false);
  const isChanged = active !== null && differs(active, search, shown.columns.state);
  const open = (view: SavedView | null): void => {
    page.state.clear();
    page.toTop();
    setSearch({ ...addressOf(view ?? {}), view: view?.name });
    // The columns of an open view that were changed and not saved are as saved again.
    shown.columns.reset();
  };
  const save = async (name: string): Promise<void> => {
    const saved = await client.admin.collections.saveView(collection, name, contentOf(search, shown.columns.state));
    queryClient.setQueryData(savedViewsQuery(collection).queryKey, (views = []) =>
      [...views.filter((view) => view.name !== name), saved].sort((a, b) => (a.name < b.name ? -1 : 1)),
    );
    setSearch({ view: name }, true);
    notifyDone(words.saved(name));
  };
  const remove = (name: string): void =>
    confirmDanger({
      title: words.deleteTitle(name),
      body: words.deleteBody,
      action: words.delete,
      onConfirm: async () => {
        await client.admin.collections.deleteView(collection, name);
        await queryClient.invalidateQueries({ queryKey: savedViewsQuery(collection).queryKey });
        setSearch({ view: undefined }, true);
      },
    });
  const shownName = active === null ? words.title : isChanged ? words.changed(active.name) : active.name;
  return (
    <>
      <Menu position="bottom-end" width={260} shadow="md" withinPortal>
        <Menu.Target>
          <Button
            size="xs"
            variant={active === null ? "default" : "light"}
            leftSection={<IconBookmark size={14} aria-hidden />}
            aria-label={active === null ? words.title : words.menuOf(shownName)}
            classNames={{ label: classes["viewName"] ?? "" }}
          >
            {shownName}
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          {[null, ...all].map((view) => (
            <Menu.RadioItem
              key={view?.name ?? ""}
              value={view?.name ?? ""}
              checked={active?.name === view?.name}
              closeMenuOnClick
              // The chosen view, too, can be chosen again: the changes since its last save are then gone.
              onClick={() => open(view)}
            >
              {view?.name ?? words.none}
            </Menu.RadioItem>
          ))}
          <Menu.Divider />
          {active !== null && (
            <Menu.Item
              leftSection={<IconBookmark size={14} />}
              disabled={!isChanged}
              onClick={() => void save(active.name).catch(notifyFailure)}
            >
              {words.save(active.name)}
            </Menu.Item>
          )}
          <Menu.Item leftSection={<IconPlus size={14} />} onClick={() => setNaming(true)}>
            {words.saveAs}
          </Menu.Item>
          {active !== null && (
            <Menu.Item
              leftSection={<IconTrash size={14} />}
              color="var(--mantine-color-error)"
              onClick={() => remove(active.name)}
            >
              {words.delete}
            </Menu.Item>
          )}
        </Menu.Dropdown>
      </Menu>
      {isNaming && <NameDialog names={all.map(({ name }) => name)} onSave={save} onClose={() => setNaming(false)} />}
    </>
  );
}

function NameDialog(props: { names: readonly string[]; onSave: (name: string) => Promise<void>; onClose: () => void }) {
  const { names, onSave, onClose } = props;
  const [typed, setTyped] = useState("");
  const input = useFirstFocus<HTMLInputElement>();
  const name = typed.trim();
  const isTaken = names.includes(name);
  const saving = useMutation({ mutationFn: () => onSave(name), onSuccess: onClose });
  return (
    <Modal opened onClose={onClose} title={words.saveAs}>
      <Form onSubmit={() => name !== "" && !isTaken && !saving.isPending && saving.mutate()}>
        <Stack>
          <Dim size="sm">{words.about}</Dim>
          <TextInput
            ref={input}
            label={words.name}
            value={typed}
            onChange={(event) => setTyped(event.currentTarget.value)}
            error={isTaken && words.taken}
            maxLength={80}
            autoComplete="off"
          />
          {saving.isError && <Complaint>{messageOf(saving.error)}</Complaint>}
          <FormFoot
            label={words.saveView}
            isBusy={saving.isPending}
            onCancel={onClose}
            disabled={name === "" || isTaken}
          />
        </Stack>
      </Form>
    </Modal>
  );
}

/** Tells that the view of the address is gone, or which fields of the view are gone. */
export function ViewNotice({ page }: { page: RecordsPage }) {
  const { search, views, shown } = page;
  const { all, active } = views;
  const gone =
    active === null
      ? []
      : goneFields(
          active,
          shown.all.map(({ name }) => name),
        );
  const isGone = search.view !== undefined && all !== undefined && active === null;
  if (!isGone && gone.length === 0) return null;
  return (
    <Dim role="status" px={{ base: 12, sm: 16 }} py={6}>
      {isGone ? words.gone(search.view ?? "") : words.goneFields(gone)}
    </Dim>
  );
}
