/** Asks the service during typing whether the expressions of a draft are valid. The check changes no data. */
import { useDebouncedValue } from "@mantine/hooks";
import { SocleError } from "@socle/client";
import type { CollectionDefinition, Rule } from "@socle/protocol";
import { useQuery } from "@tanstack/react-query";
import { client } from "../../../service/client.ts";
import { isWord, mistakeOf, type RuleMistake } from "./rules.ts";

const quietMs = 350;

/** The draft for the service: the body of a change, or the definition of a new collection. */
export interface CheckedDraft {
  /** The stored collection to change; null for a new collection. */
  readonly name: string | null;
  readonly definition: CollectionDefinition;
  readonly change: Parameters<typeof client.admin.collections.update>[1] | null;
}

async function ask({ name, definition, change }: CheckedDraft): Promise<RuleMistake | null> {
  try {
    if (name === null) await client.admin.collections.planCreate(definition);
    else if (change !== null) await client.admin.collections.planUpdate(name, change);
    return null;
  } catch (error) {
    // The review of the change shows other refusals.
    if (error instanceof SocleError && error.status === 400) return mistakeOf(error.message);
    throw error;
  }
}

export function useRuleCheck(draft: CheckedDraft): RuleMistake | null {
  const [asked] = useDebouncedValue(JSON.stringify(draft), quietMs);
  const { fields, permissions } = draft.definition;
  const rules = [permissions ?? {}, ...fields.map((field) => field.permissions ?? {})].flatMap(Object.values<Rule>);
  const { data = null } = useQuery({
    queryKey: ["rule check", asked],
    // This code has written the text from a `CheckedDraft`.
    queryFn: () => ask(JSON.parse(asked) as CheckedDraft),
    enabled: rules.some((rule) => !isWord(rule) && rule.trim() !== ""),
    staleTime: 10_000,
    retry: false,
  });
  return asked === JSON.stringify(draft) ? data : null;
}
