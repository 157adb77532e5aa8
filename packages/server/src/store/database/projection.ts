/**
 * The projection: the state in memory that follows the data, such as definitions, sessions and counts. A transaction notes
 * its meaning for that state (`Transactor.note`), and the projection applies the notes in the moment of the commit, in
 * commit order. Notes are plain data that JSON carries, so a second projection with the same notes has the same state.
 */

/** A note: the meaning of a commit for one part of the state. `data` is plain data. */
export interface Note {
  readonly kind: string;
  readonly data: unknown;
}

/** A kind of note, with the type of its data. */
export interface NoteKind<T> {
  readonly kind: string;
  readonly of: (data: T) => Note;
}

/** @param kind a name of the form `part.happened`, such as `sessions.ended`. */
export function noteKind<T>(kind: string): NoteKind<T> {
  return { kind, of: (data) => ({ kind, data }) };
}

/** The data of the newest note of a kind; null without such a note. */
export function newestNote<T>(notes: readonly Note[], { kind }: NoteKind<T>): T | null {
  for (let at = notes.length - 1; at >= 0; at--) {
    const note = notes[at];
    // The kind of a note determines the type of its data.
    if (note?.kind === kind) return note.data as T;
  }
  return null;
}

/** Applies a note to one part of the state. A part that throws ends the service: its state and the data differ. */
type Apply = (data: never) => void;

export class Projection {
  readonly #parts = new Map<string, Apply[]>();

  /** Calls `apply` with each note of a kind. Several parts may follow the same kind. */
  on<T>({ kind }: NoteKind<T>, apply: (data: T) => void): void {
    const parts = this.#parts.get(kind);
    if (parts === undefined) this.#parts.set(kind, [apply]);
    else parts.push(apply);
  }

  /** Applies the notes of a commit, in their order. */
  apply(notes: readonly Note[]): void {
    for (const { kind, data } of notes) for (const apply of this.#parts.get(kind) ?? []) apply(data as never);
  }
}
