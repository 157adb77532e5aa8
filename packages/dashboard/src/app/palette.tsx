/** The command palette (Ctrl/⌘-K): every page, every collection, the main actions. */
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
import {
  IconDatabase,
  IconDownload,
  IconHierarchy2,
  IconPlus,
  IconSchema,
  IconSearch,
  IconUpload,
} from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useEffect } from "react";
import { Keys } from "../kit/index.ts";
import { collectionsQuery } from "../service/queries.ts";
import { text } from "../texts/index.ts";
import { pages, themes } from "./navigation.tsx";
import classes from "./palette.module.css";

type SpotlightActions = SpotlightProps["actions"][number];

const [store, spotlight] = createSpotlight();

/** The actions whose label has all words of the query, in any order. */
function matching(query: string, actions: SpotlightActions[]): SpotlightActions[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const has = ({ label = "" }: SpotlightActionData): boolean =>
    words.every((word) => label.toLowerCase().includes(word));
  return actions.flatMap((each): SpotlightActions[] => {
    if (!isActionsGroup(each)) return has(each) ? [each] : [];
    const found = each.actions.filter(has);
    return found.length === 0 ? [] : [{ ...each, actions: found }];
  });
}

/** Selects the first result: Enter runs the first result, and the arrows continue from there on. */
function selectFirst(): void {
  const { listId } = store.getState();
  const list = document.getElementById(listId);
  for (const each of list?.querySelectorAll("[data-selected]") ?? []) each.removeAttribute("data-selected");
  list?.querySelector("[data-action]")?.setAttribute("data-selected", "true");
  store.updateState((state) => ({ ...state, selected: 0 }));
}

export function Palette({ onClose }: { onClose: () => void }) {
  const navigate = useNavigate();
  const { setColorScheme } = useMantineColorScheme();
  const { data: collections = [] } = useQuery(collectionsQuery);
  useEffect(() => {
    spotlight.open();
    const timer = setTimeout(selectFirst, 50);
    return () => clearTimeout(timer);
  }, []);

  const perCollection = collections.flatMap(({ name }): SpotlightActionData[] => [
    {
      id: `records ${name}`,
      label: text.palette.openRecords(name),
      leftSection: <IconDatabase size={18} stroke={1.6} />,
      onClick: () => void navigate({ to: "/collections/$name", params: { name } }),
    },
    ...(["permissions", "indexes"] as const).map((tab) => ({
      id: `${tab} ${name}`,
      label: text.palette.openTab(text.schema.tabs[tab], name),
      leftSection: <IconSchema size={18} stroke={1.6} />,
      onClick: () => void navigate({ to: "/collections/$name/schema", params: { name }, search: { tab } }),
    })),
    {
      id: `import ${name}`,
      label: text.palette.importInto(name),
      leftSection: <IconUpload size={18} stroke={1.6} />,
      onClick: () => void navigate({ to: "/collections/$name/import", params: { name } }),
    },
    {
      id: `export ${name}`,
      label: text.palette.exportOf(name),
      leftSection: <IconDownload size={18} stroke={1.6} />,
      onClick: () => void navigate({ to: "/collections/$name", params: { name }, search: { export: true } }),
    },
    {
      id: `schema ${name}`,
      label: text.palette.openSchema(name),
      leftSection: <IconSchema size={18} stroke={1.6} />,
      onClick: () => void navigate({ to: "/collections/$name/schema", params: { name } }),
    },
  ]);
  const actions: SpotlightActionData[] = [
    {
      id: "new collection",
      label: text.palette.newCollection,
      leftSection: <IconPlus size={18} stroke={1.6} />,
      onClick: () => void navigate({ to: "/collections/-/new" }),
    },
    {
      id: "diagram",
      label: text.palette.diagram,
      leftSection: <IconHierarchy2 size={18} stroke={1.6} />,
      onClick: () => void navigate({ to: "/collections/-/diagram" }),
    },
    ...themes.map(({ value, label, icon: Icon }) => ({
      id: `theme ${value}`,
      label: text.palette.theme(label),
      leftSection: <Icon size={18} stroke={1.6} />,
      onClick: () => setColorScheme(value),
    })),
    ...collections.map(({ name }) => ({
      id: `new record ${name}`,
      label: text.palette.newRecord(name),
      leftSection: <IconPlus size={18} stroke={1.6} />,
      onClick: () => void navigate({ to: "/collections/$name", params: { name }, search: { record: "new" } }),
    })),
  ];
  const groups: SpotlightActionGroupData[] = [
    {
      group: text.palette.pages,
      actions: pages.map(({ to, label, icon: Icon, keys }) => ({
        id: to,
        label,
        leftSection: <Icon size={18} stroke={1.6} />,
        rightSection: <Keys keys={keys} />,
        onClick: () => void navigate({ to }),
      })),
    },
    { group: text.palette.collections, actions: perCollection },
    { group: text.palette.actions, actions },
  ];
  return (
    <Spotlight
      store={store}
      shortcut={null}
      actions={groups}
      highlightQuery
      filter={matching}
      // The search field keeps its position while the list below grows and shrinks.
      attributes={{ content: { "aria-label": text.shortcuts.palette } }}
      centered={false}
      yOffset="12vh"
      classNames={{ action: classes["action"] ?? "" }}
      onQueryChange={() => setTimeout(selectFirst, 0)}
      limit={30}
      overlayProps={{ backgroundOpacity: 0.4, blur: 0 }}
      scrollable
      maxHeight={440}
      nothingFound={text.palette.nothing}
      onSpotlightClose={onClose}
      searchProps={{
        leftSection: <IconSearch size={18} />,
        placeholder: text.palette.placeholder,
        "aria-label": text.palette.placeholder,
      }}
    />
  );
}
