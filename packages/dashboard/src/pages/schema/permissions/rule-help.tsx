/** The help for the author of a rule, and the editor: the names for the rule, the complaint of the service about a rule. */
import { Stack, Text } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { SocleError } from "@socle/client";
import { type CollectionDefinition, isRuleWord, type Rule, USERS } from "@socle/protocol";
import { useQuery } from "@tanstack/react-query";
import { createContext, type ReactNode, useContext, useId, useMemo } from "react";
import { ExpressionEditor, errorPosition, type Schema, schemaOf } from "../../../kit/expression/index.ts";
import { Dim } from "../../../kit/words.tsx";
import { client } from "../../../service/client.ts";
import { collectionsQuery } from "../../../service/queries.ts";
import { text } from "../../../texts/index.ts";
import { changeOf, type StoredDefinition } from "../draft/change.ts";
import { definitionOf, keptFields, type SchemaDraft } from "../draft/draft.ts";
import { mistakeOf, type RuleMistake } from "./rules.ts";

interface RuleHelp {
  readonly collection: string;
  readonly schema: Schema;
  /** The name of the owner field. */
  readonly ownerField: string | undefined;
  readonly mistake: RuleMistake | null;
}

const RuleHelpContext = createContext<RuleHelp | null>(null);

export function useRuleHelp(): RuleHelp {
  const help = useContext(RuleHelpContext);
  if (help === null) throw new Error("A rule is written outside of its draft");
  return help;
}

/** @param props `base`: the stored definition at the start of the draft; null for a new collection. */
export function RuleHelpProvider(props: { draft: SchemaDraft; base: StoredDefinition | null; children: ReactNode }) {
  const { draft, base, children } = props;
  const definition = useMemo(() => definitionOf(draft), [draft]);
  const change = useMemo(() => (base === null ? null : changeOf(draft, base.definition)), [draft, base]);
  const mistake = useRuleCheck({ name: base?.definition.name ?? null, definition, change });
  const { data: collections } = useQuery(collectionsQuery);
  const help = useMemo(() => {
    const others = (collections ?? []).filter(({ name }) => name !== definition.name);
    // The fields of the draft, under their new names.
    const schema = schemaOf([...others, definition]);
    const ownerField = keptFields(draft).find(({ isOwner }) => isOwner)?.name;
    return { collection: definition.name, schema, ownerField, mistake };
  }, [collections, definition, draft, mistake]);
  return <RuleHelpContext value={help}>{children}</RuleHelpContext>;
}

const quietMs = 350;

/** The draft for the service: the body of a change, or the definition of a new collection. */
interface CheckedDraft {
  /** The stored collection to change; null for a new collection. */
  readonly name: string | null;
  readonly definition: CollectionDefinition;
  readonly change: Parameters<typeof client.admin.collections.update>[1] | null;
}

async function ask({ name, definition, change }: CheckedDraft): Promise<RuleMistake | null> {
  try {
    if (name === null && definition.name === USERS) await client.admin.collections.planUpdate(USERS, definition);
    else if (name === null) await client.admin.collections.planCreate(definition);
    else if (change !== null) await client.admin.collections.planUpdate(name, change);
    return null;
  } catch (error) {
    // The review of the change shows other refusals.
    if (error instanceof SocleError && error.status === 400) return mistakeOf(error.message);
    throw error;
  }
}

function useRuleCheck(draft: CheckedDraft): RuleMistake | null {
  const [asked] = useDebouncedValue(JSON.stringify(draft), quietMs);
  const { fields, permissions } = draft.definition;
  const rules = [permissions ?? {}, ...fields.map((field) => field.permissions ?? {})].flatMap(Object.values<Rule>);
  const { data = null } = useQuery({
    queryKey: ["rule check", asked],
    // This code has written the text from a `CheckedDraft`.
    queryFn: () => ask(JSON.parse(asked) as CheckedDraft),
    enabled: rules.some((rule) => !isRuleWord(rule) && rule.trim() !== ""),
    staleTime: 10_000,
    retry: false,
  });
  return asked === JSON.stringify(draft) ? data : null;
}

const words = text.schema.permissions;

export function RuleEditor(props: {
  /** The accessible name. */
  label: string;
  value: string;
  /** The time of the check, in words. */
  hint: string;
  mistake: string | undefined;
  autoFocus: boolean;
  onChange: (value: string) => void;
}) {
  const { label, value, hint, mistake, autoFocus, onChange } = props;
  const { collection, schema } = useRuleHelp();
  const errorId = useId();
  const message = value.trim() === "" ? words.emptyRule : mistake;
  return (
    <Stack gap={6}>
      <ExpressionEditor
        collection={collection}
        value={value}
        schema={schema}
        label={label}
        placeholder={words.expressionPlaceholder}
        errorAt={message === undefined ? null : errorPosition(message)}
        errorId={message === undefined ? undefined : errorId}
        isWrapped
        autoFocus={autoFocus}
        onChange={onChange}
      />
      {message !== undefined && (
        <Text id={errorId} size="xs" c="var(--mantine-color-error)" role="alert">
          {message}
        </Text>
      )}
      <Dim>{hint}</Dim>
    </Stack>
  );
}
