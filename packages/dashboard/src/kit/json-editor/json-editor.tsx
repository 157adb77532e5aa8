/** The JSON editors for pages: a skeleton of the same size until the editor is loaded. */
import { Skeleton } from "@mantine/core";
import { lazy, Suspense } from "react";
import { text } from "../../texts/index.ts";
import { RowsSkeleton } from "../states.tsx";
import type { CodeAreaProps, JsonEditorProps } from "./code-area.tsx";

const JsonFrame = lazy(async () => ({ default: (await import("./code-area.tsx")).JsonFrame }));
const CodeArea = lazy(async () => ({ default: (await import("./code-area.tsx")).CodeArea }));

/** The editor without a frame, in the full size of its place. */
export function JsonArea(props: CodeAreaProps) {
  return (
    <Suspense fallback={<RowsSkeleton rows={10} height={18} />}>
      <CodeArea {...props} />
    </Suspense>
  );
}

/** The editor in a frame, with the place of the first error and a button that formats. */
export function JsonEditor(props: JsonEditorProps) {
  const height = props.minHeight ?? 96;
  return (
    <Suspense fallback={<Skeleton height={height} role="status" aria-label={text.common.loading} />}>
      <JsonFrame {...props} />
    </Suspense>
  );
}
