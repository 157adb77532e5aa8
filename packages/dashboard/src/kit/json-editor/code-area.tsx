/**
 * CodeMirror for JSON: colours, folding, and marks at mistakes. A text past `largeFrom` has no colours, folding or marks, and is reported a
 * moment after the last key: reading and checking five megabytes at each key would take seconds. `json-editor.tsx` loads this heavy module.
 */
import { closeBrackets, closeBracketsKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { json } from "@codemirror/lang-json";
import { bracketMatching, foldGutter, foldKeymap, HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { linter, lintKeymap } from "@codemirror/lint";
import { EditorState, type Extension } from "@codemirror/state";
import { drawSelection, EditorView, highlightSpecialChars, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { type CSSProperties, useEffect, useRef } from "react";
import { flushSync } from "react-dom";
import { diagnose } from "./diagnose.ts";
import classes from "./json-editor.module.css";
import { isLarge } from "./large.ts";
import type { Mistake } from "./place.ts";

export interface CodeAreaProps {
  value: string;
  onChange?: ((value: string) => void) | undefined;
  readOnly?: boolean | undefined;
  label: string;
  autoFocus?: boolean | undefined;
  /** The mistakes in the meaning of a text that is JSON. */
  lint?: ((value: string) => readonly Mistake[]) | undefined;
  style?: CSSProperties;
}

/** The colours stand in the CSS module, for both schemes. */
const highlight = HighlightStyle.define([
  { tag: tags.propertyName, color: "var(--json-name)" },
  { tag: tags.string, color: "var(--json-string)" },
  { tag: tags.number, color: "var(--json-number)" },
  { tag: [tags.bool, tags.null], color: "var(--json-word)" },
]);

const settleMs = 400;

/** Reports the typed text: at once, or for a large text after a pause, and before a key that saves or leaves. */
function telling(tell: (text: string) => void, isLate: boolean): Extension[] {
  if (!isLate)
    return [EditorView.updateListener.of(({ docChanged, state }) => docChanged && tell(state.doc.toString()))];
  let timer: ReturnType<typeof setTimeout> | undefined;
  const tellNow = ({ state }: EditorView): void => {
    if (timer === undefined) return;
    clearTimeout(timer);
    timer = undefined;
    flushSync(() => tell(state.doc.toString()));
  };
  return [
    EditorView.updateListener.of(({ docChanged, view }) => {
      if (!docChanged) return;
      clearTimeout(timer);
      timer = setTimeout(() => tellNow(view), settleMs);
    }),
    EditorView.domEventHandlers({
      blur: (_, view) => tellNow(view),
      keydown: ({ key, ctrlKey, metaKey }, view) => {
        if (ctrlKey || metaKey || key === "Escape") tellNow(view);
      },
    }),
  ];
}

function extensions(props: CodeAreaProps, latest: { readonly current: CodeAreaProps }): Extension[] {
  const { value, readOnly = false, label } = props;
  const isPlain = isLarge(value);
  const shared = [
    lineNumbers(),
    drawSelection(),
    highlightSpecialChars(),
    EditorState.tabSize.of(2),
    EditorView.contentAttributes.of({ "aria-label": label, "aria-multiline": "true", spellcheck: "false" }),
    ...(isPlain
      ? []
      : [foldGutter(), json(), syntaxHighlighting(highlight), bracketMatching(), EditorView.lineWrapping]),
  ];
  // A read-only text takes the focus, so that a person can scroll and copy the text with the keyboard.
  if (readOnly) return [...shared, EditorState.readOnly.of(true), keymap.of([...defaultKeymap, ...foldKeymap])];
  return [
    ...shared,
    history(),
    closeBrackets(),
    ...(isPlain ? [] : [linter((view) => diagnose(view, latest.current.lint), { delay: 300 })]),
    // Tab leads to the next control of the page; Mod-Enter belongs to the form around.
    keymap.of([
      ...closeBracketsKeymap,
      ...defaultKeymap.filter(({ key }) => key !== "Mod-Enter"),
      ...historyKeymap,
      ...foldKeymap,
      ...lintKeymap,
    ]),
    ...telling((text) => latest.current.onChange?.(text), isPlain),
  ];
}

export function CodeArea(props: CodeAreaProps) {
  const { value, readOnly = false, label, style } = props;
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  /** The editor before, when a text has become large, or small again. */
  const last = useRef<EditorView | null>(null);
  const latest = useRef(props);
  latest.current = props;

  const isPlain = isLarge(value);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another size needs other extensions.
  useEffect(() => {
    if (place.current === null) return undefined;
    const before = last.current;
    const made = new EditorView({
      parent: place.current,
      doc: latest.current.value,
      extensions: extensions(latest.current, latest),
      ...(before?.state.doc.length === latest.current.value.length && { selection: before.state.selection }),
    });
    view.current = made;
    if (latest.current.autoFocus === true || before !== null) made.focus();
    return () => {
      last.current = made.hasFocus ? made : null;
      made.destroy();
      view.current = null;
    };
  }, [readOnly, label, isPlain]);

  useEffect(() => {
    const editor = view.current;
    if (editor === null || (editor.state.doc.length === value.length && editor.state.doc.toString() === value)) return;
    editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: value } });
  }, [value]);

  return <div ref={place} className={classes["area"]} style={style} />;
}
