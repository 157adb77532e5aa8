/** The JSON editor as pages use it: a skeleton in its size until it is loaded. */
import { Skeleton } from "@mantine/core";
import { lazy, Suspense } from "react";
import { text } from "../../texts/index.ts";

const JsonFrame = lazy(async () => ({ default: (await import("./json-frame.tsx")).JsonFrame }));

export interface JsonEditorProps {
  /** JSON as text; it may be unfinished. */
  value: string;
  onChange?: (value: string) => void;
  readOnly?: boolean | undefined;
  /** The accessible name. */
  label: string;
  /** The complaint of somebody else: the service. */
  error?: string | undefined;
  autoFocus?: boolean | undefined;
  minHeight?: number;
  maxHeight?: number;
}

export function JsonEditor(props: JsonEditorProps) {
  const height = props.minHeight ?? 96;
  return (
    <Suspense fallback={<Skeleton height={height} role="status" aria-label={text.common.loading} />}>
      <JsonFrame {...props} />
    </Suspense>
  );
}
