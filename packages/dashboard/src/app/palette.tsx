/** The command palette (Ctrl/⌘-K): pages, collections, actions, runs and settings by their names; records, users and ids by a search. */
import { USERS } from "@socle/protocol";
import "@mantine/spotlight/styles.css";
import { useMantineColorScheme } from "@mantine/core";
import {
  createSpotlight,
  isActionsGroup,
  Spotlight,
  type SpotlightActionData,
  type SpotlightActionGroupData,
  type SpotlightProps,
} from "@mantine/spotlight";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import {
  IconBolt,
  IconClockPlay,
  IconDatabase,
  IconDownload,
  IconFileText,
  IconHash,
  IconHierarchy2,
  IconPlus,
  IconSchema,
  IconSearch,
  IconSettings,
  IconUpload,
  IconUserCircle,
} from "../icons/index.ts";
import { Keys } from "../kit/index.ts";
import { useScriptFiles } from "../service/live.ts";
import { collectionsQuery, configQuery } from "../service/queries.ts";
import { text } from "../texts/index.ts";
import { pages, themes } from "./navigation.tsx";
import classes from "./palette.module.css";
import { useFinds } from "./use-finds.ts";

type SpotlightActions = SpotlightProps["actions"][number];

const [store, spotlight] = createSpotlight();

/**
 * The actions whose label has all words of the query, in any order. Labels with the words at the begin of words come first, and so
 * do groups with these labels: "ord" means `orders` rather than "Records of comments".
 */
function matching(query: string, actions: SpotlightActions[]): SpotlightActions[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  /** 2 for the words at the begin of words, 1 for the words inside of words, 0 for a word that is missing. */
  const rank = ({ label = "" }: SpotlightActionData): number => {
    const [text, parts] = [label.toLowerCase(), label.toLowerCase().split(/[^\p{L}\p{N}]+/u)];
    if (words.every((word) => parts.some((part) => part.startsWith(word)))) return 2;
    return words.every((word) => text.includes(word)) ? 1 : 0;
  };
  const best = (each: SpotlightActions): number =>
    isActionsGroup(each) ? Math.max(...each.actions.map(rank)) : rank(each);
  return actions
    .flatMap((each): SpotlightActions[] => {
      if (!isActionsGroup(each)) return rank(each) > 0 ? [each] : [];
      const found = each.actions.filter((action) => rank(action) > 0).sort((a, b) => rank(b) - rank(a));
      return found.length === 0 ? [] : [{ ...each, actions: found }];
    })
    .sort((a, b) => best(b) - best(a));
}

/** Actions that are shown: without finds, and beside finds, which stand below. */
const [mostKnown, mostBesideFinds] = [30, 12];

/** The first actions of groups. */
function limited(groups: readonly SpotlightActions[], most: number): SpotlightActions[] {
  let left = most;
  return groups.flatMap((group): SpotlightActions[] => {
    if (!isActionsGroup(group) || left === 0) return [];
    const actions = group.actions.slice(0, left);
    left -= actions.length;
    return [{ ...group, actions }];
  });
}

const findKinds = [
  { kind: "byId", label: text.palette.byId, icon: IconHash },
  { kind: "records", label: text.palette.records, icon: IconFileText },
  { kind: "users", label: text.palette.users, icon: IconUserCircle },
] as const;

/** The name of a job, by its file. */
function jobOf(path: string): string {
  return path.replace(/^jobs\/|\.[a-z]+$/g, "");
}

function listElement(): HTMLElement | null {
  return document.getElementById(store.getState().listId);
}

/** Selects the first result: Enter runs the first result, and the arrows continue from there on. */
function selectFirst(): void {
  const list = listElement();
  for (const each of list?.querySelectorAll("[data-selected]") ?? []) each.removeAttribute("data-selected");
  list?.querySelector("[data-action]")?.setAttribute("data-selected", "true");
  store.updateState((state) => ({ ...state, selected: 0 }));
}

function runFirst(): void {
  listElement()?.querySelector<HTMLElement>("[data-action]")?.click();
}

function hasSelected(): boolean {
  return (listElement()?.querySelector("[data-selected]") ?? null) !== null;
}

/** An action, which its label identifies. */
function actionOf(label: string, Icon: typeof IconPlus, onClick: () => void): SpotlightActionData {
  return { id: label, label, leftSection: <Icon size={18} stroke={1.6} />, onClick };
}

interface PaletteProps {
  readonly query: string;
  readonly onQuery: (query: string) => void;
  /** Whether Enter was pressed while the palette was loaded: the first result runs at once. */
  readonly isEntered: boolean;
  /** Called when the search field has the focus: from now on, the field receives the keys. */
  readonly onFocus: () => void;
  readonly onClose: () => void;
}

export function Palette({ query, onQuery, isEntered, onFocus, onClose }: PaletteProps) {
  const navigate = useNavigate();
  const { setColorScheme } = useMantineColorScheme();
  const { data, isPending } = useQuery(collectionsQuery);
  const collections = data ?? [];
  const { data: config } = useQuery(configQuery);
  const scripts = { function: useScriptFiles("function", false) ?? [], job: useScriptFiles("job", false) ?? [] };
  const { finds, isSearching, isFailed } = useFinds(query, data);
  const [hasFocus, setFocus] = useState(false);
  useEffect(() => {
    spotlight.open();
    const timer = setTimeout(selectFirst, 50);
    return () => clearTimeout(timer);
  }, []);
  const [isEarly, setEarly] = useState(false);
  const perCollection = collections.flatMap(({ name }): SpotlightActionData[] => {
    const params = { name };
    const { tabs } = text.schema;
    const schema = (tab?: "permissions" | "indexes"): void =>
      void navigate({ to: "/collections/$name/schema", params, search: { tab } });
    const records = (search: { export?: true; record?: "new" }): void =>
      void navigate({ to: "/collections/$name", params, search });
    return [
      actionOf(text.palette.openRecords(name), IconDatabase, () => records({})),
      actionOf(text.palette.openTab(tabs.permissions, name), IconSchema, () => schema("permissions")),
      actionOf(text.palette.openTab(tabs.indexes, name), IconSchema, () => schema("indexes")),
      ...(name === USERS
        ? []
        : [
            actionOf(
              text.palette.importInto(name),
              IconUpload,
              () => void navigate({ to: "/collections/$name/import", params }),
            ),
          ]),
      actionOf(text.palette.exportOf(name), IconDownload, () => records({ export: true })),
      actionOf(text.palette.openSchema(name), IconSchema, () => schema()),
    ];
  });
  const newRecord = (name: string): void =>
    void (name === USERS
      ? navigate({ to: "/users", search: { user: "new" } })
      : navigate({ to: "/collections/$name", params: { name }, search: { record: "new" } }));
  const actions: SpotlightActionData[] = [
    actionOf(text.palette.newCollection, IconPlus, () => void navigate({ to: "/collections/-/new" })),
    actionOf(text.palette.diagram, IconHierarchy2, () => void navigate({ to: "/collections/-/diagram" })),
    ...themes.map(({ value, label, icon }) => actionOf(text.palette.theme(label), icon, () => setColorScheme(value))),
    ...collections.map(({ name }) => actionOf(text.palette.newRecord(name), IconPlus, () => newRecord(name))),
  ];
  const groups: SpotlightActionGroupData[] = [
    {
      group: text.palette.pages,
      actions: [
        ...pages.map(({ to, label, icon, keys }) => ({
          ...actionOf(label, icon, () => void navigate({ to })),
          rightSection: <Keys keys={keys} />,
        })),
        actionOf(text.account.title, IconUserCircle, () => void navigate({ to: "/account" })),
      ],
    },
    { group: text.palette.collections, actions: perCollection },
    { group: text.palette.actions, actions },
  ];
  const isTyped = query.trim() !== "";
  const named: SpotlightActionGroupData[] = [
    {
      group: text.palette.code,
      actions: [
        ...scripts.function
          .filter(({ kind }) => kind === "function")
          .map(({ filePath: file }) =>
            actionOf(
              text.palette.runsOf(file),
              IconBolt,
              () => void navigate({ to: "/functions", search: { tab: "runs", file } }),
            ),
          ),
        ...scripts.job
          .map(({ filePath }) => jobOf(filePath))
          .map((job) =>
            actionOf(text.palette.job(job), IconClockPlay, () => void navigate({ to: "/jobs", search: { job } })),
          ),
      ],
    },
    {
      group: text.palette.settings,
      actions: (config?.keys ?? []).map(({ key }) =>
        actionOf(key, IconSettings, () => void navigate({ to: "/settings", search: { search: key } })),
      ),
    },
  ];
  const known = matching(query, isTyped ? [...groups, ...named] : groups);
  const found = findKinds.flatMap(({ kind, label, icon: Icon }): SpotlightActionGroupData[] => {
    const actions = finds
      .filter((find) => find.kind === kind)
      .map(({ id, label, about, link }) => ({
        ...actionOf(label, Icon, () => void navigate(link)),
        id,
        description: about,
      }));
    return actions.length === 0 ? [] : [{ group: label, actions }];
  });
  const shown = [...limited(known, found.length === 0 ? mostKnown : mostBesideFinds), ...found];
  const isEmpty = shown.length === 0;
  useEffect(() => {
    if (!isEmpty && !hasSelected()) selectFirst();
  }, [isEmpty]);
  const isWaiting = isPending || (isEmpty && isSearching);
  useEffect(() => {
    if ((isEntered || isEarly) && hasFocus && !isWaiting) runFirst();
  }, [isEntered, isEarly, hasFocus, isWaiting]);

  return (
    <Spotlight
      store={store}
      shortcut={null}
      actions={shown}
      highlightQuery
      filter={(_query, actions) => actions}
      // The search field keeps its position while the list below grows and shrinks.
      attributes={{ content: { "aria-label": text.shortcuts.palette } }}
      centered={false}
      yOffset="12vh"
      classNames={{ action: classes["action"] ?? "" }}
      query={query}
      onQueryChange={(next) => {
        onQuery(next);
        setEarly(false);
        setTimeout(selectFirst, 0);
      }}
      overlayProps={{ backgroundOpacity: 0.4, blur: 0 }}
      scrollable
      maxHeight={440}
      nothingFound={isSearching ? text.palette.searching : isFailed ? text.palette.failed : text.palette.nothing}
      onSpotlightClose={onClose}
      searchProps={{
        onFocus: () => {
          setFocus(true);
          onFocus();
        },
        // Before a result is selected, Enter would run none.
        onKeyDown: ({ key }) => key === "Enter" && !hasSelected() && setEarly(true),
        leftSection: <IconSearch size={18} />,
        placeholder: text.palette.placeholder,
        "aria-label": text.palette.placeholder,
      }}
    />
  );
}
