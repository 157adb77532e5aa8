/** The editor of expressions for pages: an outline of the same size until the editor is loaded. */
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
  /** The position of the error in the refused expression, from 0. */
  errorAt: number | null;
  errorId: string | undefined;
  /** Whether a long expression is shown on several lines. */
  isWrapped?: boolean;
  autoFocus?: boolean;
  onChange: (value: string) => void;
  /** Called on Enter. */
  onApply?: (value: string) => void;
  /** Called on Escape. */
  onCancel?: () => void;
}

export function ExpressionEditor(props: ExpressionEditorProps) {
  return (
    <Suspense fallback={<div className={classes["outline"]} />}>
      <ExpressionArea {...props} />
    </Suspense>
  );
}
