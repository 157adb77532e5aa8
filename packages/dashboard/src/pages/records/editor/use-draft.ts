/** Keeps the edits of a record as a draft during typing, and offers an earlier draft. */
import { useCallback, useEffect, useRef, useState } from "react";
import { type Draft, DraftStore } from "./drafts.ts";
import type { Edits } from "./edits.ts";

export const drafts = new DraftStore(sessionStorage);

const writeAfterMs = 300;

export interface DraftState {
  /** An earlier draft that the form has not taken yet. */
  readonly offer: Draft | null;
  /** Whether the edits are too large to be kept. */
  readonly isTooLarge: boolean;
  /** Answers the offered edits; from then on the edits belong to the form. */
  readonly takeOffer: () => Edits;
  /** Writes the waiting edits at once. Answers whether all edits are kept. */
  readonly flush: () => boolean;
  /** Removes the draft after a save, or when the user discards the changes. */
  readonly forget: () => void;
}

export function useDraft(place: { collection: string; recordId: string }, edits: Edits, isDirty: boolean): DraftState {
  const { collection, recordId } = place;
  const [offer, setOffer] = useState<Draft | null>(() => drafts.read(collection, recordId));
  const [isTooLarge, setTooLarge] = useState(false);
  const waiting = useRef(false);
  const latest = useRef({ edits, isDirty, offer });
  latest.current = { edits, isDirty, offer };
  // Discarded edits must not come back with a late write.
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
    // The offered draft stays part of the new draft: typed edits replace its edits field by field.
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

  // If no draft holds the changes, the browser asks before the user leaves the page.
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
