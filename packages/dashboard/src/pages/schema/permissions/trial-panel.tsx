/** "Try as": the answer for a user or an anonymous request on a record or the list, and the parts of the rules that decide. */
import { NativeSelect, Skeleton, Stack, Text } from "@mantine/core";
import { SocleError } from "@socle/client";
import {
  isRuleWord,
  type JsonValue,
  type RulePart,
  type RuleTrial,
  type RuleTrialRequest,
  type TriedRule,
} from "@socle/protocol";
import { useMutation } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { lazy, Suspense, useState } from "react";
import { IconCircleCheck, IconCircleX, IconHelpCircle } from "../../../icons/index.ts";
import {
  Action,
  CodeBlock,
  choicesOf,
  Dim,
  isObject,
  JsonEditor,
  jsonText,
  Mark,
  messageOf,
  Panel,
  Warning,
} from "../../../kit/index.ts";
import { client } from "../../../service/client.ts";
import { text } from "../../../texts/index.ts";
import { type Attempt, attemptOf, type SchemaSearch } from "../../search.ts";
import classes from "./permissions.module.css";

// A file of its own, as for the editor of records.
const RelationControl = lazy(async () => ({
  default: (await import("../../records/editor/controls/relation-control.tsx")).RelationControl,
}));
const words = text.schema.trial;
const route = getRouteApi("/inside/collections/$name/schema");

/** The request of a trial, or the complaint about the form. */
function requestOf(
  attempt: Attempt,
  form: { as: string | null; id: string | null; body: string },
): RuleTrialRequest | string {
  const { as, id, body } = form;
  if (attempt === "list") return { as, operation: "read" };
  if (attempt !== "create" && id === null) return words.noRecord;
  const request = { as, operation: attempt, ...(attempt !== "create" && id !== null && { id }) };
  if (attempt === "read" || attempt === "delete") return request;
  try {
    const value: unknown = JSON.parse(body);
    if (!isObject(value)) return words.noObject;
    // In JSON, every other object is a plain record of names and values.
    return { ...request, body: value as { [name: string]: JsonValue } };
  } catch {
    return words.noObject;
  }
}

export function TrialPanel({ name, isDirty }: { name: string; isDirty: boolean }) {
  const { as, attempt = "list", record } = route.useSearch();
  const navigate = useNavigate();
  const [body, setBody] = useState("{}");
  const [complaint, setComplaint] = useState<string | null>(null);
  const trial = useMutation({ mutationFn: (request: RuleTrialRequest) => client.admin.collections.try(name, request) });
  const change = (search: Partial<SchemaSearch>): void => {
    trial.reset();
    setComplaint(null);
    void navigate({ to: ".", search: (before) => ({ ...before, ...search }), replace: true });
  };
  const run = (): void => {
    const request = requestOf(attempt, { as: as ?? null, id: record ?? null, body });
    setComplaint(typeof request === "string" ? request : null);
    if (typeof request !== "string") trial.mutate(request);
  };
  const idOf = (value: JsonValue): string | undefined => (typeof value === "string" ? value : undefined);
  const control = { error: undefined, size: "sm", autoFocus: false } as const;
  return (
    <Panel title={words.title}>
      <Stack gap="sm" p="md" pt={0}>
        <Dim>{words.intro}</Dim>
        {isDirty && (
          <Text size="sm" component="div">
            <Warning>{words.unsaved}</Warning>
          </Text>
        )}
        <Suspense fallback={<Skeleton height={58} radius="sm" />}>
          <RelationControl
            {...control}
            field={{ name: words.as, type: "relation", collection: "users" }}
            label={words.as}
            emptyText={words.nobody}
            value={as ?? null}
            onChange={(value) => change({ as: idOf(value) })}
          />
        </Suspense>
        <NativeSelect
          label={words.operation}
          data={choicesOf(words.attempts)}
          value={attempt}
          onChange={(event) => change({ attempt: attemptOf(event.currentTarget.value) })}
        />
        {attempt !== "list" && attempt !== "create" && (
          <Suspense fallback={<Skeleton height={58} radius="sm" />}>
            <RelationControl
              {...control}
              field={{ name: words.record, type: "relation", collection: name, required: true }}
              label={words.record}
              value={record ?? null}
              onChange={(value) => change({ record: idOf(value) })}
            />
          </Suspense>
        )}
        {(attempt === "create" || attempt === "update") && (
          <div>
            <Text size="sm" fw={500} mb={4}>
              {words.body}
            </Text>
            <JsonEditor value={body} onChange={setBody} label={words.body} minHeight={72} maxHeight={220} />
          </div>
        )}
        <Action label={words.run} onClick={run} loading={trial.isPending} variant="light" size="sm" />
        <div aria-live="polite">
          {complaint !== null && (
            <Text size="sm" c="var(--mantine-color-error)">
              {complaint}
            </Text>
          )}
          {trial.isError && (
            <Text size="sm" c="var(--mantine-color-error)">
              {trial.error instanceof SocleError ? trial.error.message : messageOf(trial.error)}
            </Text>
          )}
          {trial.data !== undefined && complaint === null && <Outcome trial={trial.data} />}
        </div>
      </Stack>
    </Panel>
  );
}

function Outcome({ trial }: { trial: RuleTrial }) {
  const { allowed, status, error, answer, rules } = trial;
  const items = itemsOf(answer);
  return (
    <Stack gap="sm">
      <div className={classes["verdict"]} data-outcome={allowed ? "yes" : "no"}>
        <Mark tone={allowed ? "good" : "bad"} icon={allowed ? IconCircleCheck : IconCircleX}>
          <strong>{allowed ? words.allowed : words.refused}</strong> · {status}
        </Mark>
        {error !== null && <Text size="sm">{error.message}</Text>}
      </div>
      {rules.map((tried) => (
        <RuleOutcome key={`${tried.operation} ${tried.moment}`} tried={tried} />
      ))}
      {answer !== null && (
        <div>
          <Text size="sm" fw={500} mb={4}>
            {items === null ? words.answer : words.records(items.length)}
          </Text>
          <CodeBlock value={jsonText(items ?? answer)} label={words.answer} />
        </div>
      )}
    </Stack>
  );
}

/** The records of a list; null for any other answer. */
function itemsOf(answer: JsonValue): JsonValue[] | null {
  if (!isObject(answer)) return null;
  const items = answer["items"];
  return Array.isArray(items) && "nextCursor" in answer ? items : null;
}

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
  if (kind === "every") return words.every(rule.slice(start, first.start).replace(/^every\s*\(\s*|\s*,[\s(!]*$/g, ""));
  return kind === "comparison" ? rule.slice(start, end) : words.kinds[kind];
}

function RuleOutcome({ tried }: { tried: TriedRule }) {
  const { operation, moment, rule, holds, parts } = tried;
  const title = words.ruleOf(text.schema.permissions.operations[operation], words.moments[moment]);
  return (
    <section aria-label={title}>
      <h3 className={classes["ruleTitle"]}>
        <span>{title}</span>
        <Mark {...marks[outcomeOf(holds)]}>{holds ? words.allows : words.refuses}</Mark>
      </h3>
      {isRuleWord(rule) && <p className={classes["word"]}>{text.schema.permissions.sentences[operation][rule]}</p>}
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
