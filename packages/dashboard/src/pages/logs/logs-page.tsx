/** The live log of the service (`/_/logs`): levels, a search, a pause, and a drawer for an entry. */
import { Group, Highlight } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import {
  IconClearAll,
  IconDownload,
  IconFileText,
  IconFilter,
  IconPlayerPause,
  IconPlayerPlay,
  IconTimeline,
} from "../../icons/index.ts";
import {
  Action,
  CodeBlock,
  CopyAction,
  DetailsDrawer,
  DetailsSection,
  Dim,
  EmptyState,
  Fact,
  Facts,
  FilledPage,
  formatClock,
  formatDateTime,
  IconAction,
  jsonText,
  LinkAction,
  LiveList,
  NothingFound,
  RelativeTime,
  SearchBox,
  saveBlob,
  TailMark,
  Toolbar,
  useShortcut,
  visible,
} from "../../kit/index.ts";
import { text } from "../../texts/index.ts";
import { type LogSearch, levelsIn } from "../search.ts";
import { LevelChips, LevelMark } from "./level-mark.tsx";
import { fieldsLine, type LogLine, longTexts, shownOf, toNdjson } from "./log-lines.ts";
import classes from "./logs.module.css";
import { useLog } from "./use-log.ts";

const route = getRouteApi("/inside/logs");

export function LogsPage() {
  const { levels: levelText, search = "" } = route.useSearch();
  const navigate = route.useNavigate();
  const log = useLog();
  const [open, setOpen] = useState<LogLine | null>(null);
  const levels = useMemo(() => levelsIn(levelText), [levelText]);
  const shown = useMemo(() => shownOf(log.lines ?? [], { levels, search }), [log.lines, levels, search]);
  const held = useMemo(() => shownOf(log.held, { levels, search }).lines.length, [log.held, levels, search]);
  const rows = useMemo(() => (log.lines === undefined ? undefined : shown.lines.toReversed()), [log.lines, shown]);
  const isFiltered = levels.length > 0 || search !== "";

  const filter = (patch: LogSearch): void => void navigate({ search: (old) => ({ ...old, ...patch }), replace: true });
  const clearFilters = (): void => filter({ levels: undefined, search: undefined });
  const pause = (): void => log.pause(!log.isPaused);
  const download = (): void => {
    const name = `logs-${new Date().toISOString().replaceAll(":", "-").slice(0, 19)}.ndjson`;
    saveBlob(new Blob([toNdjson(shown.lines)], { type: "application/x-ndjson" }), name);
  };
  useShortcut({ keys: "p", label: text.logs.pauseShortcut, group: text.shortcuts.page }, pause);

  return (
    <FilledPage
      title={text.logs.title}
      note={<TailMark state={log.isPaused && log.state === "live" ? "paused" : log.state} />}
      actions={
        <>
          <Action
            label={log.isPaused ? text.logs.resume(held) : text.logs.pause}
            variant={log.isPaused ? "filled" : "default"}
            leftSection={log.isPaused ? <IconPlayerPlay size={14} /> : <IconPlayerPause size={14} />}
            onClick={pause}
          />
          <Action icon={IconClearAll} label={text.logs.clear} onClick={log.clear} />
          <IconAction
            tip={text.logs.download}
            label={text.logs.download}
            icon={IconDownload}
            iconSize={16}
            variant="default"
            size={30}
            onClick={download}
            disabled={shown.lines.length === 0}
          />
        </>
      }
    >
      <Toolbar label={text.logs.filters}>
        <SearchBox label={text.logs.search} value={search} onChange={(value) => filter({ search: value })} />
        <LevelChips
          levels={levels}
          counts={shown.counts}
          onChange={(next) => filter({ levels: next.length === 0 ? undefined : next.join(",") })}
        />
        <Dim className="numbers" ml={{ base: 0, sm: "auto" }}>
          {text.logs.shown(shown.lines.length)}
        </Dim>
      </Toolbar>
      <LiveList
        label={text.logs.title}
        rows={rows}
        rowKey={({ key }) => String(key)}
        rowHeight={30}
        error={log.error}
        onRetry={log.retry}
        trouble={text.logs.notLive}
        columns={[text.logs.time, text.logs.level, text.logs.source, text.logs.message]}
        lineClass={classes["line"]}
        levelOf={({ entry }) => entry.level}
        render={(line) => <LogRow line={line} search={search} />}
        onOpen={setOpen}
        openKey={open === null ? undefined : String(open.key)}
        empty={
          isFiltered ? (
            <NothingFound icon={IconFileText} words={text.logs} onClear={clearFilters} />
          ) : (
            <EmptyState icon={IconFileText} title={text.logs.empty} body={text.logs.emptyBody} />
          )
        }
      />
      <DetailsDrawer isOpen={open !== null} onClose={() => setOpen(null)} title={text.logs.one} size={640}>
        {open !== null && (
          <LogDetails
            line={open}
            search={search}
            onSearch={(value) => {
              setOpen(null);
              filter({ search: value, levels: undefined });
            }}
          />
        )}
      </DetailsDrawer>
    </FilledPage>
  );
}

/** Most characters of a message in a row. */
const longest = 400;

function LogRow({ line: { entry }, search }: { line: LogLine; search: string }) {
  const { timestamp, level, source, message, requestId, fields } = entry;
  const more = fieldsLine(requestId === undefined ? fields : { requestId, ...fields });
  return (
    <>
      <time className="numbers quiet" dateTime={timestamp}>
        {formatClock(timestamp)}
      </time>
      <span>
        <LevelMark level={level} />
      </span>
      <Highlight component="span" inherit highlight={search} className={`quiet ${classes["source"]}`}>
        {source}
      </Highlight>
      <span className={classes["message"]}>
        <Highlight component="span" inherit highlight={search}>
          {visible(message.slice(0, longest))}
        </Highlight>
        {more !== "" && (
          <Highlight component="span" inherit highlight={search} className={`quiet ${classes["fields"]}`}>
            {more}
          </Highlight>
        )}
      </span>
    </>
  );
}

interface LogDetailsProps {
  line: LogLine;
  search: string;
  onSearch: (search: string) => void;
}

function LogDetails({ line: { entry }, search, onSearch }: LogDetailsProps) {
  const { timestamp, level, source, message, requestId, fields } = entry;
  const runId = typeof fields?.["runId"] === "string" ? fields["runId"] : undefined;
  const highlight = (value: string) => (
    <Highlight component="span" inherit highlight={search}>
      {value}
    </Highlight>
  );
  return (
    <>
      <DetailsSection title={text.logs.message}>
        <CodeBlock value={message} label={text.logs.message} render={highlight} />
      </DetailsSection>
      <DetailsSection title={text.logs.about}>
        <Facts>
          <Fact name={text.logs.level} value={<LevelMark level={level} />} />
          <Fact
            name={text.logs.time}
            value={
              <span className="numbers">
                {formatDateTime(timestamp)} (<RelativeTime at={timestamp} />)
              </span>
            }
          />
          <Fact name={text.logs.exactTime} value={timestamp} isMono />
          <Fact name={text.logs.source} value={source} />
          {requestId !== undefined && <Id name={text.logs.request} id={requestId} />}
          {runId !== undefined && <Id name={text.logs.run} id={runId} />}
        </Facts>
        <Group gap="xs" mt="sm">
          {requestId !== undefined && (
            <LinkAction icon={IconTimeline} label={text.trace.open} to="/trace/$id" params={{ id: requestId }} />
          )}
          {requestId !== undefined && (
            <Action icon={IconFilter} label={text.logs.showRequest} onClick={() => onSearch(requestId)} />
          )}
          {runId !== undefined && (
            <Action icon={IconFilter} label={text.logs.showRun} onClick={() => onSearch(runId)} />
          )}
        </Group>
      </DetailsSection>
      {longTexts(fields).map(({ path, value }) => (
        <DetailsSection key={path} title={path}>
          <CodeBlock value={value} label={path} render={highlight} isUnbroken />
        </DetailsSection>
      ))}
      {fields !== undefined && (
        <DetailsSection title={text.logs.fields}>
          <CodeBlock value={jsonText(fields)} label={text.logs.fields} render={highlight} />
        </DetailsSection>
      )}
      <DetailsSection
        title={text.logs.json}
        actions={<CopyAction value={jsonText(entry)} label={text.logs.copyJson} />}
      >
        <CodeBlock value={jsonText(entry)} label={text.logs.json} />
      </DetailsSection>
    </>
  );
}

function Id({ name, id }: { name: string; id: string }) {
  return <Fact name={name} value={id} isMono copy={text.common.copyValue(id)} />;
}
