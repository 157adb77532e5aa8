/** Notifications of the changes of this tab, with the button that takes the change back; the shortcut for the newest change. */
import { Group } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { lastChange, type OwnChange, takeBack, type Undone } from "../service/undo.ts";
import { text } from "../texts/index.ts";
import { Action } from "./action.tsx";
import { notifyDone, notifyError } from "./notify.ts";

const words = text.undo;
/** The most reasons in a notification. */
const mostReasons = 3;

/** Takes a change back, and tells what was taken back and what was left. */
export async function undoChange(change: OwnChange): Promise<void> {
  // The notification of the change has the same button.
  notifications.hide(change.key);
  try {
    const undone = await takeBack(change);
    if (undone.left.length === 0 && undone.error === null) notifyDone(words.undone(change.words));
    else notifyError((undone.done > 0 ? words.partly : words.notUndone)(change.words), new Error(reasonsOf(undone)));
  } catch (error) {
    notifyError(words.notUndone(change.words), error);
  }
}

function reasonsOf({ left, error }: Undone): string {
  const reasons = [...new Set([...(error === null ? [] : [error]), ...left.map(({ reason }) => reason)])];
  return [...reasons.slice(0, mostReasons), ...(reasons.length > mostReasons ? ["…"] : [])].join("; ");
}

/** Takes the newest change of this tab back. */
export function undoLast(): void {
  const change = lastChange();
  if (change === undefined) notifyDone(words.nothing);
  else void undoChange(change);
}

/** Tells of a change, with a button that takes the change back. @param change null for a change that cannot be named. */
export function notifyChange(message: string, change: OwnChange | null): void {
  if (change === null) {
    notifyDone(message);
    return;
  }
  const undo = (): void => void undoChange(change);
  const button = <Action label={text.common.undo} size="compact-sm" variant="light" onClick={undo} />;
  const content = (
    <Group justify="space-between" wrap="nowrap">
      {message}
      {button}
    </Group>
  );
  notifications.show({ id: change.key, message: content, color: "verdigris", autoClose: 8_000 });
}
