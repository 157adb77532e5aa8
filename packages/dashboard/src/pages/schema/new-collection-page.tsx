/** The page of a new collection: blank, from a preset, or as a copy. Without data, a new collection needs no review. */
import { Anchor, Box, Group, SegmentedControl, TextInput } from "@mantine/core";
import { USERS } from "@socle/protocol";
import { useMutation, useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { type RefObject, useEffect, useMemo, useRef, useState } from "react";
import {
  Action,
  Complaint,
  choicesOf,
  Dim,
  FilledPage,
  messageOf,
  notifyDone,
  QueryView,
  useShortcut,
} from "../../kit/index.ts";
import { client } from "../../service/client.ts";
import { collectionsQuery, overviewQuery, queryClient } from "../../service/queries.ts";
import { text } from "../../texts/index.ts";
import { BackToCollections } from "../records/head-actions.tsx";
import { defaultPermissions, definitionOf, keptFields, type SchemaDraft } from "./draft/draft.ts";
import { blankDraft, copyDraft, type PresetName, presetDraft, presetNames } from "./draft/presets.ts";
import { ChangeBar, RestoredNotice } from "./notices.tsx";
import classes from "./schema.module.css";
import { ShortcutKeys } from "./schema-page.tsx";
import { type SchemaTab, SchemaTabs, tabOf, useTabChange } from "./schema-tabs.tsx";
import { useSchemaForm } from "./use-schema-form.ts";

const words = text.schema;

function NewCollectionForm(props: {
  /** The collection to copy. */
  source: string | null;
  first: SchemaDraft;
  /** Names of the existing collections. */
  names: readonly string[];
  tab: SchemaTab;
}) {
  const { source, first, names, tab } = props;
  const navigate = useNavigate();
  const changeTab = useTabChange();
  const surroundings = useMemo(() => ({ collections: names, isNew: true }), [names]);
  const form = useSchemaForm({ storageKey: `-${source ?? first.name}`, first, base: null, surroundings });
  const { draft, problems, shown, apply, isDirty } = form;
  const [wasTried, setTried] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const name = draft.name.trim();
  // A relation may point to the new collection itself, and the new name may equal an existing name.
  const targets = useMemo(() => [...new Set([...names, ...(name === "" ? [] : [name]), "users"])], [names, name]);
  const nameProblem = shown.find(({ key, part }) => key === null && part === "name")?.message;

  const creation = useMutation({
    mutationFn: () => {
      const definition = definitionOf(draft);
      // The service has users already: their first definition is a change.
      if (definition.name === USERS) return client.admin.collections.update(USERS, definition);
      return client.admin.collections.create(definition);
    },
    onSuccess: async (entry) => {
      form.forget();
      notifyDone(words.created(entry.name));
      await navigate({ to: "/collections/$name", params: { name: entry.name } });
      void queryClient.invalidateQueries({ queryKey: collectionsQuery.queryKey });
      void queryClient.invalidateQueries({ queryKey: overviewQuery.queryKey });
    },
  });
  const create = (): void => {
    setTried(true);
    form.settle();
    const problem = problems[0];
    if (form.pending !== null) changeTab("json");
    else if (problem === undefined) {
      if (!creation.isPending) creation.mutate();
    } else if (problem.key === null && problem.part === "name" && input.current !== null) input.current.focus();
    else changeTab(tabOf(problem, draft));
  };
  useShortcut({ keys: "mod+s", label: words.shortcutSave, group: words.group }, create);
  useShortcut({ keys: "mod+Enter", label: words.shortcutSave, group: words.group }, create);
  // Another user may create a collection of this name meanwhile.
  useEffect(
    () =>
      client.subscribe("system.collection.created", () => {
        void queryClient.invalidateQueries({ queryKey: collectionsQuery.queryKey });
      }),
    [],
  );
  const restart = (preset: PresetName): void =>
    apply({ edit: "replace", draft: presetDraft(preset, presetNames.some((each) => each === name) ? "" : name) });
  const isDefault = JSON.stringify(draft.permissions) === JSON.stringify(defaultPermissions);

  return (
    <>
      <div className={`stretch ${classes["body"]}`} {...form.inputs}>
        {form.wasRestored && isDirty && (
          <Box px={16} py={12}>
            <RestoredNotice onDiscard={() => form.reset(first, null)} onClose={form.acknowledge} />
          </Box>
        )}
        <SchemaTabs
          form={form}
          tab={tab}
          stored={null}
          surroundings={surroundings}
          targets={targets}
          lead={
            <Box className={classes["start"]} px={{ base: 12, sm: 16 }} py={16}>
              {source === null ? (
                <Presets onPick={restart} />
              ) : (
                <Dim size="sm" mb="sm">
                  {words.copyOf(source)}
                </Dim>
              )}
              <NameInput
                ref={input}
                value={draft.name}
                onChange={(next) => apply({ edit: "name", name: next })}
                error={draft.name !== "" || wasTried ? nameProblem : undefined}
              />
            </Box>
          }
          foot={
            isDefault && (
              <Dim px={{ base: 12, sm: 16 }} pb={20}>
                {words.defaults}{" "}
                <Anchor
                  component="button"
                  type="button"
                  size="xs"
                  underline="always"
                  onClick={() => changeTab("permissions")}
                >
                  {words.changeDefaults}
                </Anchor>
              </Dim>
            )
          }
        />
      </div>
      {creation.isError && (
        <Complaint px="md" py="xs">
          {messageOf(creation.error)}
        </Complaint>
      )}
      <ChangeBar
        summary={words.fieldCount(keptFields(draft).length)}
        problems={isDirty ? shown.filter(({ part }) => part !== "name" || wasTried).length : 0}
      >
        <Action
          label={words.create}
          onClick={create}
          loading={creation.isPending}
          rightSection={<ShortcutKeys />}
          variant="filled"
        />
      </ChangeBar>
    </>
  );
}

interface NameInputProps {
  ref: RefObject<HTMLInputElement | null>;
  value: string;
  onChange: (name: string) => void;
  error: string | undefined;
}

/** The name of the collection. Enter moves the focus to the first field. */
function NameInput({ ref, value, onChange, error }: NameInputProps) {
  return (
    <TextInput
      ref={ref}
      label={words.name}
      description={words.nameHint}
      inputWrapperOrder={["label", "input", "description", "error"]}
      placeholder={words.namePlaceholder}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
      error={error}
      maw={420}
      classNames={{ input: "mono" }}
      spellCheck={false}
      autoComplete="off"
      autoCapitalize="off"
      maxLength={200}
      autoFocus
      onKeyDown={(event) => {
        if (event.key !== "Enter" || event.ctrlKey || event.metaKey || event.nativeEvent.isComposing) return;
        event.preventDefault();
        const first = document.querySelector<HTMLElement>("[data-field-name]");
        if (first !== null) first.focus();
        else document.querySelector<HTMLElement>("[data-field-adder]")?.click();
      }}
    />
  );
}

/** The presets. The presets come before the name, so that Tab goes from the name to the first field. */
function Presets({ onPick }: { onPick: (preset: PresetName) => void }) {
  const [chosen, setChosen] = useState<PresetName>("blank");
  return (
    <Group gap="sm" mb="md">
      <Dim size="sm" id="presets">
        {words.presets}
      </Dim>
      <SegmentedControl
        size="xs"
        aria-labelledby="presets"
        value={chosen}
        data={choicesOf(words.presetNames)}
        onChange={(preset) => {
          setChosen(preset);
          onPick(preset);
        }}
      />
    </Group>
  );
}

const route = getRouteApi("/inside/collections/-/new");

export function NewCollectionPage() {
  const { tab = "fields", from, name } = route.useSearch();
  const query = useQuery(collectionsQuery);
  return (
    <FilledPage title={text.schema.newTitle} back={<BackToCollections />}>
      <QueryView query={query}>
        {(collections) => {
          const names = collections.map(({ name }) => name);
          const source = collections.find(({ name }) => name === from);
          return (
            <NewCollectionForm
              key={source?.name ?? name ?? ""}
              source={source?.name ?? null}
              first={source === undefined ? blankDraft(name) : copyDraft(source.definition, names)}
              names={names}
              tab={tab}
            />
          );
        }}
      </QueryView>
    </FilledPage>
  );
}
