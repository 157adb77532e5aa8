/** The list of fields: sorted by drag or by keyboard, with a button that adds a field. */
import { Group } from "@mantine/core";
import { isAccountField } from "@socle/protocol";
import { useCallback, useMemo, useRef, useState } from "react";
import { IconPlus } from "../../../icons/index.ts";
import { Action, CodeText, Dim, EmptyState, useShortcut } from "../../../kit/index.ts";
import { Sortable } from "../../../kit/sortable.tsx";
import { TypeIcon } from "../../../kit/type-icon.tsx";
import { text } from "../../../texts/index.ts";
import type { Problem } from "../draft/checks.ts";
import { type SchemaDraft, scopesIn } from "../draft/draft.ts";
import { type Edit, nextKey } from "../draft/edits.ts";
import { AccountRow } from "./account-row.tsx";
import { FieldRow } from "./field-row.tsx";

interface FieldsTabProps {
  draft: SchemaDraft;
  apply: (edit: Edit) => void;
  problems: readonly Problem[];
  /** Names of the collections that may be targets of a relation, with "users". */
  targets: readonly string[];
  isNewCollection: boolean;
}

const words = text.schema.fields;
const noProblems: readonly Problem[] = [];

export function FieldsTab({ draft, apply, problems, targets, isNewCollection }: FieldsTabProps) {
  const scopeNames = scopesIn(draft).join(" ");
  // The same array while the names are equal: rows compare the array.
  const scopes = useMemo(() => scopeNames.split(" ").filter((name) => name !== ""), [scopeNames]);
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const [focus, setFocus] = useState({ key: "", turn: 0 });
  const latest = useRef(draft);
  latest.current = draft;
  const adder = useRef<HTMLButtonElement>(null);
  const byField = useMemo(() => {
    const map = new Map<string, Problem[]>();
    for (const problem of problems)
      if (problem.key !== null) map.set(problem.key, [...(map.get(problem.key) ?? []), problem]);
    return map;
  }, [problems]);

  const goTo = useCallback((key: string): void => setFocus(({ turn }) => ({ key, turn: turn + 1 })), []);
  const add = useCallback(
    (after?: string): void => {
      const key = nextKey(latest.current);
      apply({ edit: "addField", ...(after !== undefined && { after }) });
      goTo(key);
    },
    [apply, goTo],
  );
  const next = useCallback(
    (key: string): void => {
      const { fields } = latest.current;
      const place = fields.findIndex((field) => field.key === key);
      const following = fields.slice(place + 1).find(({ isDropped }) => !isDropped);
      if (following === undefined) add();
      else goTo(following.key);
    },
    [add, goTo],
  );
  const toggle = useCallback((key: string): void => {
    setOpen((keys) => (keys.has(key) ? new Set([...keys].filter((each) => each !== key)) : new Set([...keys, key])));
  }, []);
  const remove = useCallback(
    (key: string): void => {
      const { fields } = latest.current;
      const place = fields.findIndex((field) => field.key === key);
      apply({ edit: "removeField", key });
      // The removed row may have had the focus.
      const neighbour = fields[place - 1] ?? fields[place + 1];
      if (neighbour === undefined) adder.current?.focus();
      else goTo(neighbour.key);
    },
    [apply, goTo],
  );
  const addAfter = useCallback((key: string): void => add(key), [add]);
  // The fields of an account stand first, and stay there.
  const account = draft.fields.filter(({ stored }) => isAccountField(draft.name.trim(), stored?.name ?? ""));
  const fields = draft.fields.slice(account.length);
  const ids = fields.map(({ key }) => key);
  useShortcut({ keys: "a", label: text.schema.shortcutAdd, group: text.schema.group }, () => add());

  return (
    <>
      <Sortable
        ids={ids}
        nameOf={(at) => fields[at]?.name || words.unnamed}
        onMove={(from, to) => apply({ edit: "moveField", key: ids[from] ?? "", over: ids[to] ?? "" })}
      >
        {account.length > 0 && (
          <ul className="plain" aria-label={words.accountList}>
            {account.map((field) => (
              <AccountRow key={field.key} field={field} isOpen={open.has(field.key)} apply={apply} onToggle={toggle} />
            ))}
          </ul>
        )}
        {fields.length === 0 && (
          <EmptyState icon={() => <TypeIcon type="string" size={26} />} title={words.empty} body={words.emptyBody} />
        )}
        {fields.length > 0 && (
          <ul className="plain" aria-label={words.list}>
            {fields.map((field) => (
              <FieldRow
                key={field.key}
                field={field}
                problems={byField.get(field.key) ?? noProblems}
                targets={targets}
                scopes={scopes}
                isNewCollection={isNewCollection}
                isOpen={open.has(field.key)}
                focus={focus.key === field.key ? focus.turn : 0}
                apply={apply}
                onToggle={toggle}
                onNext={next}
                onAddAfter={addAfter}
                onRemove={remove}
              />
            ))}
          </ul>
        )}
      </Sortable>
      <Group px={{ base: 12, sm: 16 }} py={12} gap="md">
        <Action icon={IconPlus} label={words.add} ref={adder} variant="light" onClick={() => add()} data-field-adder />
        <Dim>
          {words.addHint} <CodeText text={words.system} />
        </Dim>
      </Group>
    </>
  );
}
