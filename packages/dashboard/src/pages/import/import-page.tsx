/** A page that is not written yet. */
import { Page } from "../../kit/index.ts";
import { text } from "../../texts/index.ts";

export function ImportPage() {
  return <Page title={text.import.title}>…</Page>;
}
