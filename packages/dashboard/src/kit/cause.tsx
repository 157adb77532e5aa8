/** The cause of a change of a record: the request, run, import, migration or undo, with a link where a page shows the cause. */
import type { ChangeCause } from "@socle/protocol";
import { text } from "../texts/index.ts";
import { TextLink } from "./action.tsx";

/** The words and the id of the cause: "in the request b97090e4-3j". */
export function CauseText({ cause: { kind, id, name } }: { cause: ChangeCause }) {
  return (
    <>
      {text.history.causes[kind]} <CauseLink cause={{ kind, id, ...(name !== undefined && { name }) }} />
      {kind === "request" && name !== undefined && ` (${name})`}
    </>
  );
}

function CauseLink({ cause: { kind, id, name } }: { cause: ChangeCause }) {
  const look = { className: "mono", underline: "always" } as const;
  switch (kind) {
    case "function":
      return (
        <TextLink to="/functions" search={{ tab: "runs", run: id }} {...look}>
          {name ?? id}
        </TextLink>
      );
    case "job":
      return (
        <TextLink to="/jobs" search={{ job: jobOf(name), run: id }} {...look}>
          {name ?? id}
        </TextLink>
      );
    default:
      return <span className="mono">{name ?? id}</span>;
  }
}

/** The name of a job from `jobs/nightly.ts:default`. */
function jobOf(name = ""): string | undefined {
  return /([^/]+)\.\w+:/.exec(name)?.[1];
}
