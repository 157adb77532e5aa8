/** Keeps the edits of one record as a draft while they are typed, and offers the draft of an earlier time. */
import { useCallback, useEffect, useRef, useState } from "react";
import { type Draft, DraftStore } from "./drafts.ts";
import type { Edits } from "./edits.ts";

export const drafts = new DraftStore(sessionStorage);

const writeAfterMs = 300;

export interface DraftState {
  /** A draft of an earlier time that is not taken up yet. */
  readonly offer: Draft | null;
  /** Whether the edits are too large to be kept. */
  readonly isTooLarge: boolean;
  /** Answers the offered edits, which are the form's from then on. */
  readonly takeOffer: () => Edits;
  /** Writes at once what waits. Answers whether everything is kept. */
  readonly flush: () => boolean;
  /** After a save, and when the changes are given up. */
  readonly forget: () => void;
}

export function useDraft(place: { collection: string; recordId: string }, edits: Edits, isDirty: boolean): DraftState {
  const { collection, recordId } = place;
  const [offer, setOffer] = useState<Draft | null>(() => drafts.read(collection, recordId));
  const [isTooLarge, setTooLarge] = useState(false);
  const waiting = useRef(false);
  const latest = useRef({ edits, isDirty, offer });
  latest.current = { edits, isDirty, offer };
  // Edits that were given up must not come back with the last write.
  const isForgotten = useRef(false);

  const flush = useCallback((): boolean => {
    const { edits: current, isDirty: hasChanges, offer: offered } = latest.current;
    waiting.current = false;
    if (isForgotten.current) return true;
    if (!hasChanges) {
      if (offered === null) drafts.remove(collection, recordId);
      setTooLarge(false);
      return true;
    }
    // A draft that is still offered stays in it: what is typed now covers it field by field.
    const all = { ...offered?.edits, ...current };
    const isKept = drafts.write(collection, recordId, { savedAt: new Date().toISOString(), edits: all });
    setTooLarge(!isKept);
    return isKept;
  }, [collection, recordId]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: other edits are the reason to write.
  useEffect(() => {
    if (isDirty) isForgotten.current = false;
    waiting.current = true;
    const timer = setTimeout(flush, writeAfterMs);
    return () => clearTimeout(timer);
  }, [edits, isDirty, flush]);

  useEffect(() => {
    const flushWaiting = (): void => {
      if (waiting.current) flush();
    };
    window.addEventListener("pagehide", flushWaiting);
    return () => {
      window.removeEventListener("pagehide", flushWaiting);
      flushWaiting();
    };
  }, [flush]);

  // The browser asks before it leaves changes that no draft holds.
  useEffect(() => {
    if (!isTooLarge) return undefined;
    const ask = (event: BeforeUnloadEvent): void => event.preventDefault();
    window.addEventListener("beforeunload", ask);
    return () => window.removeEventListener("beforeunload", ask);
  }, [isTooLarge]);

  const forget = useCallback((): void => {
    isForgotten.current = true;
    waiting.current = false;
    setTooLarge(false);
    setOffer(null);
    drafts.remove(collection, recordId);
  }, [collection, recordId]);

  return {
    offer,
    isTooLarge,
    flush,
    forget,
    takeOffer: () => {
      setOffer(null);
      return offer?.edits ?? {};
    },
  };
}
