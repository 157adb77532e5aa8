/** Functions (`/_/functions`): the loaded handlers, and their runs. */
import { Tabs } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { ExampleButton, FilledPage, ScriptProblems } from "../../kit/index.ts";
import { useLiveRefresh } from "../../service/live.ts";
import { useScriptFiles } from "../../service/scripts.ts";
import { text } from "../../texts/index.ts";
import { HandlersTab } from "./handlers-tab.tsx";
import { useExample } from "./no-functions.tsx";
import { functionChannels } from "./queries.ts";
import { RunsTab } from "./runs-tab.tsx";
import type { FunctionSearch } from "./search.ts";

const route = getRouteApi("/inside/functions");

export function FunctionsPage() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  useLiveRefresh(functionChannels, [["functions"], ["run-log"]]);
  const files = useScriptFiles("function");
  const example = useExample();
  const set = (patch: FunctionSearch): void => void navigate({ search: (old) => ({ ...old, ...patch }) });
  return (
    <FilledPage
      title={text.functions.title}
      actions={<ExampleButton label={text.functions.new} title={text.functions.newTitle} {...example} />}
    >
      <ScriptProblems files={files} />
      <Tabs
        value={search.tab ?? "handlers"}
        // A filter of a view does not apply to the other view.
        onChange={(tab) => void navigate({ search: tab === "runs" ? { tab } : {}, replace: true })}
        className="stretch"
        keepMounted={false}
      >
        <Tabs.List px="sm" aria-label={text.functions.tabsLabel}>
          <Tabs.Tab value="handlers">{text.functions.tabs.handlers}</Tabs.Tab>
          <Tabs.Tab value="runs">{text.functions.tabs.runs}</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="handlers" className="stretch">
          <HandlersTab onRuns={(file) => set({ tab: "runs", file })} />
        </Tabs.Panel>
        <Tabs.Panel value="runs" className="stretch">
          <RunsTab search={search} onSearch={set} />
        </Tabs.Panel>
      </Tabs>
    </FilledPage>
  );
}
