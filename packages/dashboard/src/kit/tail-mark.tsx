/** The state of a live tail, beside the title of its page. */
import { IconBroadcast, IconLoader, IconPlayerPause, IconPlugConnectedX } from "@tabler/icons-react";
import { text } from "../texts/index.ts";
import { Mark, type Tone } from "./mark.tsx";
import type { TailState } from "./tail.ts";

const marks: { readonly [state in TailState]: { tone: Tone; icon: typeof IconLoader } } = {
  connecting: { tone: "quiet", icon: IconLoader },
  live: { tone: "good", icon: IconBroadcast },
  paused: { tone: "quiet", icon: IconPlayerPause },
  broken: { tone: "warn", icon: IconPlugConnectedX },
};

export function TailMark({ state }: { state: TailState }) {
  return (
    <span role="status">
      <Mark {...marks[state]}>{text.tail[state]}</Mark>
    </span>
  );
}
