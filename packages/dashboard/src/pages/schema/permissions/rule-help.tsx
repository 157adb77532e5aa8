/** The help for the author of a rule: the names for the rule, and the service's complaint about a rule. */
import { useQuery } from "@tanstack/react-query";
import { createContext, type ReactNode, useContext, useMemo } from "react";
import { type Schema, schemaOf } from "../../../kit/expression/index.ts";
import { collectionsQuery } from "../../../service/queries.ts";
import { changeOf, type StoredDefinition } from "../draft/change.ts";
import { definitionOf, keptFields, type SchemaDraft } from "../draft/draft.ts";
import type { RuleMistake } from "./rules.ts";
import { useRuleCheck } from "./use-rule-check.ts";

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
