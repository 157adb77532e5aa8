/** The API of the service (`/_/api`): every operation of the OpenAPI document, by group, with a form that sends a request. */
import { Group } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { IconApi, IconDownload } from "../../icons/index.ts";
import {
  Action,
  DetailsDrawer,
  EmptyState,
  FilledPage,
  FilterChoice,
  formatNumber,
  jsonText,
  NothingFound,
  QueryView,
  RowsSkeleton,
  SearchBox,
  saveBlob,
  Toolbar,
} from "../../kit/index.ts";
import { text } from "../../texts/index.ts";
import type { ApiSearch } from "../search.ts";
import { MethodMark } from "./method-mark.tsx";
import { OperationDetails } from "./operation-details.tsx";
import { OperationList } from "./operation-list.tsx";
import { type ApiDocument, groupsOf, operationsOf } from "./operations.ts";
import { documentQuery } from "./queries.ts";

const route = getRouteApi("/inside/api");

export function ApiPage() {
  const query = useQuery(documentQuery);
  const { data: document } = query;
  return (
    <FilledPage
      title={text.api.title}
      note={document === undefined ? undefined : formatNumber(operationsOf(document).length)}
      actions={
        document !== undefined && (
          <Action icon={IconDownload} label={text.api.download} onClick={() => save(document)} />
        )
      }
    >
      <QueryView query={query} skeleton={<RowsSkeleton rows={14} />}>
        {(whole) => <Operations document={whole} />}
      </QueryView>
    </FilledPage>
  );
}

function save(document: ApiDocument): void {
  saveBlob(new Blob([jsonText(document)], { type: "application/json" }), "openapi.json");
}

function Operations({ document }: { document: ApiDocument }) {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const set = (patch: ApiSearch): void => void navigate({ search: (old) => ({ ...old, ...patch }) });
  const filter = (patch: ApiSearch): void => void navigate({ search: (old) => ({ ...old, ...patch }), replace: true });
  const operations = operationsOf(document);
  const names = Object.fromEntries(operations.map(({ group }) => [group, group]));
  const inGroup = operations.filter(({ group }) => search.group === undefined || group === search.group);
  const groups = groupsOf(inGroup, search.search ?? "");
  const open = operations.find(({ id }) => id === search.operation);
  const isFiltered = search.search !== undefined || search.group !== undefined;
  const clear = (): void => filter({ search: undefined, group: undefined });
  return (
    <>
      <Toolbar label={text.api.filters}>
        <SearchBox label={text.api.search} value={search.search} onChange={(next) => filter({ search: next })} />
        <FilterChoice
          words={names}
          label={text.api.group}
          anyLabel={text.api.anyGroup}
          value={search.group}
          onChange={(group) => filter({ group })}
          searchable
          w={210}
        />
      </Toolbar>
      {groups.length > 0 ? (
        <OperationList groups={groups} openId={search.operation} onOpen={(id) => set({ operation: id })} />
      ) : isFiltered ? (
        <NothingFound icon={IconApi} words={text.api} onClear={clear} />
      ) : (
        <EmptyState icon={IconApi} title={text.api.nothingFound} />
      )}
      <DetailsDrawer
        isOpen={open !== undefined}
        onClose={() => set({ operation: undefined })}
        size={680}
        title={open !== undefined && <Title method={open.method} path={open.path} />}
      >
        {open !== undefined && <OperationDetails operation={open} schemas={document.components.schemas} />}
      </DetailsDrawer>
    </>
  );
}

function Title({ method, path }: { method: string; path: string }) {
  return (
    <Group gap="xs" component="span" wrap="nowrap">
      <MethodMark method={method} />
      <span className="mono breaks">{path}</span>
    </Group>
  );
}
