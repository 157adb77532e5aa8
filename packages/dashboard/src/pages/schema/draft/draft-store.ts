/** The unapplied drafts, a draft for each collection, kept in this tab for a reload of the page. */
import type { CollectionDefinition } from "@socle/protocol";
import type { SchemaDraft } from "./draft.ts";

/** A definition as stored by the service, with the time of its last change. */
export interface StoredDefinition {
  readonly definition: CollectionDefinition;
  readonly updatedAt: string;
}

export interface KeptDraft {
  readonly draft: SchemaDraft;
  /** The stored definition at the start of the draft; null for a new collection. */
  readonly base: StoredDefinition | null;
  /** A text of the JSON tab that is not a definition yet. */
  readonly pending: string | null;
}

/** Counted up with each change of the shape of a draft: older drafts are dropped. */
const version = 4;
const prefix = `socle.schema.${version}.`;

export function keptDraft(key: string): KeptDraft | null {
  try {
    return JSON.parse(sessionStorage.getItem(prefix + key) ?? "null") as KeptDraft | null;
  } catch {
    return null;
  }
}

/** With a full or forbidden storage, the draft is lost at a reload; the form works on. */
export function keepDraft(key: string, kept: KeptDraft | null): void {
  try {
    if (kept === null) sessionStorage.removeItem(prefix + key);
    else sessionStorage.setItem(prefix + key, JSON.stringify(kept));
  } catch {
    // The form itself still has the draft.
  }
}
