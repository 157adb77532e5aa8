/** Rendered Markdown for pages: a skeleton until the reader of Markdown is loaded. */
import { Skeleton } from "@mantine/core";
import { lazy, Suspense } from "react";
import { text } from "../../texts/index.ts";
import type { RenderedProps } from "./rendered.tsx";

const Rendered = lazy(async () => ({ default: (await import("./rendered.tsx")).Rendered }));

export function Markdown(props: RenderedProps) {
  return (
    <Suspense fallback={<Skeleton height={96} role="status" aria-busy aria-label={text.common.loading} />}>
      <Rendered {...props} />
    </Suspense>
  );
}
