/** An editor of JSON: CodeMirror with the theme of the dashboard and marks at the places of mistakes. Loaded on demand. */
import { closeBrackets, closeBracketsKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { json, jsonParseLinter } from "@codemirror/lang-json";
import {
  bracketMatching,
  ensureSyntaxTree,
  foldGutter,
  foldKeymap,
  HighlightStyle,
  indentOnInput,
  syntaxHighlighting,
} from "@codemirror/language";
import { type Diagnostic, linter, lintGutter, lintKeymap } from "@codemirror/lint";
import { EditorState } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useEffect, useRef } from "react";
import classes from "./json.module.css";
import type { Mistake, Path } from "./read-definition.ts";

interface JsonPaneProps {
  value: string;
  onChange: (value: string) => void;
  /** The mistakes of a text that is JSON. */
  lint: (value: string) => readonly Mistake[];
  label: string;
}

const colors = HighlightStyle.define([
  { tag: tags.propertyName, color: "var(--socle-accent-text)" },
  { tag: tags.string, color: "light-dark(#8a3b12, #f0b48a)" },
  { tag: [tags.number, tags.bool, tags.null], color: "light-dark(#5b3fb0, #b9a7ff)" },
]);

/** Where the value at a path stands in the text; the nearest value around it, where there is none. */
function rangeOf(state: EditorState, path: Path): { from: number; to: number } {
  let node = ensureSyntaxTree(state, state.doc.length, 200)?.topNode.firstChild ?? null;
  for (const step of path) {
    if (node === null) break;
    if (typeof step === "number") {
      const items = node.getChildren("Object").length > 0 || node.name === "Array" ? childrenOf(node) : [];
      const item = items[step];
      if (item === undefined) break;
      node = item;
      continue;
    }
    const property = node
      .getChildren("Property")
      .find((each) => state.sliceDoc(each.firstChild?.from, each.firstChild?.to) === JSON.stringify(step));
    if (property?.lastChild === null || property?.lastChild === undefined) break;
    node = property.lastChild;
  }
  if (node === null) return { from: 0, to: Math.min(1, state.doc.length) };
  // A mark over a whole object hides the text; its first character is enough.
  const isLong = node.name === "Object" || node.name === "Array";
  return { from: node.from, to: isLong ? node.from + 1 : node.to };
}

type SyntaxNode = NonNullable<ReturnType<typeof ensureSyntaxTree>>["topNode"];

/** The values of an array. */
function childrenOf(array: SyntaxNode): SyntaxNode[] {
  const values: SyntaxNode[] = [];
  for (let child = array.firstChild; child !== null; child = child.nextSibling)
    if (/^(?:Object|Array|String|Number|True|False|Null)$/.test(child.name)) values.push(child);
  return values;
}

function diagnose(view: EditorView, lint: JsonPaneProps["lint"]): Diagnostic[] {
  const syntax = jsonParseLinter()(view);
  if (syntax.length > 0) return syntax;
  return lint(view.state.doc.toString()).map(({ path, message }) => ({
    ...rangeOf(view.state, path),
    severity: "error",
    message,
  }));
}

export function JsonPane({ value, onChange, lint, label }: JsonPaneProps) {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const latest = useRef({ value, onChange, lint });
  latest.current = { value, onChange, lint };
  useEffect(() => {
    if (host.current === null) return undefined;
    const editor = new EditorView({
      parent: host.current,
      doc: latest.current.value,
      extensions: [
        lineNumbers(),
        foldGutter(),
        lintGutter(),
        history(),
        drawSelection(),
        indentOnInput(),
        bracketMatching(),
        closeBrackets(),
        highlightActiveLine(),
        json(),
        syntaxHighlighting(colors),
        linter((current) => diagnose(current, latest.current.lint), { delay: 250 }),
        // The page has a use of its own for Ctrl/⌘-Enter. Tab leaves the editor, as everywhere.
        keymap.of([
          ...closeBracketsKeymap,
          ...defaultKeymap.filter(({ key }) => key !== "Mod-Enter"),
          ...historyKeymap,
          ...foldKeymap,
          ...lintKeymap,
        ]),
        EditorState.tabSize.of(2),
        EditorView.lineWrapping,
        EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false" }),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) latest.current.onChange(update.state.doc.toString());
        }),
      ],
    });
    view.current = editor;
    return () => {
      view.current = null;
      editor.destroy();
    };
  }, [label]);
  useEffect(() => {
    const editor = view.current;
    if (editor === null || editor.state.doc.toString() === value) return;
    editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: value } });
  }, [value]);
  return <div ref={host} className={classes["editor"]} />;
}
