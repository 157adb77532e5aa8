/** The tree of the spans of a trace: a bounded number of spans, each below the span of the cause. */
import type { TraceSpan } from "@socle/protocol";
import { toTimestamp } from "../../base/kernel/index.ts";

/** A span with times in milliseconds since 1970. */
export interface Span extends Omit<TraceSpan, "startedAt" | "endedAt" | "children"> {
  startedAt: number;
  endedAt: number | null;
}

interface Node {
  readonly span: Span;
  readonly children: Node[];
}

export class SpanTree {
  /** The spans that the tree may have now. */
  maxSpans: number;
  readonly #nodes = new Map<string, Node>();
  readonly #root: Node;
  /** Whether a span found no place. */
  isFull = false;

  constructor(root: Span, maxSpans: number) {
    this.maxSpans = maxSpans;
    this.#root = { span: root, children: [] };
    this.#nodes.set(root.id, this.#root);
  }

  get root(): Span {
    return this.#root.span;
  }

  find(id: string): Span | null {
    return this.#nodes.get(id)?.span ?? null;
  }

  /**
   * Adds a span below the first of some spans that is in the tree, or below the root. Answers the span of this id, which may have been there; null for
   * a full tree.
   */
  add(span: Span, parents: readonly string[]): Span | null {
    const known = this.find(span.id);
    if (known !== null) return known;
    if (this.#nodes.size >= this.maxSpans) {
      this.isFull = true;
      return null;
    }
    const node = { span, children: [] };
    const parent = parents.map((id) => this.#nodes.get(id)).find((each) => each !== undefined) ?? this.#root;
    parent.children.push(node);
    this.#nodes.set(span.id, node);
    return span;
  }

  toWire(): TraceSpan {
    return wireOf(this.#root);
  }
}

function wireOf({ span, children }: Node): TraceSpan {
  const { startedAt, endedAt, ...others } = span;
  return {
    ...others,
    startedAt: toTimestamp(startedAt),
    endedAt: endedAt === null ? null : toTimestamp(endedAt),
    children: children.toSorted((a, b) => a.span.startedAt - b.span.startedAt).map(wireOf),
  };
}
