/** The bars of deletions that can be undone, over the lower edge of every page. */
import { ActionIcon, Button, Group, RingProgress, Text } from "@mantine/core";
import { IconX } from "@tabler/icons-react";
import { useEffect, useState } from "react";
import { focusPage, messageOf, notifyDone, notifyError } from "../kit/index.ts";
import { type Deletion, deleteNow, onDeletes, undoDelete, undoMs, useDeletions } from "../service/deletes.ts";
import { text } from "../texts/index.ts";
import classes from "./undo-bars.module.css";

export function UndoBars() {
  const deletions = useDeletions();
  useEffect(
    () =>
      onDeletes(({ failed, reason }) => {
        if (failed.length > 0) notifyError(text.records.notDeleted(failed.length), new Error(messageOf(reason)));
      }),
    [],
  );
  if (deletions.length === 0) return null;
  return (
    <section className={classes["bars"]} aria-label={text.records.undoBars}>
      {deletions.map((deletion) => (
        <UndoBar key={deletion.key} deletion={deletion} />
      ))}
    </section>
  );
}

function UndoBar({ deletion }: { deletion: Deletion }) {
  const { key, collection, ids, dueAt, isRunning, pointers } = deletion;
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 250);
    return () => clearInterval(timer);
  }, []);
  const left = Math.max(0, dueAt - now);
  const seconds = Math.ceil(left / 1_000);
  const undo = (): void => {
    if (undoDelete(key)) notifyDone(text.records.undone);
    focusPage();
  };
  return (
    <div className={classes["bar"]}>
      {!isRunning && (
        <RingProgress
          size={26}
          thickness={2.5}
          sections={[{ value: (left / undoMs) * 100, color: "verdigris" }]}
          label={
            <Text ta="center" fz={11} className="numbers">
              {seconds}
            </Text>
          }
          aria-label={text.records.secondsLeft(seconds)}
          role="img"
        />
      )}
      <div className={classes["words"]} role="status">
        <Text size="sm">
          {isRunning ? text.records.deleting(ids.length) : text.records.deletedOf(ids.length, collection)}
        </Text>
        {!isRunning && pointers !== undefined && (pointers === null || pointers.length > 0) && (
          <Text size="xs" className={classes["warning"]}>
            {pointers === null ? text.records.pointersUnknown : text.records.pointers(pointers, ids.length)}
          </Text>
        )}
      </div>
      {!isRunning && (
        <Group gap={4} wrap="nowrap">
          <Button size="compact-sm" variant="light" onClick={undo}>
            {text.common.undo}
          </Button>
          <ActionIcon
            size="sm"
            variant="subtle"
            color="gray"
            onClick={() => {
              deleteNow(key);
              focusPage();
            }}
            aria-label={text.records.deleteNow}
          >
            <IconX size={14} />
          </ActionIcon>
        </Group>
      )}
    </div>
  );
}
