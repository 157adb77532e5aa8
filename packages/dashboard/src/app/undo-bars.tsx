/** The bars of deletions that can be undone, over the lower edge of every page. */
import { Box, Group, Progress, RingProgress, Text } from "@mantine/core";
import { useEffect, useState } from "react";
import { IconX } from "../icons/index.ts";
import { Action, focusPage, IconAction, messageOf, notifyDone, notifyError } from "../kit/index.ts";
import type { Failure } from "../service/change-records.ts";
import { type Deletion, deleteNow, onDeletes, undoDelete, undoMs, useDeletions } from "../service/deletes.ts";
import { text } from "../texts/index.ts";
import classes from "./undo-bars.module.css";

/** The most reasons in a notification, and the most records for each reason. */
const mostReasons = 3;
const mostNamed = 3;

export function UndoBars() {
  const deletions = useDeletions();
  useEffect(
    () =>
      onDeletes(({ failed, deleted }) => {
        if (failed.length === 0) return;
        const all = failed.length + deleted.size;
        notifyError(text.records.notDeleted(failed.length, all), new Error(reasonsOf(failed)));
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

/** Each reason once, with its records. */
function reasonsOf(failed: readonly Failure[]): string {
  const ids = new Map<string, string[]>();
  for (const { id, reason } of failed) {
    const message = messageOf(reason);
    ids.set(message, [...(ids.get(message) ?? []), id]);
  }
  const shown = [...ids].slice(0, mostReasons);
  return shown
    .map(([message, of]) => text.records.notDeletedBecause(message, of.slice(0, mostNamed), of.length))
    .join(" ");
}

function UndoBar({ deletion }: { deletion: Deletion }) {
  const { key, collection, ids, dueAt, isRunning, done, pointers } = deletion;
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
      <Box miw={0} role="status">
        <Text size="sm">
          {isRunning ? text.records.deleting(done, ids.length) : text.records.deletedOf(ids.length, collection)}
        </Text>
        {isRunning && ids.length > 1 && (
          <Progress size="xs" value={(done / ids.length) * 100} aria-label={text.records.deleteProgress} />
        )}
        {!isRunning && pointers !== undefined && (pointers === null || pointers.length > 0) && (
          <Text size="xs" c="light-dark(#a35200, #ffc078)">
            {pointers === null ? text.records.pointersUnknown : text.records.pointers(pointers, ids.length)}
          </Text>
        )}
      </Box>
      {!isRunning && (
        <Group gap={4} wrap="nowrap">
          <Action label={text.common.undo} size="compact-sm" variant="light" onClick={undo} />
          <IconAction
            icon={IconX}
            iconSize={14}
            label={text.records.deleteNow}
            onClick={() => {
              deleteNow(key);
              focusPage();
            }}
          />
        </Group>
      )}
    </div>
  );
}
