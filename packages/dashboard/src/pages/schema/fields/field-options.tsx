/** The options of a field, below its row. */

import { Anchor, Select, SimpleGrid, Stack, Switch, Text, Textarea, TextInput } from "@mantine/core";
import { memo, useState } from "react";
import { Choice } from "../../../kit/index.ts";
import { text } from "../../../texts/index.ts";
import type { Part, Problem } from "../draft/checks.ts";
import { hasDefault } from "../draft/defaults.ts";
import type { FieldDraft } from "../draft/draft.ts";
import type { FieldPatch } from "../draft/edits.ts";
import { rulesOf } from "../draft/rules.ts";
import { DefaultOption } from "./default-option.tsx";
import { FieldRules } from "./field-rules.tsx";
import classes from "./fields.module.css";
import { RegexTest } from "./regex-test.tsx";
import { SequenceOption } from "./sequence-option.tsx";

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

export const FieldOptions = memo(function FieldOptions(props: FieldOptionsProps) {
  const { field, problems, targets, scopes, onPatch, onTarget, onTargetLeft, onAddLike } = props;
  const { bounds, regex, unique, target, values, multiple } = rulesOf(field);
  const isNumbered = field.type === "integer" && field.sequence !== null;
  const problem = (part: Part): string | undefined => problems.find((each) => each.part === part)?.message;
  return (
    <Stack gap="md" className={classes["options"]}>
      {target && (
        <TargetOptions
          field={field}
          targets={targets}
          onPatch={onPatch}
          problem={problem}
          onTarget={onTarget}
          onTargetLeft={onTargetLeft}
        />
      )}
      {field.type === "integer" && <SequenceOption field={field} scopes={scopes} onPatch={onPatch} />}
      {multiple && (
        <Switch
          size="xs"
          label={words.multiple}
          description={words.multipleHint}
          checked={field.isMultiple}
          onChange={(event) => onPatch({ isMultiple: event.currentTarget.checked })}
        />
      )}
      {unique && !isNumbered && (
        <Switch
          size="xs"
          label={words.unique}
          description={words.uniqueHint}
          checked={field.isUnique}
          onChange={(event) => onPatch({ isUnique: event.currentTarget.checked })}
        />
      )}
      {bounds !== null && !isNumbered && (
        <SimpleGrid cols={2} spacing="md" maw={420}>
          <TextInput
            size="xs"
            label={words.min[bounds]}
            placeholder={words.noLimit}
            inputMode="decimal"
            value={field.min}
            error={problem("min")}
            onChange={(event) => onPatch({ min: event.currentTarget.value })}
          />
          <TextInput
            size="xs"
            label={words.max[bounds]}
            placeholder={words.noLimit}
            inputMode="decimal"
            value={field.max}
            error={problem("max")}
            onChange={(event) => onPatch({ max: event.currentTarget.value })}
          />
        </SimpleGrid>
      )}
      {regex && (
        <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="md" {...(field.regex === "" && { cols: 1, maw: 420 })}>
          <TextInput
            size="xs"
            label={words.regex}
            description={words.regexHint}
            inputWrapperOrder={["label", "input", "description", "error"]}
            value={field.regex}
            error={problem("regex")}
            onChange={(event) => onPatch({ regex: event.currentTarget.value })}
            classNames={{ input: "mono" }}
            spellCheck={false}
            autoCapitalize="off"
          />
          {field.regex !== "" && problem("regex") === undefined && <RegexTest pattern={field.regex} />}
        </SimpleGrid>
      )}
      {values && (
        <Textarea
          size="xs"
          maw={420}
          label={words.values}
          description={words.valuesHint}
          inputWrapperOrder={["label", "input", "description", "error"]}
          placeholder={words.valuesPlaceholder}
          value={field.values}
          error={problem("values")}
          onChange={(event) => onPatch({ values: event.currentTarget.value })}
          autosize
          minRows={1}
          maxRows={12}
          spellCheck={false}
        />
      )}
      {hasDefault(field) && !isNumbered && (
        <DefaultOption field={field} onPatch={onPatch} problem={problem("default")} />
      )}
      <FieldRules field={field} onPatch={onPatch} />
      {field.stored !== null && (
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

function TargetOptions(props: {
  field: FieldDraft;
  targets: readonly string[];
  onPatch: (patch: FieldPatch) => void;
  problem: (part: Part) => string | undefined;
  onTarget: () => void;
  onTargetLeft: () => void;
}) {
  const { field, targets, onPatch, problem, onTarget, onTargetLeft } = props;
  const [isFirst] = useState(field.stored === null && field.collection === "");
  // A deleted target stays visible: the form says that the collection does not exist.
  const names =
    field.collection === "" || targets.includes(field.collection) ? targets : [...targets, field.collection];
  return (
    <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="md">
      <Select
        size="xs"
        label={words.target}
        placeholder={words.pickTarget}
        description={
          field.stored !== null ? words.targetHint : field.collection === "" ? words.newTargetHint : undefined
        }
        inputWrapperOrder={["label", "input", "description", "error"]}
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
        label={words.onDelete}
        description={words.onDeleteHints[field.onDelete ?? "nothing"]}
        inputWrapperOrder={["label", "input", "description", "error"]}
        words={words.onDeletes}
        value={field.onDelete ?? "nothing"}
        onChange={(next) => onPatch({ onDelete: next === "nothing" ? null : next })}
        error={problem("onDelete")}
      />
      {rulesOf(field).owner && (
        <Switch
          size="xs"
          mt={24}
          label={words.owner}
          description={words.ownerHint}
          checked={field.isOwner}
          error={problem("owner")}
          onChange={(event) => onPatch({ isOwner: event.currentTarget.checked })}
        />
      )}
    </SimpleGrid>
  );
}
