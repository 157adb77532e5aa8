/** The steps of a plan, a line per step: a sign for the kind of step, the step in words, its details. */
import { Text } from "@mantine/core";
import { IconAlertTriangle, IconMinus, IconPencil, IconPlus } from "@tabler/icons-react";
import { Dim } from "../../../kit/words.tsx";
import { text } from "../../../texts/index.ts";
import { CodeText } from "../code-text.tsx";
import { type PlanContext, wordsOf } from "./plan-words.ts";
import classes from "./review.module.css";

const icons = { add: IconPlus, change: IconPencil, drop: IconMinus, loss: IconAlertTriangle };

export function PlanSteps({ context }: { context: PlanContext }) {
  return (
    <ul className={`plain ${classes["steps"]}`}>
      {context.plan.steps.map((step, i) => {
        const { tone, title, details } = wordsOf(step, context);
        const Icon = icons[tone];
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: a plan does not change.
          <li key={i} className={classes["step"]} data-tone={tone}>
            <span className={classes["sign"]}>
              <Icon size={14} stroke={2} role="img" aria-label={text.schema.plan.tones[tone]} />
            </span>
            <div>
              <Text size="sm" fw={500} className={classes["stepTitle"]}>
                <CodeText text={title} />
              </Text>
              {details.map((detail) => (
                <Dim key={detail} className="breaks">
                  {detail}
                </Dim>
              ))}
            </div>
          </li>
        );
      })}
    </ul>
  );
}
