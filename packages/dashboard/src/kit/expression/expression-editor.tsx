/** The editor of expressions as pages use it: an outline in its size until it is loaded. */
import { lazy, Suspense } from "react";
import classes from "./expression-area.module.css";
import type { Schema } from "./schema.ts";

const ExpressionArea = lazy(async () => ({ default: (await import("./expression-area.tsx")).ExpressionArea }));

export interface ExpressionEditorProps {
  collection: string;
  value: string;
  schema: Schema;
  /** The accessible name. */
  label: string;
  placeholder: string;
  /** From 0, of the expression that the service refused. */
  errorAt: number | null;
  errorId: string | undefined;
  /** Whether a long expression is shown on several lines. */
  isWrapped?: boolean;
  autoFocus?: boolean;
  onChange: (value: string) => void;
  /** Enter. */
  onApply?: (value: string) => void;
  /** Escape. */
  onCancel?: () => void;
}

export function ExpressionEditor(props: ExpressionEditorProps) {
  return (
    <Suspense fallback={<div className={classes["outline"]} />}>
      <ExpressionArea {...props} />
    </Suspense>
  );
}
