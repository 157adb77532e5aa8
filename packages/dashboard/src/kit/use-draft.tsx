/**
 * The draft of a form: the form begins with the kept content, the content is kept during typing, and a notification tells the
 * user who leaves the form with unsaved changes.
 */
import { Group, Text } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useCallback, useEffect, useRef, useState } from "react";
import { text } from "../texts/index.ts";
import { Action } from "./action.tsx";
import { type Draft, DraftStore } from "./drafts.ts";

export const drafts = new DraftStore(sessionStorage);

const writeAfterMs = 300;

interface DraftForm<T> {
  /** The name of the draft in the storage: "posts/new". */
  readonly id: string;
  /** The draft at the beginning of the form, from `drafts.read`. */
  readonly kept: Draft<T> | null;
  readonly content: T;
  /** Whether the content has changes to keep. */
  readonly isDirty: boolean;
}

interface DraftState {
  /** The time of the restored draft; null without a draft or changes, and after the user has confirmed the notice. */
  readonly restoredAt: string | null;
  /** Whether the content is too large to be kept. */
  readonly isTooLarge: boolean;
  /** Ends the notice of the restored draft. */
  readonly acknowledge: () => void;
  /** Writes the waiting content at once. Answers whether all changes are kept. */
  readonly flush: () => boolean;
  /** Removes the draft after a save, or when the user discards the changes. */
  readonly forget: () => void;
}

export function useDraft<T>(form: DraftForm<T>): DraftState {
  const { id, content, isDirty } = form;
  const [restoredAt, setRestoredAt] = useState(form.kept?.savedAt ?? null);
  const [isTooLarge, setTooLarge] = useState(false);
  const waiting = useRef(false);
  const latest = useRef(form);
  latest.current = form;
  // A forgotten draft must not come back with a late write.
  const isForgotten = useRef(false);

  const flush = useCallback((): boolean => {
    const { content, isDirty } = latest.current;
    waiting.current = false;
    if (isForgotten.current) return true;
    if (!isDirty) drafts.remove(id);
    const isKept = !isDirty || drafts.write(id, { savedAt: new Date().toISOString(), content });
    setTooLarge(!isKept);
    return isKept;
  }, [id]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: another content is the reason to write.
  useEffect(() => {
    if (isDirty) isForgotten.current = false;
    waiting.current = true;
    const timer = setTimeout(flush, writeAfterMs);
    return () => clearTimeout(timer);
  }, [content, isDirty, flush]);

  useEffect(() => {
    const flushWaiting = (): void => {
      if (waiting.current) flush();
    };
    window.addEventListener("pagehide", flushWaiting);
    return () => {
      window.removeEventListener("pagehide", flushWaiting);
      flushWaiting();
      if (drafts.has(id)) tellOfDraft(id, () => drafts.remove(id));
    };
  }, [id, flush]);

  // If no draft holds the changes, the browser asks before the user leaves the page.
  useEffect(() => {
    if (!isTooLarge) return undefined;
    const ask = (event: BeforeUnloadEvent): void => event.preventDefault();
    window.addEventListener("beforeunload", ask);
    return () => window.removeEventListener("beforeunload", ask);
  }, [isTooLarge]);

  const acknowledge = useCallback((): void => setRestoredAt(null), []);
  const forget = useCallback((): void => {
    isForgotten.current = true;
    waiting.current = false;
    setTooLarge(false);
    setRestoredAt(null);
    drafts.remove(id);
  }, [id]);
  return { restoredAt: isDirty ? restoredAt : null, isTooLarge, acknowledge, flush, forget };
}

function tellOfDraft(draftId: string, onDiscard: () => void): void {
  const id = `draft:${draftId}`;
  const discard = (): void => {
    onDiscard();
    notifications.hide(id);
  };
  notifications.show({
    id,
    autoClose: 8_000,
    message: (
      <Group justify="space-between" gap="xs">
        <Text size="sm">{text.editor.draftKept}</Text>
        <Action label={text.editor.discard} size="compact-xs" onClick={discard} />
      </Group>
    ),
  });
}
