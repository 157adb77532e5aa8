/** CodeMirror with the JSON language. It is a module of its own because it is heavy: `json-editor.tsx` loads it. */
import { closeBrackets, closeBracketsKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { json } from "@codemirror/lang-json";
import { bracketMatching, foldGutter, foldKeymap, HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { type Diagnostic, linter } from "@codemirror/lint";
import { EditorState, type Extension } from "@codemirror/state";
import { drawSelection, EditorView, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useEffect, useRef } from "react";
import { text } from "../../texts/index.ts";
import classes from "./json-editor.module.css";
import { jsonErrorPlace } from "./place.ts";

interface CodeAreaProps {
  value: string;
  onChange: ((value: string) => void) | undefined;
  readOnly: boolean;
  label: string;
  autoFocus: boolean;
  minHeight: number;
  maxHeight: number;
}

/** The colours stand in the CSS module, for both schemes. */
const highlight = HighlightStyle.define([
  { tag: tags.propertyName, color: "var(--json-name)" },
  { tag: tags.string, color: "var(--json-string)" },
  { tag: tags.number, color: "var(--json-number)" },
  { tag: [tags.bool, tags.null], color: "var(--json-word)" },
]);

function problems(view: EditorView): readonly Diagnostic[] {
  const place = jsonErrorPlace(view.state.doc.toString());
  if (place === null) return [];
  const to = Math.min(place.offset + 1, view.state.doc.length);
  return [{ from: place.offset, to, severity: "error", message: text.editor.problems.notJson }];
}

function extensions({ readOnly, label }: CodeAreaProps, onText: (value: string) => void): Extension[] {
  const shared = [
    lineNumbers(),
    foldGutter(),
    json(),
    syntaxHighlighting(highlight),
    bracketMatching(),
    drawSelection(),
    EditorView.lineWrapping,
    EditorView.contentAttributes.of({ "aria-label": label, "aria-multiline": "true" }),
  ];
  // A text for reading still takes the focus, so that the keyboard can scroll and copy it.
  if (readOnly) return [...shared, EditorState.readOnly.of(true), keymap.of([...defaultKeymap, ...foldKeymap])];
  return [
    ...shared,
    history(),
    closeBrackets(),
    linter(problems, { delay: 300 }),
    // Tab stays with the page: it leads to the next control. Mod-Enter is the form's.
    keymap.of([
      { key: "Mod-Enter", run: () => true },
      ...closeBracketsKeymap,
      ...defaultKeymap,
      ...historyKeymap,
      ...foldKeymap,
    ]),
    EditorView.updateListener.of((update) => {
      if (update.docChanged) onText(update.state.doc.toString());
    }),
  ];
}

export function CodeArea(props: CodeAreaProps) {
  const { value, readOnly, label, minHeight, maxHeight } = props;
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const latest = useRef(props);
  latest.current = props;

  // biome-ignore lint/correctness/useExhaustiveDependencies: the effect below brings a new value.
  useEffect(() => {
    if (place.current === null) return undefined;
    const made = new EditorView({
      parent: place.current,
      doc: latest.current.value,
      extensions: extensions(latest.current, (next) => latest.current.onChange?.(next)),
    });
    view.current = made;
    if (latest.current.autoFocus) made.focus();
    return () => {
      made.destroy();
      view.current = null;
    };
  }, [readOnly, label]);

  useEffect(() => {
    const editor = view.current;
    if (editor === null || editor.state.doc.toString() === value) return;
    editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: value } });
  }, [value]);

  return <div ref={place} className={classes["area"]} style={{ minHeight, maxHeight }} />;
}
