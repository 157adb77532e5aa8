/**
 * CodeMirror as the JSON editor, in a frame with the place of the first error and a button that formats. A text past
 * `largeFrom` has no colours, folding or marks, and is reported a moment after the last key: reading and checking five
 * megabytes at each key would take seconds. `json-editor.tsx` loads this heavy module.
 */
import { closeBrackets, closeBracketsKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { json } from "@codemirror/lang-json";
import {
  bracketMatching,
  ensureSyntaxTree,
  foldGutter,
  foldKeymap,
  HighlightStyle,
  syntaxHighlighting,
} from "@codemirror/language";
import { type Diagnostic, linter, lintKeymap } from "@codemirror/lint";
import { EditorState, type Extension } from "@codemirror/state";
import { drawSelection, EditorView, highlightSpecialChars, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { Group, Input, Text, UnstyledButton } from "@mantine/core";
import { type CSSProperties, useEffect, useMemo, useRef } from "react";
import { flushSync } from "react-dom";
import { IconBraces } from "../../icons/index.ts";
import { text } from "../../texts/index.ts";
import shared from "../editor.module.css";
import { giveText, onText } from "../editor-text.ts";
import classes from "./json-editor.module.css";
import { isLarge } from "./large.ts";
import { isJson, jsonErrorPlace, type Mistake, type Path } from "./place.ts";

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

export interface JsonEditorProps extends Omit<CodeAreaProps, "style" | "lint"> {
  /** The error from the service. */
  error?: string | undefined;
  minHeight?: number;
  maxHeight?: number;
}

/** The colours stand in `editor.module.css`, for both schemes. */
const highlight = HighlightStyle.define([
  { tag: tags.propertyName, color: "var(--code-name)" },
  { tag: tags.string, color: "var(--code-string)" },
  { tag: tags.number, color: "var(--code-number)" },
  { tag: [tags.bool, tags.null], color: "var(--code-word)" },
]);

const settleMs = 400;

/** Reports the typed text: at once, or for a large text after a pause, and before a key that saves or leaves. */
function telling(tell: (text: string) => void, isLate: boolean): Extension[] {
  if (!isLate) return [onText(tell)];
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
    // The keyboard scrolls a long text, which has the focus.
    EditorView.contentAttributes.of({
      "aria-label": label,
      "aria-multiline": "true",
      spellcheck: "false",
      tabindex: "0",
    }),
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
    if (view.current !== null) giveText(view.current, value);
  }, [value]);

  return <div ref={place} className={`${shared["editor"]} ${classes["area"]}`} style={style} />;
}

type SyntaxNode = NonNullable<ReturnType<typeof ensureSyntaxTree>>["topNode"];

function diagnose(view: EditorView, lint: ((value: string) => readonly Mistake[]) | undefined): Diagnostic[] {
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

/** The message for invalid JSON. A large text gets a message without a place, because the grammar would need seconds for megabytes. */
function complaintOf(value: string): string | null {
  if (isLarge(value)) return isJson(value) ? null : text.editor.problems.notJson;
  const place = jsonErrorPlace(value);
  return place && `${text.editor.jsonAt(place.line, place.column)}: ${text.editor.problems.notJson}`;
}

export function JsonFrame(props: JsonEditorProps) {
  const { value, onChange, readOnly = false, error, minHeight = 96, maxHeight = 360 } = props;
  const complaint = useMemo(() => (readOnly ? null : complaintOf(value)), [readOnly, value]);
  const format = (): void => onChange?.(JSON.stringify(JSON.parse(value), null, 2));
  return (
    <div className={classes["frame"]} data-invalid={error !== undefined || undefined}>
      <CodeArea {...props} style={{ minHeight, maxHeight }} />
      {!readOnly && (
        <Group className={classes["bar"]} justify="space-between" wrap="nowrap" gap="sm">
          <Text size="xs" c={complaint === null ? "dimmed" : "var(--mantine-color-error)"} truncate role="status">
            {complaint ?? text.editor.jsonEditor}
          </Text>
          {complaint === null && value.trim() !== "" && (
            <UnstyledButton className={classes["format"]} onClick={format}>
              <IconBraces size={12} aria-hidden /> {text.editor.format}
            </UnstyledButton>
          )}
        </Group>
      )}
      {error !== undefined && (
        <Input.Error px={8} pb={6} role="alert">
          {error}
        </Input.Error>
      )}
    </div>
  );
}
