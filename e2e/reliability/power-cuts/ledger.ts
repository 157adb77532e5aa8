/**
 * The ledger of a power-cut run holds all that the clients have done and heard: a history of steps for each object,
 * each step with the entries of the tracer's log at the request and at the acknowledgement. The ledger gives the
 * possible states after a cut.
 */
import type { Control } from "../tracer/control.ts";

interface Step {
  /** Entries of the log at the request: an earlier cut has nothing of the step. */
  readonly asked: number;
  /** Entries of the log at the arrival of the answer: a cut from here on must have the step. Infinity without an answer. */
  readonly acknowledged: number;
  /** The content after the step; null for no content. */
  readonly state: string | null;
}

export type Kind = "items" | "tasks" | "file" | "session" | "user" | "definition" | "backup";

export interface History {
  readonly kind: Kind;
  readonly id: string;
  readonly steps: Step[];
}

/** A client makes the steps of a history in order. */
export class Ledger {
  readonly histories: History[] = [];
  readonly #control: Control;

  constructor(control: Control) {
    this.#control = control;
  }

  /** Entries of the log now. */
  now(): number {
    return this.#control.entries;
  }

  /** Begins a history that a step has just created; answers the history. */
  begin(kind: Kind, id: string, step: { asked: number; state: string }): History {
    const history: History = { kind, id, steps: [] };
    this.histories.push(history);
    history.steps.push({ ...step, acknowledged: this.now() });
    return history;
  }

  /** Makes a step and notes the step after the acknowledgement. */
  async step(history: History, state: string | null, work: () => Promise<void>): Promise<void> {
    const asked = this.now();
    await work();
    history.steps.push({ asked, acknowledged: this.now(), state });
  }

  of(kind: Kind): History[] {
    return this.histories.filter((history) => history.kind === kind);
  }
}

/** The possible numbers of steps of a history after a cut: the acknowledged steps, and perhaps one requested step. */
export function possibleSteps({ steps }: History, cut: number): number[] {
  const sure = steps.filter(({ acknowledged }) => acknowledged <= cut).length;
  const next = steps[sure];
  return next !== undefined && next.asked < cut ? [sure, sure + 1] : [sure];
}

export function stateAfter({ steps }: History, count: number): string | null {
  return count === 0 ? null : (steps[count - 1]?.state ?? null);
}

/** The ledger, and the entry of the log at which the cut happened. */
export interface Expected {
  readonly ledger: Ledger;
  readonly cut: number;
}

/** The states of a history that are right after the cut. */
export function possibleStates({ cut }: Expected, history: History): (string | null)[] {
  return possibleSteps(history, cut).map((count) => stateAfter(history, count));
}

/** The fault of a content that is not a possible state. */
export function lossOf(found: string | null): string {
  return found === null ? "is missing" : `is there, and not as it should be: ${found.slice(0, 80)}`;
}
