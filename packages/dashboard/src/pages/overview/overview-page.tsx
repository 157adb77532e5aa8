/** A page that is not written yet. */
import { Page } from "../../kit/index.ts";
import { text } from "../../texts/index.ts";

export function OverviewPage() {
  return <Page title={text.overview.title}>…</Page>;
}
