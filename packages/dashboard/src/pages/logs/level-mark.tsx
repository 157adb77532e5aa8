/** The level of an entry of the log: a word, an icon, a colour. */
import type { LogLevel } from "@socle/protocol";
import { IconAlertTriangle, IconBug, IconCircleX, IconInfoCircle } from "@tabler/icons-react";
import { Mark, type Tone } from "../../kit/index.ts";
import { text } from "../../texts/index.ts";

const marks: { readonly [level in LogLevel]: { tone: Tone; icon: typeof IconBug } } = {
  DEBUG: { tone: "quiet", icon: IconBug },
  INFO: { tone: "busy", icon: IconInfoCircle },
  WARN: { tone: "warn", icon: IconAlertTriangle },
  ERROR: { tone: "bad", icon: IconCircleX },
};

export function LevelMark({ level }: { level: LogLevel }) {
  return <Mark {...marks[level]}>{text.logs.levels[level]}</Mark>;
}
