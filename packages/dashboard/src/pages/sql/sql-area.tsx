/** CodeMirror with SQLite's language: completion of collections and fields; Ctrl Enter runs. */
import { acceptCompletion, autocompletion, closeBrackets, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { SQLite, sql } from "@codemirror/lang-sql";
import { bracketMatching, HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { Compartment, EditorState, type Extension, Prec } from "@codemirror/state";
import { drawSelection, EditorView, keymap, lineNumbers, placeholder } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useEffect, useRef } from "react";
import shared from "../../kit/editor.module.css";
import { giveText, onText } from "../../kit/editor-text.ts";
import { text } from "../../texts/index.ts";
import classes from "./sql.module.css";

interface SqlAreaProps {
  value: string;
  onChange: (value: string) => void;
  onRun: () => void;
  /** The columns of each table. */
  tables: { readonly [table: string]: readonly string[] };
}

/** The colours stand in `editor.module.css`, for both schemes. */
const highlight = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--code-name)" },
  { tag: tags.string, color: "var(--code-string)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--code-number)" },
  { tag: tags.comment, color: "var(--mantine-color-dimmed)" },
]);

function language(tables: SqlAreaProps["tables"]): Extension {
  const schema = Object.fromEntries(Object.entries(tables).map(([table, columns]) => [table, [...columns]]));
  return sql({ dialect: SQLite, schema, upperCaseKeywords: true });
}

function extensions(latest: { readonly current: SqlAreaProps }): Extension[] {
  return [
    Prec.highest(
      keymap.of([
        // Without a completion, Tab leads to the next control of the page.
        { key: "Tab", run: acceptCompletion },
        {
          key: "Mod-Enter",
          run: () => {
            latest.current.onRun();
            return true;
          },
        },
      ]),
    ),
    lineNumbers(),
    drawSelection(),
    history(),
    closeBrackets(),
    bracketMatching(),
    autocompletion({ icons: false, interactionDelay: 0 }),
    syntaxHighlighting(highlight),
    keymap.of([...completionKeymap, ...historyKeymap, ...defaultKeymap]),
    onText((value) => latest.current.onChange(value)),
    EditorView.lineWrapping,
    EditorView.contentAttributes.of({ "aria-label": text.sql.editor, "aria-multiline": "true", spellcheck: "false" }),
    placeholder(text.sql.placeholder),
    EditorState.tabSize.of(2),
  ];
}

export function SqlArea(props: SqlAreaProps) {
  const { value, tables } = props;
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(undefined);
  const grammar = useRef(new Compartment());
  const latest = useRef(props);
  latest.current = props;

  useEffect(() => {
    if (place.current === null) return undefined;
    const { current } = latest;
    const editor = new EditorView({
      parent: place.current,
      doc: current.value,
      selection: { anchor: current.value.length },
      extensions: [...extensions(latest), grammar.current.of(language(current.tables))],
    });
    view.current = editor;
    editor.focus();
    return () => {
      view.current = undefined;
      editor.destroy();
    };
  }, []);

  useEffect(() => {
    view.current?.dispatch({ effects: grammar.current.reconfigure(language(tables)) });
  }, [tables]);

  useEffect(() => {
    if (view.current !== undefined) giveText(view.current, value);
  }, [value]);

  return <div ref={place} className={`${shared["editor"]} ${classes["editor"]}`} />;
}
