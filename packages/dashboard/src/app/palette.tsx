/** The command palette (Ctrl/⌘-K): every page, every collection, the actions that matter. */
import "@mantine/spotlight/styles.css";
import {
  createSpotlight,
  Spotlight,
  type SpotlightActionData,
  type SpotlightActionGroupData,
} from "@mantine/spotlight";
import { IconDatabase, IconHierarchy2, IconPlus, IconSchema, IconSearch } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useEffect } from "react";
import { collectionsQuery } from "../service/queries.ts";
import { text } from "../texts/index.ts";
import { pages } from "./navigation.tsx";

const [store, spotlight] = createSpotlight();

export function Palette({ onClose }: { onClose: () => void }) {
  const navigate = useNavigate();
  const { data: collections = [] } = useQuery(collectionsQuery);
  useEffect(() => {
    spotlight.open();
  }, []);

  const perCollection = collections.flatMap(({ name }): SpotlightActionData[] => [
    {
      id: `records ${name}`,
      label: text.palette.openRecords(name),
      leftSection: <IconDatabase size={18} stroke={1.6} />,
      onClick: () => void navigate({ to: "/collections/$name", params: { name } }),
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
      actions: pages.map(({ to, label, icon: Icon }) => ({
        id: to,
        label,
        leftSection: <Icon size={18} stroke={1.6} />,
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
