/**
 * The text of a CodeMirror editor as a value of React. A typed text is rendered before the next event: with a render that waits,
 * a button would still act on the text before, and the effect of an older value would take the last key away.
 */
import type { Extension } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { flushSync } from "react-dom";

/** The editors that are getting a value, in an effect, in which React renders nothing at once. */
const given = new WeakSet<EditorView>();

/** Replaces the text of the editor, if the value is another text. */
export function giveText(editor: EditorView, value: string): void {
  const { doc } = editor.state;
  if (doc.length === value.length && doc.toString() === value) return;
  given.add(editor);
  editor.dispatch({ changes: { from: 0, to: doc.length, insert: value } });
  given.delete(editor);
}

/** Calls back after each change of the text. */
export function onText(tell: (text: string) => void): Extension {
  return EditorView.updateListener.of(({ docChanged, state, view }) => {
    if (!docChanged) return;
    const tellText = (): void => tell(state.doc.toString());
    if (given.has(view)) tellText();
    else flushSync(tellText);
  });
}
