/** CodeMirror with the filter language: a single logical line with completion; the service's error is marked at its place. Loaded on demand. */
import {
  acceptCompletion,
  autocompletion,
  closeBrackets,
  completionKeymap,
  startCompletion,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { type Diagnostic, setDiagnostics } from "@codemirror/lint";
import { EditorState, type Extension, Prec } from "@codemirror/state";
import { EditorView, keymap, placeholder } from "@codemirror/view";
import { useEffect, useRef } from "react";
import shared from "../editor.module.css";
import { giveText, onText } from "../editor-text.ts";
import { completionsAt } from "./completion.ts";
import classes from "./expression-area.module.css";
import type { Schema } from "./schema.ts";

export interface ExpressionEditorProps {
  collection: string;
  value: string;
  schema: Schema;
  /** The accessible name. */
  label: string;
  placeholder: string;
  /** The position of the error in the refused expression, from 0. */
  errorAt: number | null;
  errorId: string | undefined;
  /** Whether a long expression is shown on several lines. */
  isWrapped?: boolean;
  autoFocus?: boolean;
  onChange: (value: string) => void;
  /** Called on Enter. */
  onApply?: (value: string) => void;
  /** Called on Escape. */
  onCancel?: () => void;
}

type Latest = { readonly current: ExpressionEditorProps };

/** Turns a pasted text into a single line. */
const oneLine = EditorState.transactionFilter.of((change) => {
  if (change.newDoc.lines === 1) return change;
  return {
    changes: {
      from: 0,
      to: change.startState.doc.length,
      insert: change.newDoc.toString().replaceAll(/\s*\n\s*/g, " "),
    },
  };
});

function completion(latest: Latest): Extension {
  return autocompletion({
    override: [
      ({ pos, state, explicit }) => {
        const { schema, collection } = latest.current;
        const found = completionsAt(state.sliceDoc(0, pos), schema, collection);
        if (found === null || (!explicit && found.from === pos && state.sliceDoc(pos - 1, pos) !== " " && pos > 0))
          return null;
        return {
          from: found.from,
          // Completions that match equally well keep their order.
          options: found.options.map(({ label, detail, kind }, i) => ({
            label,
            detail,
            type: kind,
            boost: -i / 10,
          })),
        };
      },
    ],
    icons: false,
    // When Enter applies the expression, the arrows have to select a completion first.
    selectOnOpen: latest.current.onApply === undefined,
  });
}

function extensions(latest: Latest): Extension[] {
  return [
    Prec.highest(
      keymap.of([
        { key: "Tab", run: acceptCompletion },
        {
          key: "Enter",
          run: (editor) => {
            if (acceptCompletion(editor)) return true;
            latest.current.onApply?.(editor.state.doc.toString());
            return true;
          },
        },
      ]),
    ),
    completion(latest),
    closeBrackets(),
    history(),
    keymap.of([
      ...completionKeymap,
      ...historyKeymap,
      {
        key: "Escape",
        run: () => {
          latest.current.onCancel?.();
          return latest.current.onCancel !== undefined;
        },
      },
      ...defaultKeymap,
    ]),
    oneLine,
    onText((text) => latest.current.onChange(text)),
    EditorView.contentAttributes.of({
      "aria-label": latest.current.label,
      role: "textbox",
      "aria-multiline": "false",
      spellcheck: "false",
      autocapitalize: "off",
    }),
    placeholder(latest.current.placeholder),
    ...(latest.current.isWrapped === true ? [EditorView.lineWrapping] : []),
  ];
}

export function ExpressionArea(props: ExpressionEditorProps) {
  const { value, errorAt, errorId } = props;
  const frame = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(undefined);
  const latest = useRef(props);
  latest.current = props;

  // biome-ignore lint/correctness/useExhaustiveDependencies: the editor is made once; effects send later values.
  useEffect(() => {
    if (frame.current === null) return undefined;
    const editor = new EditorView({
      parent: frame.current,
      state: EditorState.create({
        doc: value,
        selection: { anchor: value.length },
        extensions: extensions(latest),
      }),
    });
    view.current = editor;
    if (latest.current.autoFocus === true) {
      editor.focus();
      if (value === "") startCompletion(editor);
    }
    return () => editor.destroy();
  }, []);

  useEffect(() => {
    if (view.current !== undefined) giveText(view.current, value);
  }, [value]);

  useEffect(() => {
    const editor = view.current;
    if (editor === undefined) return;
    const { length } = editor.state.doc;
    const diagnostics: Diagnostic[] = [];
    if (errorAt !== null) {
      // The end of the text has no character to underline: the last character is underlined instead.
      const from = Math.max(0, Math.min(errorAt, length - 1));
      const rest = /^[\p{L}\p{N}_.$@-]+/u.exec(editor.state.sliceDoc(from))?.[0].length ?? 1;
      diagnostics.push({ from, to: Math.min(length, from + rest), severity: "error", message: "" });
    }
    editor.dispatch(setDiagnostics(editor.state, diagnostics));
    const { contentDOM } = editor;
    if (errorId === undefined) contentDOM.removeAttribute("aria-describedby");
    else contentDOM.setAttribute("aria-describedby", errorId);
    contentDOM.setAttribute("aria-invalid", String(errorId !== undefined));
  }, [errorAt, errorId]);

  return (
    <div
      ref={frame}
      className={`${shared["editor"]} ${classes["frame"]}`}
      data-has-error={errorId !== undefined || undefined}
    />
  );
}
