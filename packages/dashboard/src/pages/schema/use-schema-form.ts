/** The state of the form: the draft, the stored definition at its start, its problems, and its copy for a reload. */
import { type DOMAttributes, useCallback, useMemo, useReducer, useState } from "react";
import { drafts, useDraft } from "../../kit/use-draft.tsx";
import { changeOf, isTouched, type SchemaChange, type StoredDefinition } from "./draft/change.ts";
import { type Problem, problemsOf, type Surroundings } from "./draft/checks.ts";
import type { SchemaDraft } from "./draft/draft.ts";
import { type Edit, edited } from "./draft/edits.ts";

/** Counted up with each change of the shape of a draft: older drafts are not read any more. */
const version = 6;

interface Kept {
  readonly draft: SchemaDraft;
  /** The stored definition at the start of the draft; null for a new collection. */
  readonly base: StoredDefinition | null;
  /** A text of the JSON tab that is not a definition yet, and so not part of the draft. */
  readonly pending: string | null;
}

function isKept(content: unknown): content is Kept {
  return typeof content === "object" && content !== null && "draft" in content;
}

export interface SchemaForm extends Kept {
  /** The body of the change; null without a change, and for a new collection. */
  readonly change: SchemaChange | null;
  readonly isDirty: boolean;
  readonly problems: readonly Problem[];
  /** The problems without those of the text that the user is typing: a problem appears when its input was left, and goes at once. */
  readonly shown: readonly Problem[];
  /** Handlers of the element around the inputs. */
  readonly inputs: Pick<DOMAttributes<HTMLElement>, "onInput" | "onFocus" | "onBlur">;
  /** Shows all problems. */
  settle(): void;
  /** Whether the draft comes from before a reload, and the user has not yet confirmed the notice. */
  readonly wasRestored: boolean;
  setPending(typed: string | null): void;
  apply(edit: Edit): void;
  /** Starts again with a different draft and a different stored definition. */
  reset(draft: SchemaDraft, base: StoredDefinition | null): void;
  /** Deletes the copy for a reload, before the user leaves the page. */
  forget(): void;
  acknowledge(): void;
}

function useSettled(problems: readonly Problem[]): Pick<SchemaForm, "shown" | "inputs" | "settle"> {
  /** The problems at the first key in an input; null while the user types nothing. */
  const [before, setBefore] = useState<readonly Problem[] | null>(null);
  const settle = (): void => setBefore(null);
  const shown = useMemo(
    () => problems.filter(({ key, part }) => before?.some((each) => each.key === key && each.part === part) ?? true),
    [problems, before],
  );
  const typed = ({ target }: { target: EventTarget }): void => {
    const isText =
      target instanceof HTMLTextAreaElement || (target instanceof HTMLInputElement && target.type === "text");
    if (isText) setBefore((known) => known ?? problems);
  };
  return { shown, settle, inputs: { onInput: typed, onFocus: settle, onBlur: settle } };
}

export function useSchemaForm(options: {
  /** The name of the draft in the storage. */
  storageKey: string;
  first: SchemaDraft;
  base: StoredDefinition | null;
  surroundings: Surroundings;
}): SchemaForm {
  const { surroundings } = options;
  const id = `schema.${version}:${options.storageKey}`;
  const [kept] = useState(() => drafts.read(id, isKept));
  const [first] = useState(options.first);
  const [draft, apply] = useReducer(edited, kept?.content.draft ?? first);
  const [base, setBase] = useState(kept === null ? options.base : kept.content.base);
  const [pending, setPending] = useState(kept?.content.pending ?? null);
  const problems = useMemo(() => problemsOf(draft, surroundings), [draft, surroundings]);
  const settled = useSettled(problems);
  const change = useMemo(() => (base === null ? null : changeOf(draft, base.definition)), [draft, base]);
  const isChanged = base === null ? isTouched(draft, first) : change !== null || problems.length > 0;
  const isDirty = isChanged || pending !== null;
  const content = useMemo(() => ({ draft, base, pending }), [draft, base, pending]);
  const { restoredAt, acknowledge, forget } = useDraft({ id, kept, content, isDirty });
  const reset = useCallback(
    (next: SchemaDraft, nextBase: StoredDefinition | null): void => {
      apply({ edit: "replace", draft: next });
      setBase(nextBase);
      setPending(null);
      acknowledge();
    },
    [acknowledge],
  );
  const wasRestored = restoredAt !== null;
  return {
    ...content,
    ...settled,
    change,
    isDirty,
    problems,
    wasRestored,
    setPending,
    apply,
    reset,
    forget,
    acknowledge,
  };
}
