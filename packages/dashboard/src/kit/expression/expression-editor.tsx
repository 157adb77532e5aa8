/** The editor of expressions for pages: an outline of the same size until the editor is loaded. */
import { lazy, Suspense } from "react";
import classes from "./expression-area.module.css";
import type { ExpressionEditorProps } from "./expression-area.tsx";

const ExpressionArea = lazy(async () => ({ default: (await import("./expression-area.tsx")).ExpressionArea }));

export function ExpressionEditor(props: ExpressionEditorProps) {
  return (
    <Suspense fallback={<div className={classes["outline"]} />}>
      <ExpressionArea {...props} />
    </Suspense>
  );
}
