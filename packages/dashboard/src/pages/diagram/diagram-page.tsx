/** A page that is not written yet. */
import { Page } from "../../kit/index.ts";
import { text } from "../../texts/index.ts";

export function DiagramPage() {
  return <Page title={text.diagram.title}>…</Page>;
}
