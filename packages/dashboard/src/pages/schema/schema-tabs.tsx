/** The four tabs of a draft, chosen by the page's address. */
import { Badge, Stack, Tabs } from "@mantine/core";
import type { CollectionDefinition } from "@socle/protocol";
import { useNavigate } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { text } from "../../texts/index.ts";
import type { SchemaSearch } from "../search.ts";
import type { Problem, Surroundings } from "./draft/checks.ts";
import type { SchemaDraft } from "./draft/draft.ts";
import { FieldsTab } from "./fields/fields-tab.tsx";
import { IndexesTab } from "./indexes/indexes-tab.tsx";
import { JsonTab } from "./json/json-tab.tsx";
import { changesRules, EffectPanel } from "./permissions/effect-panel.tsx";
import { PermissionsTab } from "./permissions/permissions-tab.tsx";
import { RuleHelpProvider } from "./permissions/rule-help.tsx";
import { TrialPanel } from "./permissions/trial-panel.tsx";
import classes from "./schema.module.css";
import type { SchemaForm } from "./use-schema-form.ts";

export type SchemaTab = NonNullable<SchemaSearch["tab"]>;

const tabs: readonly SchemaTab[] = ["fields", "permissions", "indexes", "json"];

/** Writes the tab into the address of the open page. */
export function useTabChange(): (tab: SchemaTab) => void {
  const navigate = useNavigate();
  return (tab) =>
    void navigate({
      to: ".",
      search: (search) => ({ ...search, tab: tab === "fields" ? undefined : tab }),
      replace: true,
    });
}

/** The tab with the input of a problem. The name of the collection is above all tabs. */
export function tabOf({ key, part }: Problem, draft: SchemaDraft): SchemaTab {
  if (key !== null) return draft.indexes.some((index) => index.key === key) ? "indexes" : "fields";
  if (part === "rule") return "permissions";
  return part === "search" ? "indexes" : "fields";
}

export function SchemaTabs(props: {
  form: SchemaForm;
  tab: SchemaTab;
  stored: CollectionDefinition | null;
  surroundings: Surroundings;
  targets: readonly string[];
  /** Shown above the fields. */
  lead?: ReactNode;
  /** Shown below the fields and the permissions. */
  foot?: ReactNode;
}) {
  const { form, tab, stored, surroundings, targets, lead, foot } = props;
  const { draft, apply, problems, shown, pending, setPending } = form;
  const change = useTabChange();
  const countOf = (of: SchemaTab): number =>
    shown.filter((each) => (each.key !== null || each.part !== "name") && tabOf(each, draft) === of).length;
  const counts = {
    fields: countOf("fields"),
    permissions: countOf("permissions"),
    indexes: countOf("indexes"),
    json: pending === null ? 0 : 1,
  };
  return (
    <RuleHelpProvider draft={draft} base={form.base}>
      <Tabs
        value={tab}
        onChange={(value) => change(tabs.find((each) => each === value) ?? "fields")}
        className={classes["tabs"]}
        keepMounted={false}
      >
        <Tabs.List px="sm" aria-label={text.schema.tabsLabel} className={classes["tabList"]}>
          {tabs.map((each) => (
            <Tabs.Tab
              key={each}
              value={each}
              rightSection={
                counts[each] > 0 && (
                  <Badge size="xs" circle color="red.8" aria-label={text.schema.problemCount(counts[each])}>
                    {counts[each]}
                  </Badge>
                )
              }
            >
              {text.schema.tabs[each]}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value="fields">
          {lead}
          <FieldsTab draft={draft} apply={apply} problems={shown} targets={targets} isNewCollection={stored === null} />
          {foot}
        </Tabs.Panel>
        <Tabs.Panel value="permissions">
          <PermissionsTab draft={draft} apply={apply}>
            {form.base !== null && (
              <Stack>
                {form.change !== null && changesRules(form.change) && problems.length === 0 && (
                  <EffectPanel name={form.base.definition.name} change={form.change} />
                )}
                <TrialPanel name={form.base.definition.name} isDirty={form.change?.permissions !== undefined} />
              </Stack>
            )}
          </PermissionsTab>
        </Tabs.Panel>
        <Tabs.Panel value="indexes">
          <IndexesTab draft={draft} apply={apply} problems={shown} />
        </Tabs.Panel>
        <Tabs.Panel value="json" className={classes["jsonPanel"]}>
          <JsonTab
            draft={draft}
            stored={stored}
            surroundings={surroundings}
            apply={apply}
            pending={pending}
            onPending={setPending}
          />
        </Tabs.Panel>
      </Tabs>
    </RuleHelpProvider>
  );
}
