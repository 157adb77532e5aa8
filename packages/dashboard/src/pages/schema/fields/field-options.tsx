/** The options of a field, below its row. */
import {
  Anchor,
  Group,
  MultiSelect,
  Select,
  SimpleGrid,
  Stack,
  Text,
  Textarea,
  TextInput,
  type TextInputProps,
} from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { boundsOf, DEFINITION_LIMITS, mayHave } from "@socle/protocol";
import { memo, useEffect, useState } from "react";
import { IconCheck, IconX } from "../../../icons/index.ts";
import { Choice } from "../../../kit/index.ts";
import { text } from "../../../texts/index.ts";
import type { Part, Problem } from "../draft/checks.ts";
import { attributesOf, type FieldDraft } from "../draft/draft.ts";
import type { FieldPatch } from "../draft/edits.ts";
import { isMultiple, typesFor, valueChanges } from "../draft/rules.ts";
import { DefaultOption, Flag } from "./default-option.tsx";
import { FieldRules } from "./field-rules.tsx";

interface FieldOptionsProps {
  field: FieldDraft;
  problems: readonly Problem[];
  /** Names of the collections that may be targets of a relation. */
  targets: readonly string[];
  /** Names of the fields by which a sequence may count. */
  scopes: readonly string[];
  onPatch: (patch: FieldPatch) => void;
  /** Called when the focus leaves the choice of the target. */
  onTargetLeft: () => void;
  /** Called after the choice of the target for a new relation. */
  onTarget: () => void;
  /** Adds a field after this field. */
  onAddLike: () => void;
}

const words = text.schema.fields;

/** An input of an option: its hint stands below. */
const line = {
  size: "xs",
  inputWrapperOrder: ["label", "input", "description", "error"],
} satisfies TextInputProps;

interface OptionProps extends Pick<FieldOptionsProps, "field" | "onPatch"> {
  problem: (part: Part) => string | undefined;
}

export const FieldOptions = memo(function FieldOptions(props: FieldOptionsProps) {
  const { field, problems, targets, scopes, onPatch, onTarget, onTargetLeft, onAddLike } = props;
  const has = attributesOf(field);
  const bounds = boundsOf({ type: field.type, multiple: field.isMultiple });
  const problem = (part: Part): string | undefined => problems.find((each) => each.part === part)?.message;
  const option = { field, onPatch, problem };
  return (
    <Stack gap="md" pt={4} pb={20} pr={16} pl={{ base: 16, sm: 70 }}>
      {has.has("collection") && (
        <TargetOptions {...option} targets={targets} onTarget={onTarget} onTargetLeft={onTargetLeft} />
      )}
      {has.has("sequence") && <SequenceOption field={field} scopes={scopes} onPatch={onPatch} />}
      {has.has("multiple") && (
        <Flag
          label={words.multiple}
          hint={words.multipleHint}
          isOn={field.isMultiple}
          onChange={(isMultiple) => onPatch({ isMultiple })}
        />
      )}
      {has.has("unique") && (
        <Flag
          label={words.unique}
          hint={words.uniqueHint}
          isOn={field.isUnique}
          onChange={(isUnique) => onPatch({ isUnique })}
        />
      )}
      {has.has("unique") && field.isUnique && (field.type === "string" || field.type === "text") && (
        <Flag
          label={words.ignoresCase}
          hint={words.ignoresCaseHint}
          isOn={field.ignoresCase}
          onChange={(ignoresCase) => onPatch({ ignoresCase })}
        />
      )}
      {has.has("format") && (
        <Choice
          {...line}
          maw={420}
          label={words.format}
          description={words.formatHints[field.format]}
          words={words.formats}
          value={field.format}
          onChange={(format) => onPatch({ format })}
        />
      )}
      {has.has("dimensions") && (
        <TextInput
          {...line}
          maw={260}
          label={words.dimensions}
          description={words.dimensionsHint}
          inputMode="numeric"
          value={field.dimensions}
          error={problem("dimensions")}
          disabled={field.stored?.dimensions !== undefined}
          onChange={(event) => onPatch({ dimensions: event.currentTarget.value })}
        />
      )}
      {has.has("metric") && (
        <Choice
          {...line}
          maw={420}
          label={words.metric}
          description={words.metricHints[field.metric]}
          words={words.metrics}
          value={field.metric}
          onChange={(metric) => onPatch({ metric })}
        />
      )}
      {bounds !== null && has.has("min") && (
        <SimpleGrid cols={2} spacing="md" maw={420}>
          <Bound {...option} bound="min" label={words.min[bounds]} />
          <Bound {...option} bound="max" label={words.max[bounds]} />
        </SimpleGrid>
      )}
      {has.has("regex") && <Pattern {...option} />}
      {has.has("values") && <Values {...option} />}
      {has.has("default") && <DefaultOption {...option} problem={problem("default")} />}
      <FieldRules field={field} onPatch={onPatch} />
      {(typesFor(field).length === 1 || problem("type") !== undefined) && (
        <Text size="xs" c={problem("type") === undefined ? "dimmed" : "var(--mantine-color-error)"}>
          {problem("type") ?? words.typeFixed}{" "}
          <Anchor component="button" type="button" size="xs" underline="always" onClick={onAddLike}>
            {words.addLike}
          </Anchor>
        </Text>
      )}
    </Stack>
  );
});

function Bound({ field, bound, label, problem, onPatch }: OptionProps & { bound: "min" | "max"; label: string }) {
  return (
    <TextInput
      size="xs"
      label={label}
      placeholder={words.noLimit}
      inputMode="decimal"
      value={field[bound]}
      error={problem(bound)}
      onChange={(event) => onPatch({ [bound]: event.currentTarget.value })}
    />
  );
}

function Pattern({ field: { regex }, problem, onPatch }: OptionProps) {
  return (
    <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="md" {...(regex === "" && { cols: 1, maw: 420 })}>
      <TextInput
        {...line}
        label={words.regex}
        description={words.regexHint}
        value={regex}
        error={problem("regex")}
        onChange={(event) => onPatch({ regex: event.currentTarget.value })}
        classNames={{ input: "mono" }}
        spellCheck={false}
        autoCapitalize="off"
      />
      {regex !== "" && problem("regex") === undefined && <RegexTest pattern={regex} />}
    </SimpleGrid>
  );
}

function Values({ field, problem, onPatch }: OptionProps) {
  const { came, gone } = valueChanges(field);
  return (
    <Stack gap="xs" maw={420}>
      <Textarea
        {...line}
        label={words.values}
        description={words.valuesHint}
        placeholder={words.valuesPlaceholder}
        value={field.values}
        error={problem("values")}
        onChange={(event) => onPatch({ values: event.currentTarget.value })}
        autosize
        minRows={1}
        maxRows={12}
        spellCheck={false}
      />
      {gone.length > 0 &&
        came.map((value) => (
          <Select
            key={value}
            {...line}
            label={words.valueWas(value)}
            placeholder={words.valueNew}
            data={[...gone]}
            value={field.renamedValues[value] ?? null}
            onChange={(from) => {
              const { [value]: _, ...others } = field.renamedValues;
              onPatch({ renamedValues: from === null ? others : { ...others, [value]: from } });
            }}
            clearable
          />
        ))}
    </Stack>
  );
}

type TargetOptionsProps = OptionProps & Pick<FieldOptionsProps, "targets" | "onTarget" | "onTargetLeft">;

function TargetOptions({ field, targets, onPatch, problem, onTarget, onTargetLeft }: TargetOptionsProps) {
  const [isFirst] = useState(field.stored === null && field.collection === "");
  // A deleted target stays visible: the form says that the collection does not exist.
  const names =
    field.collection === "" || targets.includes(field.collection) ? targets : [...targets, field.collection];
  return (
    <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="md">
      <Select
        {...line}
        label={words.target}
        placeholder={words.pickTarget}
        description={
          field.stored !== null ? words.targetHint : field.collection === "" ? words.newTargetHint : undefined
        }
        data={names.map((name) => ({ value: name, label: name === "users" ? words.usersTarget : name }))}
        value={field.collection === "" ? null : field.collection}
        onChange={(collection) => {
          onPatch({ collection: collection ?? "" });
          // The focus moves after the list has closed. With accounts as the target, the form asks a further question.
          if (isFirst && collection !== null && collection !== "users") requestAnimationFrame(onTarget);
        }}
        onBlur={onTargetLeft}
        selectFirstOptionOnDropdownOpen
        openOnFocus
        error={problem("collection")}
        searchable
        limit={200}
        allowDeselect={false}
        autoFocus={isFirst}
      />
      <Choice
        {...line}
        label={words.onDelete}
        description={words.onDeleteHints[field.onDelete ?? "nothing"]}
        words={words.onDeletes}
        value={field.onDelete ?? "nothing"}
        onChange={(next) => onPatch({ onDelete: next === "nothing" ? null : next })}
        error={problem("onDelete")}
      />
      {mayHave(field, "owner") && !isMultiple(field) && (
        <Flag
          mt={24}
          label={words.owner}
          hint={words.ownerHint}
          isOn={field.isOwner}
          error={problem("owner")}
          onChange={(isOwner) => onPatch({ isOwner })}
        />
      )}
    </SimpleGrid>
  );
}

function SequenceOption(props: {
  field: FieldDraft;
  /** Names of the fields by which the sequence may count. */
  scopes: readonly string[];
  onPatch: (patch: FieldPatch) => void;
}) {
  const { field, scopes, onPatch } = props;
  const { sequence } = field;
  const names = [...new Set([...scopes, ...(sequence ?? [])])];
  return (
    <Stack gap={6}>
      <Flag
        label={words.sequence}
        hint={words.sequenceHint}
        isOn={sequence !== null}
        onChange={(isOn) => onPatch({ sequence: isOn ? [] : null })}
      />
      {sequence !== null && (
        <MultiSelect
          size="xs"
          maw={420}
          label={words.sequenceBy}
          placeholder={sequence.length === 0 ? words.sequenceAll : ""}
          data={names}
          value={[...sequence]}
          maxValues={DEFINITION_LIMITS.scope}
          onChange={(next) => onPatch({ sequence: next })}
        />
      )}
    </Stack>
  );
}

const longestMs = 500;

type Outcome = "matches" | "fails" | "slow" | null;

/** Runs the pattern in a worker. After a time limit, the page ends the worker. */
function useTrial(pattern: string, value: string): Outcome {
  const [outcome, setOutcome] = useState<Outcome>(null);
  useEffect(() => {
    setOutcome(null);
    if (value === "" || pattern === "") return undefined;
    const worker = new Worker(new URL("./regex-worker.ts", import.meta.url), { type: "module" });
    // The time limit includes the load of the worker, which is a few lines of code.
    const timer = setTimeout(() => {
      worker.terminate();
      setOutcome("slow");
    }, longestMs);
    worker.addEventListener("message", ({ data }: MessageEvent<boolean | null>) => {
      clearTimeout(timer);
      worker.terminate();
      setOutcome(data === null ? null : data ? "matches" : "fails");
    });
    worker.postMessage({ pattern, value });
    return () => {
      clearTimeout(timer);
      worker.terminate();
    };
  }, [pattern, value]);
  return outcome;
}

function RegexTest({ pattern }: { pattern: string }) {
  const words = text.schema.fields;
  const [value, setValue] = useState("");
  const [tried] = useDebouncedValue(value, 150);
  const outcome = useTrial(pattern, tried);
  return (
    <TextInput
      size="xs"
      label={words.regexTest}
      value={value}
      maxLength={10_000}
      onChange={(event) => setValue(event.currentTarget.value)}
      description={
        <Group component="span" gap={4} mih={18} role="status">
          {outcome === "matches" && <IconCheck size={14} color="var(--socle-accent-text)" aria-hidden />}
          {outcome === "fails" && <IconX size={14} color="var(--mantine-color-error)" aria-hidden />}
          <Text span inherit>
            {outcome === "matches" && words.regexMatches}
            {outcome === "fails" && words.regexFails}
            {outcome === "slow" && words.regexSlow}
          </Text>
        </Group>
      }
      inputWrapperOrder={["label", "input", "description"]}
    />
  );
}
