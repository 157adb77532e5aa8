/** The state of the form: the draft, the stored definition at its start, its problems, and its copy for a reload. */
import { useCallback, useEffect, useMemo, useReducer, useRef, useState } from "react";
import { changeOf, isTouched, type SchemaChange } from "./draft/change.ts";
import { type Problem, problemsOf, type Surroundings } from "./draft/checks.ts";
import type { SchemaDraft } from "./draft/draft.ts";
import { keepDraft, keptDraft, type StoredDefinition } from "./draft/draft-store.ts";
import { type Edit, edited } from "./draft/edits.ts";

export interface DraftForm {
  readonly draft: SchemaDraft;
  readonly base: StoredDefinition | null;
  /** The body of the change; null without a change, and for a new collection. */
  readonly change: SchemaChange | null;
  readonly isDirty: boolean;
  readonly problems: readonly Problem[];
  /** Whether the draft comes from before a reload, and the user has not yet confirmed the notice. */
  readonly wasRestored: boolean;
  /** A text of the JSON tab that is not a definition yet, and so not part of the draft. */
  readonly pending: string | null;
  setPending(typed: string | null): void;
  apply(edit: Edit): void;
  /** Starts again with a different draft and a different stored definition. */
  reset(draft: SchemaDraft, base: StoredDefinition | null): void;
  /** Deletes the copy for a reload, before the user leaves the page. */
  forget(): void;
  acknowledge(): void;
}

export function useDraft(options: {
  /** The storage key of the copy for a reload. */
  storageKey: string;
  first: SchemaDraft;
  base: StoredDefinition | null;
  surroundings: Surroundings;
}): DraftForm {
  const { storageKey, surroundings } = options;
  const [kept] = useState(() => keptDraft(storageKey));
  const [first] = useState(options.first);
  const [draft, apply] = useReducer(edited, kept?.draft ?? first);
  const [base, setBase] = useState(kept === null ? options.base : kept.base);
  const [wasRestored, setRestored] = useState(kept !== null);
  const [pending, setPending] = useState(kept?.pending ?? null);
  const isForgotten = useRef(false);
  const problems = useMemo(() => problemsOf(draft, surroundings), [draft, surroundings]);
  const change = useMemo(() => (base === null ? null : changeOf(draft, base.definition)), [draft, base]);
  const isChanged = base === null ? isTouched(draft, first) : change !== null || problems.length > 0;
  const isDirty = isChanged || pending !== null;

  useEffect(() => {
    if (!isForgotten.current) keepDraft(storageKey, isDirty ? { draft, base, pending } : null);
  }, [storageKey, isDirty, draft, base, pending]);

  const reset = useCallback((next: SchemaDraft, nextBase: StoredDefinition | null): void => {
    apply({ edit: "replace", draft: next });
    setBase(nextBase);
    setPending(null);
    setRestored(false);
  }, []);
  const forget = useCallback((): void => {
    isForgotten.current = true;
    keepDraft(storageKey, null);
  }, [storageKey]);
  const acknowledge = useCallback((): void => setRestored(false), []);
  return {
    draft,
    base,
    change,
    isDirty,
    problems,
    wasRestored,
    pending,
    setPending,
    apply,
    reset,
    forget,
    acknowledge,
  };
}
