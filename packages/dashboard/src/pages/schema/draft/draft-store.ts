/** The drafts that were not applied, one a collection, kept for a reload of the page in this tab. */
import type { CollectionDefinition } from "@socle/protocol";
import type { SchemaDraft } from "./draft.ts";

/** A definition as the service stores it, with the time of its last change. */
export interface StoredDefinition {
  readonly definition: CollectionDefinition;
  readonly updatedAt: string;
}

export interface KeptDraft {
  readonly draft: SchemaDraft;
  /** The definition that the draft began with; null for a new collection. */
  readonly base: StoredDefinition | null;
  /** A text of the JSON tab that is no definition yet. */
  readonly pending: string | null;
}

/** Changes with the shape of a draft: older ones are forgotten. */
const version = 4;
const prefix = `socle.schema.${version}.`;

export function keptDraft(key: string): KeptDraft | null {
  try {
    return JSON.parse(sessionStorage.getItem(prefix + key) ?? "null") as KeptDraft | null;
  } catch {
    return null;
  }
}

/** A full or forbidden storage costs the draft's second life, and nothing else. */
export function keepDraft(key: string, kept: KeptDraft | null): void {
  try {
    if (kept === null) sessionStorage.removeItem(prefix + key);
    else sessionStorage.setItem(prefix + key, JSON.stringify(kept));
  } catch {
    // The form itself still has it.
  }
}
