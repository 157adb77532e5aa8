/** The marks in the JSON editor: at the first error of the text, or at the mistakes in its meaning. */
import { ensureSyntaxTree } from "@codemirror/language";
import type { Diagnostic } from "@codemirror/lint";
import type { EditorState } from "@codemirror/state";
import type { EditorView } from "@codemirror/view";
import { text } from "../../texts/index.ts";
import { jsonErrorPlace, type Mistake, type Path } from "./place.ts";

type SyntaxNode = NonNullable<ReturnType<typeof ensureSyntaxTree>>["topNode"];

export function diagnose(view: EditorView, lint: ((value: string) => readonly Mistake[]) | undefined): Diagnostic[] {
  const { state } = view;
  const value = state.doc.toString();
  const place = jsonErrorPlace(value);
  if (place !== null) {
    const to = Math.min(place.offset + 1, value.length);
    return [{ from: place.offset, to, severity: "error", message: text.editor.problems.notJson }];
  }
  if (value.trim() === "" || lint === undefined) return [];
  return lint(value).map(({ path, message }) => ({ ...rangeOf(state, path), severity: "error", message }));
}

/** The range of the value at a path in the text; for an absent value, the nearest value around the path. */
function rangeOf(state: EditorState, path: Path): { from: number; to: number } {
  let node = ensureSyntaxTree(state, state.doc.length, 200)?.topNode.firstChild ?? null;
  for (const step of path) {
    const next: SyntaxNode | null | undefined =
      node === null || typeof step === "number" ? itemOf(node, step) : propertyOf(state, node, step);
    if (next === null || next === undefined) break;
    node = next;
  }
  if (node === null) return { from: 0, to: Math.min(1, state.doc.length) };
  // A mark over a whole object hides the text: the first character is enough.
  const isLong = node.name === "Object" || node.name === "Array";
  return { from: node.from, to: isLong ? node.from + 1 : node.to };
}

function propertyOf(state: EditorState, node: SyntaxNode, name: string): SyntaxNode | null | undefined {
  const isIt = ({ firstChild }: SyntaxNode): boolean =>
    state.sliceDoc(firstChild?.from, firstChild?.to) === JSON.stringify(name);
  return node.getChildren("Property").find(isIt)?.lastChild;
}

function itemOf(node: SyntaxNode | null, at: number | string): SyntaxNode | undefined {
  const values: SyntaxNode[] = [];
  if (node?.name !== "Array") return undefined;
  for (let child = node.firstChild; child !== null; child = child.nextSibling)
    if (/^(?:Object|Array|String|Number|True|False|Null)$/.test(child.name)) values.push(child);
  return values[Number(at)];
}
