/** Verdicts: the listeners who fulfil conditions on the states of a record, asked on the event loop, or learned from a reader thread. */
import type { Expression } from "../../data/expressions/index.ts";
import type { Condition, Names, OwnedState, Question, Readers, ThreadUse } from "./reader-table.ts";

/** Finds the listeners who fulfil a condition on a state. @throws TooSlow. */
export type Answer = (condition: Condition, state: OwnedState) => Names;

export class Verdicts {
  readonly #readers: Readers;
  readonly #among: Question["among"];
  readonly #ms: number;
  readonly #known = new Map<Expression, Map<OwnedState, Names>>();

  /** @param options `ms` that an answer may take on the event loop. */
  constructor(readers: Readers, options: { among: Question["among"]; ms: number }) {
    this.#readers = readers;
    this.#among = options.among;
    this.#ms = options.ms;
  }

  readonly of: Answer = (condition, state) => {
    const known = this.#known.get(condition.expression)?.get(state);
    if (known !== undefined) return known;
    const names = this.#readers.ask({ condition, state, among: this.#among }, this.#ms);
    this.#keep(condition, state, names);
    return names;
  };

  /** Learns from a thread the answers that `decide` asks for. @throws as `Readers.askOnThread`. */
  async learn(decide: (answer: Answer) => unknown, use: ThreadUse): Promise<void> {
    const questions: Question[] = [];
    decide((condition, state) => {
      questions.push({ condition, state, among: this.#among });
      return new Set();
    });
    if (questions.length === 0) return;
    const answers = await this.#readers.askOnThread(questions, use);
    for (const [place, { condition, state }] of questions.entries())
      this.#keep(condition, state, answers[place] ?? new Set());
  }

  forget(): void {
    this.#known.clear();
  }

  #keep({ expression }: Condition, state: OwnedState, names: Names): void {
    const byState = this.#known.get(expression) ?? new Map<OwnedState, Names>();
    this.#known.set(expression, byState.set(state, names));
  }
}
