/** The levels of the log: a mark with a word, an icon and a colour; and the levels as switches, each with its number of entries. */
import { UnstyledButton } from "@mantine/core";
import { LOG_LEVELS, type LogLevel } from "@socle/protocol";
import { IconAlertTriangle, IconBug, IconCircleX, IconInfoCircle } from "../../icons/index.ts";
import { formatNumber, Mark, type Tone } from "../../kit/index.ts";
import { text } from "../../texts/index.ts";
import { type ShownLines, toggled } from "./log-lines.ts";
import classes from "./logs.module.css";

const marks: { readonly [level in LogLevel]: { tone: Tone; icon: typeof IconBug } } = {
  DEBUG: { tone: "quiet", icon: IconBug },
  INFO: { tone: "busy", icon: IconInfoCircle },
  WARN: { tone: "warn", icon: IconAlertTriangle },
  ERROR: { tone: "bad", icon: IconCircleX },
};

export function LevelMark({ level }: { level: LogLevel }) {
  return <Mark {...marks[level]}>{text.logs.levels[level]}</Mark>;
}

interface LevelChipsProps {
  /** An empty list stands for all levels. */
  levels: readonly LogLevel[];
  counts: ShownLines["counts"];
  onChange: (levels: readonly LogLevel[]) => void;
}

export function LevelChips({ levels, counts, onChange }: LevelChipsProps) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset has a frame and cannot be a flex box everywhere.
    <div role="group" aria-label={text.logs.levelFilter} className={classes["chips"]}>
      {LOG_LEVELS.map((level) => (
        <UnstyledButton
          key={level}
          className={classes["chip"]}
          aria-pressed={levels.length === 0 || levels.includes(level)}
          onClick={() => onChange(toggled(levels, level))}
        >
          <LevelMark level={level} />
          <span className="numbers quiet">{formatNumber(counts[level])}</span>
        </UnstyledButton>
      ))}
    </div>
  );
}
