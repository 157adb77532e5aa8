/** The dialog of an undo: the effects before, the progress, the outcome. Every button that takes changes back opens this dialog. */
import { type ButtonProps, Group, Progress, Skeleton, Stack, Text } from "@mantine/core";
import { modals } from "@mantine/modals";
import type { UndoSelection } from "@socle/client";
import type { ChangeCause, UndoLeft, UndoPreview, UndoState } from "@socle/protocol";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { IconArrowBackUp } from "../icons/index.ts";
import { client } from "../service/client.ts";
import { undo } from "../service/undo.ts";
import { text } from "../texts/index.ts";
import { Action, TextLink } from "./action.tsx";
import { Form, FormFoot } from "./confirm.tsx";
import { visible } from "./format.ts";
import { messageOf } from "./states.tsx";
import classes from "./undo-dialog.module.css";
import { Complaint, Dim } from "./words.tsx";

const words = text.undo;
/** The most changes with a reason that the dialog lists. */
const mostLeft = 50;

interface UndoActionProps extends ButtonProps {
  label: string;
  selection: UndoSelection;
  /** Whether the button has no frame. */
  isQuiet?: boolean;
}

/** A button that opens the dialog. */
export function UndoAction({ label, selection, ...button }: UndoActionProps) {
  return <Action icon={IconArrowBackUp} label={label} onClick={() => openUndo(label, selection)} {...button} />;
}

/** A button that takes all changes with a cause back. */
export function UndoCause({
  cause: { kind, id },
  ...button
}: Omit<UndoActionProps, "label" | "selection"> & { cause: ChangeCause }) {
  // The service finds a cause of any kind by the id.
  return <UndoAction label={text.undo.ofCause[kind]} selection={{ request: id }} {...button} />;
}

function openUndo(title: string, selection: UndoSelection): void {
  const id = modals.open({
    title,
    size: "lg",
    // A dialog that follows another dialog begins anew.
    children: <UndoDialog key={JSON.stringify(selection)} selection={selection} onClose={() => modals.close(id)} />,
  });
}

interface UndoDialogProps {
  selection: UndoSelection;
  onClose: () => void;
}

function UndoDialog({ selection, onClose }: UndoDialogProps) {
  const [state, setState] = useState<UndoState | null>(null);
  const run = useMutation({ mutationFn: () => undo(selection, setState) });
  const preview = useQuery({
    queryKey: ["undo", selection],
    queryFn: () => client.admin.undo.preview(selection),
    ...{ staleTime: 0, gcTime: 0, retry: false, refetchOnWindowFocus: false },
    enabled: run.isIdle,
  });
  const error = run.error ?? preview.error;
  const isOver = state !== null && state.status !== "running";
  if (isOver) return <Outcome state={state} onClose={onClose} />;
  if (error !== null)
    return (
      <Stack>
        <Complaint>{messageOf(error)}</Complaint>
        <CloseButton onClose={onClose} />
      </Stack>
    );
  if (!run.isIdle) return <Running state={state} onClose={onClose} />;
  if (preview.data === undefined) return <Skeleton height={80} aria-label={words.looking} aria-busy="true" />;
  return <Question preview={preview.data} onConfirm={() => run.mutate()} onClose={onClose} />;
}

function CloseButton({ onClose }: Pick<UndoDialogProps, "onClose">) {
  return (
    <Group justify="flex-end">
      <Action label={text.common.close} size="sm" onClick={onClose} data-autofocus />
    </Group>
  );
}

interface QuestionProps {
  preview: UndoPreview;
  onConfirm: () => void;
  onClose: () => void;
}

function Question({ preview: { total, tried, effects, left }, onConfirm, onClose }: QuestionProps) {
  const isAll = tried === total;
  return (
    <Form onSubmit={onConfirm}>
      <Stack gap="sm">
        <div role="status">
          {effects.length === 0 && <Text size="sm">{words.noEffect}</Text>}
          {effects.map((effect) => (
            <Text key={effect.collection} size="sm">
              {words.effects(effect)}.
            </Text>
          ))}
          {!isAll && <Text size="sm">{words.tried(tried, total)}</Text>}
        </div>
        <Left left={left} count={left.length} />
        <Dim>{words.note}</Dim>
        <FormFoot
          label={words.start(
            isAll ? effects.reduce((sum, each) => sum + each.deleted + each.changed + each.restored, 0) : total,
          )}
          isBusy={false}
          onCancel={onClose}
          color="red.8"
          disabled={isAll && effects.length === 0}
        />
      </Stack>
    </Form>
  );
}

function Running({ state, onClose }: { state: UndoState | null; onClose: () => void }) {
  const done = state === null ? 0 : state.done + state.leftCount;
  const total = state?.total ?? 0;
  return (
    <Stack gap="sm">
      <Progress value={total === 0 ? 0 : (done / total) * 100} aria-label={words.progress} animated />
      <Text size="sm" role="status" className="numbers">
        {words.doing(done, total)}
      </Text>
      <Dim>{words.goesOn}</Dim>
      <CloseButton onClose={onClose} />
    </Stack>
  );
}

function Outcome({ state: { id, done, left, leftCount, error }, onClose }: { state: UndoState; onClose: () => void }) {
  const again = (): void => {
    onClose();
    openUndo(words.again, { undo: id });
  };
  return (
    <Stack gap="sm">
      {error !== null && (
        <Complaint>
          {words.failed} {error}
        </Complaint>
      )}
      <Text size="sm" role="status">
        {words.done(done)}
      </Text>
      <Left left={left} count={leftCount} />
      <Group justify="flex-end">
        {done > 0 && <Action label={words.again} size="sm" onClick={again} />}
        <Action label={text.common.close} size="sm" variant="filled" onClick={onClose} data-autofocus />
      </Group>
    </Stack>
  );
}

/** The changes that are left, or that come back only in part, each with the reason. */
function Left({ left, count }: { left: readonly UndoLeft[]; count: number }) {
  if (count === 0) return null;
  const shown = left.slice(0, mostLeft);
  return (
    <section aria-label={words.left(count)}>
      <Text size="sm" fw={600}>
        {words.left(count)}
      </Text>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls needs the keyboard. */}
      <ul className={`plain ${classes["left"]}`} tabIndex={0}>
        {shown.map(({ seq, collection, record, reason }) => (
          <li key={seq}>
            <TextLink
              to="/collections/$name"
              params={{ name: collection }}
              search={{ record }}
              size="xs"
              target="_blank"
            >
              {collection} <span className="mono">{record}</span>
            </TextLink>{" "}
            <Text span size="xs">
              {visible(reason)}
            </Text>
          </li>
        ))}
      </ul>
      {count > shown.length && <Dim>{words.moreLeft(count - shown.length)}</Dim>}
    </section>
  );
}
