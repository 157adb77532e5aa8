/**
 * The ledger of a power-cut run tells all that its clients have done and heard: for each thing the steps of its history, each with the
 * entries of the tracer's log between which it was asked for and acknowledged. From it follows what may be found after a cut.
 */
import type { Control } from "../tracer/control.ts";

interface Step {
  /** Entries of the log when it was asked for: a cut before has nothing of it. */
  readonly asked: number;
  /** Entries of the log when its answer had arrived: a cut from there on must have it. Infinity without an answer. */
  readonly acknowledged: number;
  /** The content that is there after it; null for nothing. */
  readonly state: string | null;
}

export type Kind = "items" | "tasks" | "file" | "session" | "user" | "definition" | "backup";

export interface History {
  readonly kind: Kind;
  readonly id: string;
  readonly steps: Step[];
}

/** A client makes one step of a history after the other. */
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

  /** Begins a history that a step has just created; answers it. */
  begin(kind: Kind, id: string, step: { asked: number; state: string }): History {
    const history: History = { kind, id, steps: [] };
    this.histories.push(history);
    history.steps.push({ ...step, acknowledged: this.now() });
    return history;
  }

  /** Makes a step and notes it once it is acknowledged. */
  async step(history: History, state: string | null, work: () => Promise<void>): Promise<void> {
    const asked = this.now();
    await work();
    history.steps.push({ asked, acknowledged: this.now(), state });
  }

  of(kind: Kind): History[] {
    return this.histories.filter((history) => history.kind === kind);
  }
}

/** How many steps of a history may be made after a cut: those that were acknowledged, and one that was asked for. */
export function possibleSteps({ steps }: History, cut: number): number[] {
  const sure = steps.filter(({ acknowledged }) => acknowledged <= cut).length;
  const next = steps[sure];
  return next !== undefined && next.asked < cut ? [sure, sure + 1] : [sure];
}

export function stateAfter({ steps }: History, count: number): string | null {
  return count === 0 ? null : (steps[count - 1]?.state ?? null);
}
