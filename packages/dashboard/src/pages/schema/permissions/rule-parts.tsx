/** The parts of a rule, each with its outcome for a record: an icon, a word and a colour. */
import type { RulePart, TriedRule } from "@socle/protocol";
import { IconCircleCheck, IconCircleX, IconHelpCircle } from "@tabler/icons-react";
import { Mark } from "../../../kit/index.ts";
import { text } from "../../../texts/index.ts";
import classes from "./permissions.module.css";
import { isWord } from "./rules.ts";

const words = text.schema.trial;

function outcomeOf(holds: boolean | null): "yes" | "no" | "unknown" {
  if (holds === null) return "unknown";
  return holds ? "yes" : "no";
}

const marks = {
  yes: { tone: "good", icon: IconCircleCheck },
  no: { tone: "bad", icon: IconCircleX },
  unknown: { tone: "quiet", icon: IconHelpCircle },
} as const;

/** The text of a part. For a part with inner parts, the label is the operator that joins the inner parts. */
function labelOf(rule: string, { kind, start, end, parts }: RulePart): string {
  const [first] = parts;
  if (first === undefined) return rule.slice(start, end);
  if (kind === "some") return words.some(rule.slice(start, rule.indexOf("[", start)));
  return kind === "comparison" ? rule.slice(start, end) : words.kinds[kind];
}

export function RuleOutcome({ tried }: { tried: TriedRule }) {
  const { operation, moment, rule, holds, parts } = tried;
  const title = words.ruleOf(text.schema.permissions.operations[operation], words.moments[moment]);
  return (
    <section aria-label={title}>
      <h3 className={classes["ruleTitle"]}>
        <span>{title}</span>
        <Mark {...marks[outcomeOf(holds)]}>{holds ? words.allows : words.refuses}</Mark>
      </h3>
      {isWord(rule) && <p className={classes["word"]}>{text.schema.permissions.sentences[operation][rule]}</p>}
      {parts !== null && (
        <ul className={`plain ${classes["parts"]}`}>
          <Part rule={rule} part={parts} />
        </ul>
      )}
      {parts !== null && holds && parts.holds !== true && <p className={classes["word"]}>{words.bypassed}</p>}
    </section>
  );
}

function Part({ rule, part }: { rule: string; part: RulePart }) {
  const { kind, holds, parts } = part;
  const outcome = outcomeOf(holds);
  const isCode = parts.length === 0 || kind === "comparison";
  const label = labelOf(rule, part);
  return (
    <li>
      <span className={classes["part"]} data-outcome={outcome}>
        <Mark {...marks[outcome]}>
          {isCode ? <code>{label}</code> : label} <span className={classes["outcome"]}>{words.outcomes[outcome]}</span>
        </Mark>
      </span>
      {parts.length > 0 && (
        <ul className={`plain ${classes["parts"]}`}>
          {parts.map((each) => (
            <Part key={each.start} rule={rule} part={each} />
          ))}
        </ul>
      )}
    </li>
  );
}
