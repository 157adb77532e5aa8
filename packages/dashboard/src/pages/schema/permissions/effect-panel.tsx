/**
 * "Effect of this change": the records that a sample of users, a chosen user and an anonymous caller gain and lose by rules that
 * are not saved, and the parts of the rules that decide.
 */
import { Group, Stack, Text } from "@mantine/core";
import type { CallerEffects, ChangedRecords, RuleEffects, RuleReach } from "@socle/protocol";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { IconMinus, IconPlus } from "../../../icons/index.ts";
import {
  Action,
  CodeText,
  Dim,
  Mark,
  nameOfUser,
  Panel,
  QueryView,
  TextLink,
  UserSelect,
  Warning,
} from "../../../kit/index.ts";
import { client } from "../../../service/client.ts";
import { text } from "../../../texts/index.ts";
import type { SchemaChange } from "../draft/change.ts";
import effectClasses from "./effect.module.css";
import classes from "./permissions.module.css";

const words = text.schema.effect;
const route = getRouteApi("/inside/collections/$name/schema");

/** Whether a change may let callers read or write other records. */
export function changesRules({ permissions, fields }: SchemaChange): boolean {
  return permissions !== undefined || fields !== undefined;
}

/** The effect, which the user asks for: the service looks at the records for each caller. */
export function EffectPanel({ name, change }: { name: string; change: SchemaChange }) {
  const [asked, ask] = useState<string | null>(null);
  const current = JSON.stringify(change);
  return (
    <Panel title={words.title}>
      <Stack gap="sm" p="md" pt={0}>
        <Dim>{words.intro}</Dim>
        {asked === current ? (
          <Effect name={name} change={change} />
        ) : (
          <Action label={words.run} onClick={() => ask(current)} variant="light" size="sm" />
        )}
      </Stack>
    </Panel>
  );
}

export function Effect({ name, change }: { name: string; change: SchemaChange }) {
  const { as } = route.useSearch();
  const navigate = useNavigate();
  const choose = (id: string | undefined): void =>
    void navigate({ to: ".", search: (before) => ({ ...before, as: id }), replace: true });
  const effects = useQuery({
    queryKey: ["rule effects", name, change, as],
    queryFn: () => client.admin.collections.tryDefinition(name, { definition: change, as: as ?? null }),
    gcTime: 0,
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnWindowFocus: false,
    retry: false,
  });
  return (
    <Stack gap="sm">
      <Group gap="xs">
        <Text size="sm">{words.further}</Text>
        <UserSelect label={words.further} anyLabel={words.noFurther} value={as} onChange={choose} />
      </Group>
      <div aria-live="polite">
        <QueryView query={effects}>{(found) => <Effects name={name} effects={found} />}</QueryView>
      </div>
    </Stack>
  );
}

function Effects({ name, effects }: { name: string; effects: RuleEffects }) {
  const { rules, callers, isExact, looked, records, unjudged, notes } = effects;
  const changed = rules.filter(({ from, to, operation }) => from !== to || operation === "read");
  return (
    <Stack gap="md">
      {!isExact && (
        <Text size="sm" component="div">
          <Warning>{words.cut(looked, records)}</Warning>
        </Text>
      )}
      {changed.map(({ operation }) => {
        const reason = unjudged.find((each) => each.operation === operation)?.reason;
        const title = text.schema.permissions.operations[operation];
        if (operation === "create")
          return <Reaches key={operation} title={title} reaches={callers.map((each) => [each, each.create])} />;
        if (reason !== undefined) return <Dim key={operation}>{words.unjudged(title, reason)}</Dim>;
        return <OperationEffect key={operation} name={name} title={title} outcomes={outcomesOf(callers, operation)} />;
      })}
      {fieldsOf(callers).map((field) => (
        <Reaches
          key={field}
          title={words.field(field)}
          reaches={callers.map((each) => [each, each.fields.find((one) => one.field === field) ?? null])}
        />
      ))}
      {notes.map((note) => (
        <Dim key={note}>
          <CodeText text={note.replaceAll('"', "`")} />
        </Dim>
      ))}
    </Stack>
  );
}

type Outcome = CallerEffects["operations"][number] & { caller: CallerEffects };

function outcomesOf(callers: readonly CallerEffects[], operation: string): Outcome[] {
  return callers.flatMap((caller) =>
    caller.operations.filter((each) => each.operation === operation).map((each) => ({ ...each, caller })),
  );
}

function fieldsOf(callers: readonly CallerEffects[]): string[] {
  return [...new Set(callers.flatMap(({ fields }) => fields.map(({ field }) => field)))];
}

function nameOf({ as }: CallerEffects): string {
  return as === null ? text.schema.trial.nobody : nameOfUser(as);
}

function OperationEffect({ name, title, outcomes }: { name: string; title: string; outcomes: readonly Outcome[] }) {
  const moved = outcomes.filter(({ gained, lost }) => gained.count + lost.count > 0);
  const gainers = outcomes.filter(({ gained }) => gained.count > 0).length;
  const losers = outcomes.filter(({ lost }) => lost.count > 0).length;
  return (
    <section aria-label={words.of(title)}>
      <h3 className={classes["ruleTitle"]}>
        <span>{title}</span>
        <span className={effectClasses["sides"]}>
          <Mark tone={gainers > 0 ? "warn" : "quiet"} icon={IconPlus}>
            {words.gain(gainers)}
          </Mark>
          <Mark tone={losers > 0 ? "bad" : "quiet"} icon={IconMinus}>
            {words.lose(losers)}
          </Mark>
        </span>
      </h3>
      {moved.length > 0 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the box scrolls with the keyboard, too.
        <section className={effectClasses["rows"]} aria-label={words.rows(title)} tabIndex={0}>
          <table className={effectClasses["table"]}>
            <thead>
              <tr>
                {[words.caller, words.before, words.after, words.gained, words.lost].map((head) => (
                  <th key={head} scope="col">
                    {head}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {moved.map(({ caller, before, after, gained, lost }) => (
                <tr key={caller.as?.id ?? ""}>
                  <th scope="row">{nameOf(caller)}</th>
                  <td>{before.toLocaleString()}</td>
                  <td>{after.toLocaleString()}</td>
                  <td>
                    <Changed name={name} sign="+" changed={gained} />
                  </td>
                  <td>
                    <Changed name={name} sign="−" changed={lost} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
      {outcomes.length > moved.length && <Dim>{words.same(outcomes.length - moved.length)}</Dim>}
    </section>
  );
}

function Changed({ name, sign, changed }: { name: string; sign: string; changed: ChangedRecords }) {
  const { count, rest, records } = changed;
  if (count === 0) return <>0</>;
  return (
    <details>
      <summary>
        {sign}
        {count.toLocaleString()}
      </summary>
      <ul className={`plain ${classes["parts"]}`}>
        {records.map(({ id, part }) => (
          <li key={id} className={classes["part"]} data-outcome="no">
            <TextLink
              to="/collections/$name"
              params={{ name }}
              search={{ record: id }}
              target="_blank"
              className="mono"
              aria-label={words.record(id.slice(-8))}
            >
              …{id.slice(-8)}
            </TextLink>{" "}
            <code>{part}</code>
          </li>
        ))}
        {rest > 0 && <li className={classes["outcome"]}>{words.rest(rest)}</li>}
      </ul>
    </details>
  );
}

interface Reach {
  before: RuleReach;
  after: RuleReach;
}

/** The number of callers with each change of what a rule allows. */
function Reaches({ title, reaches }: { title: string; reaches: readonly (readonly [CallerEffects, Reach | null])[] }) {
  const groups = Map.groupBy(reaches, ([, reach]) =>
    reach === null || reach.before === reach.after
      ? null
      : words.reach(words.reaches[reach.before], words.reaches[reach.after]),
  );
  return (
    <section aria-label={words.of(title)}>
      <h3 className={classes["ruleTitle"]}>{title}</h3>
      {[...groups].map(([change, of]) => (
        <Dim key={change}>
          {change === null
            ? words.same(of.length)
            : `${change}: ${words.callers(of.map(([caller]) => nameOf(caller)))}`}
        </Dim>
      ))}
    </section>
  );
}
