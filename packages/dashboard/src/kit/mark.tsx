/** A word with an icon in a colour: the status of a run, the level of an entry. The colour never stands alone. */

import type { ComponentType, ReactNode } from "react";
import {
  IconAlertTriangle,
  IconBroadcast,
  IconCircleCheck,
  IconCircleX,
  IconClock,
  IconLoader,
  IconPlayerPause,
  IconPlayerPlay,
  IconPlugConnectedX,
} from "../icons/index.ts";
import { text } from "../texts/index.ts";
import classes from "./mark.module.css";
import type { TailState } from "./tail.ts";

export type Tone = "good" | "bad" | "warn" | "busy" | "quiet";
type MarkIcon = ComponentType<{ size?: number; stroke?: number; className?: string }>;

export function Mark({ tone, icon: Icon, children }: { tone: Tone; icon: MarkIcon; children: ReactNode }) {
  return (
    <span className={classes["mark"]} data-tone={tone}>
      <Icon size={15} stroke={1.8} className={classes["icon"] ?? ""} />
      <span>{children}</span>
    </span>
  );
}

type RunStatus = "waiting" | "running" | "completed" | "failed";

const statusMarks: { readonly [status in RunStatus]: { tone: Tone; icon: MarkIcon } } = {
  waiting: { tone: "quiet", icon: IconClock },
  running: { tone: "busy", icon: IconPlayerPlay },
  completed: { tone: "good", icon: IconCircleCheck },
  failed: { tone: "bad", icon: IconCircleX },
};

/** The status of a run of a function or of a job. */
export function StatusMark({ status }: { status: RunStatus }) {
  return <Mark {...statusMarks[status]}>{text.status[status]}</Mark>;
}

const tailMarks: { readonly [state in TailState]: { tone: Tone; icon: MarkIcon } } = {
  connecting: { tone: "quiet", icon: IconLoader },
  live: { tone: "good", icon: IconBroadcast },
  paused: { tone: "quiet", icon: IconPlayerPause },
  broken: { tone: "warn", icon: IconPlugConnectedX },
};

/** The state of a live tail, beside the title of its page. */
export function TailMark({ state }: { state: TailState }) {
  return (
    <span role="status">
      <Mark {...tailMarks[state]}>{text.tail[state]}</Mark>
    </span>
  );
}

/** A sentence that warns, beside a control. */
export function Warning({ children }: { children: ReactNode }) {
  return (
    <Mark tone="warn" icon={IconAlertTriangle}>
      {children}
    </Mark>
  );
}
