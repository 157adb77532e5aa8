/** The list of collections beside the chosen collection: records, schema, import. On narrow screens the list is a separate page. */
import { Box, Group, NavLink, Title, Tooltip } from "@mantine/core";
import { type CollectionEntry, isView } from "@socle/protocol";
import { useQuery } from "@tanstack/react-query";
import { Link, Outlet, useLocation, useParams } from "@tanstack/react-router";
import { useState } from "react";
import { IconDatabase, IconHierarchy2, IconPlus } from "../../icons/index.ts";
import { Dim, EmptyState, FilledPage, formatCompact, LinkAction, QueryView, SearchInput } from "../../kit/index.ts";
import { collectionsQuery } from "../../service/queries.ts";
import { text } from "../../texts/index.ts";
import classes from "./collections.module.css";

export function CollectionsLayout() {
  const path = useLocation({ select: ({ pathname }) => pathname.replace(/\/$/, "") });
  return (
    <div className={classes["layout"]} data-is-list={path.endsWith("/collections") || undefined}>
      <aside className={`stretch ${classes["side"]}`}>
        <CollectionList />
      </aside>
      <div className={classes["content"]}>
        <Outlet />
      </div>
    </div>
  );
}

function CollectionList() {
  const [search, setSearch] = useState("");
  const query = useQuery(collectionsQuery);
  const words = search.trim().toLowerCase();
  return (
    <>
      <Box p="sm">
        {/* Where the list is a page of its own. */}
        <Title order={1} size="h3" mb="sm" hiddenFrom="md">
          {text.collections.title}
        </Title>
        <Group gap="xs" wrap="nowrap" mb="xs">
          <LinkAction icon={IconPlus} label={text.collections.new} to="/collections/-/new" variant="light" flex={1} />
          <Tooltip label={text.collections.diagram}>
            <LinkAction
              to="/collections/-/diagram"
              label={<IconHierarchy2 size={16} />}
              px={7}
              aria-label={text.collections.diagram}
            />
          </Tooltip>
        </Group>
        <SearchInput label={text.collections.search} value={search} onChange={setSearch} />
      </Box>
      <nav className={`fills ${classes["list"]}`} aria-label={text.collections.list}>
        <QueryView query={query}>{(collections) => <Found collections={collections} words={words} />}</QueryView>
      </nav>
    </>
  );
}

/** The collections with the words in their names. */
function Found({ collections, words }: { collections: readonly CollectionEntry[]; words: string }) {
  const { name: current } = useParams({ strict: false });
  const found = collections.filter(({ name }) => name.toLowerCase().includes(words));
  if (found.length === 0 && collections.length > 0)
    return (
      <Dim size="sm" p="xs">
        {text.collections.nothingFound}
      </Dim>
    );
  return found.map(({ name, records, definition }) => (
    <NavLink
      key={name}
      renderRoot={(props) => <Link to="/collections/$name" params={{ name }} {...props} />}
      label={name}
      active={name === current}
      aria-current={name === current ? "page" : undefined}
      className="navLink"
      rightSection={
        isView(definition) ? (
          <Dim>{text.collections.view}</Dim>
        ) : (
          <Dim className="numbers" aria-label={text.collections.records(records)}>
            {formatCompact(records)}
          </Dim>
        )
      }
    />
  ));
}

export function CollectionsIndex() {
  const query = useQuery(collectionsQuery);
  return (
    <FilledPage title={text.collections.title}>
      <QueryView query={query}>
        {(collections) =>
          collections.length === 0 ? (
            <EmptyState icon={IconDatabase} title={text.collections.emptyTitle} body={text.collections.emptyBody}>
              <LinkAction
                label={text.collections.new}
                to="/collections/-/new"
                leftSection={<IconPlus size={16} />}
                size="sm"
                variant="filled"
              />
            </EmptyState>
          ) : (
            <EmptyState icon={IconDatabase} title={text.collections.pick} body={text.collections.pickBody} />
          )
        }
      </QueryView>
    </FilledPage>
  );
}
