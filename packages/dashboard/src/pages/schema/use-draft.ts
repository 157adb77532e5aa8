/** The state of the form: the draft, the stored definition that it began with, its problems, and its copy for a reload. */
import { useCallback, useEffect, useMemo, useReducer, useRef, useState } from "react";
import { changeOf, isTouched, type SchemaChange } from "./draft/change.ts";
import { type Problem, problemsOf, type Surroundings } from "./draft/checks.ts";
import type { SchemaDraft } from "./draft/draft.ts";
import { keepDraft, keptDraft, type StoredDefinition } from "./draft/draft-store.ts";
import { type Edit, edited } from "./draft/edits.ts";

export interface DraftForm {
  readonly draft: SchemaDraft;
  readonly base: StoredDefinition | null;
  /** The body of the change; null while there is none, and for a new collection. */
  readonly change: SchemaChange | null;
  readonly isDirty: boolean;
  readonly problems: readonly Problem[];
  /** Whether the draft comes from before a reload, and nobody has said that this is known. */
  readonly wasRestored: boolean;
  /** A text of the JSON tab that is no definition yet, and so is not in the draft. */
  readonly pending: string | null;
  setPending(typed: string | null): void;
  apply(edit: Edit): void;
  /** Begins anew with another draft, another stored definition. */
  reset(draft: SchemaDraft, base: StoredDefinition | null): void;
  /** Forgets the copy for a reload, before the page is left. */
  forget(): void;
  acknowledge(): void;
}

export function useDraft(options: {
  /** Names the copy for a reload. */
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
