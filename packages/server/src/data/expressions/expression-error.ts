/** Error in the text of an expression: its message names the position and the problem. */
import { AppError } from "../../base/kernel/index.ts";

export class ExpressionError extends AppError {
  /** In the text, from 0. */
  readonly offset: number;
  /** Without the position. */
  readonly problem: string;

  constructor(offset: number, problem: string) {
    super("bad_request", `at position ${offset + 1}: ${problem}`);
    this.offset = offset;
    this.problem = problem;
  }
}
