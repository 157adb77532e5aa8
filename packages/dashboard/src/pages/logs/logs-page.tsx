/** The live log of the service (`/_/logs`): levels, a search, a pause, and a drawer for an entry. */
import { Alert, Button, Group, Text } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { LOG_LEVELS } from "@socle/protocol";
import {
  IconAlertTriangle,
  IconArrowUp,
  IconClearAll,
  IconDownload,
  IconFileText,
  IconPlayerPause,
  IconPlayerPlay,
} from "@tabler/icons-react";
import { getRouteApi } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import {
  DetailsDrawer,
  Dim,
  EmptyState,
  ErrorState,
  FilledPage,
  formatNumber,
  IconAction,
  LiveRows,
  messageOf,
  RowsSkeleton,
  SearchBox,
  saveBlob,
  TailMark,
  Toolbar,
  useShortcut,
} from "../../kit/index.ts";
import { text } from "../../texts/index.ts";
import { LevelChips } from "./level-chips.tsx";
import { LogDetails } from "./log-details.tsx";
import { type LogLine, shownOf, toNdjson } from "./log-lines.ts";
import { LogHead, LogRow } from "./log-row.tsx";
import classes from "./logs.module.css";
import type { LogSearch } from "./search.ts";
import { type Log, useLog } from "./use-log.ts";

const route = getRouteApi("/inside/logs");

export function LogsPage() {
  const { levels: levelText, search = "" } = route.useSearch();
  const navigate = route.useNavigate();
  const log = useLog();
  const [isAtStart, setAtStart] = useState(true);
  const [open, setOpen] = useState<LogLine | null>(null);
  const levels = useMemo(() => LOG_LEVELS.filter((level) => levelText?.split(",").includes(level)), [levelText]);
  const shown = useMemo(() => shownOf(log.lines ?? [], { levels, search }), [log.lines, levels, search]);
  const held = useMemo(() => shownOf(log.held, { levels, search }).lines.length, [log.held, levels, search]);
  const isFiltered = levels.length > 0 || search !== "";

  const filter = (patch: LogSearch): void => void navigate({ search: (old) => ({ ...old, ...patch }), replace: true });
  const clearFilters = (): void => filter({ levels: undefined, search: undefined });
  const pause = (): void => log.pause(!log.isPaused);
  const download = (): void => {
    const name = `logs-${new Date().toISOString().replaceAll(":", "-").slice(0, 19)}.ndjson`;
    saveBlob(new Blob([toNdjson(shown.lines)], { type: "application/x-ndjson" }), name);
  };
  useShortcut({ keys: "p", label: text.logs.pauseShortcut, group: text.shortcuts.page }, pause);
  useShortcut({ keys: "e", label: text.logs.toNewest, group: text.shortcuts.page }, () => setAtStart(true));

  return (
    <FilledPage
      title={text.logs.title}
      note={<TailMark state={log.isPaused && log.state === "live" ? "paused" : log.state} />}
      actions={
        <>
          <Button
            size="xs"
            variant={log.isPaused ? "filled" : "default"}
            leftSection={log.isPaused ? <IconPlayerPlay size={14} /> : <IconPlayerPause size={14} />}
            onClick={pause}
          >
            {log.isPaused ? text.logs.resume(held) : text.logs.pause}
          </Button>
          <Button size="xs" variant="default" leftSection={<IconClearAll size={14} />} onClick={log.clear}>
            {text.logs.clear}
          </Button>
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
        <Dim className={`numbers ${classes["total"]}`}>{text.logs.shown(shown.lines.length)}</Dim>
      </Toolbar>
      <LogView
        log={log}
        lines={shown.lines}
        search={search}
        isFiltered={isFiltered}
        open={open}
        onOpen={setOpen}
        onClear={clearFilters}
        edge={{ isAtStart, setAtStart }}
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

interface LogViewProps {
  log: Log;
  /** The lines that match the filters, the oldest first. */
  lines: readonly LogLine[];
  search: string;
  isFiltered: boolean;
  open: LogLine | null;
  onOpen: (line: LogLine) => void;
  onClear: () => void;
  /** Whether the list is scrolled to its start, the place of new lines. */
  edge: { isAtStart: boolean; setAtStart: (isThere: boolean) => void };
}

/** The lines, with a button back to the newest line; or the reason for an empty list. */
function LogView({ log, lines, search, isFiltered, open, onOpen, onClear, edge }: LogViewProps) {
  const { isAtStart, setAtStart } = edge;
  const isNarrow = useMediaQuery("(max-width: 48em)", false, { getInitialValueInEffect: false });
  /** The newest line at the time when the user left the start of the list. */
  const [seen, setSeen] = useState(0);
  // The newest line first, as in the list of events.
  const rows = useMemo(() => lines.toReversed(), [lines]);
  const fresh = isAtStart ? 0 : lines.filter(({ key }) => key > seen).length;
  const onEdge = (isThere: boolean): void => {
    setAtStart(isThere);
    if (!isThere) setSeen((log.lines ?? []).reduce((key, line) => Math.max(key, line.key), 0));
  };
  return (
    <>
      {log.error !== null && log.lines !== undefined && (
        <Alert color="yellow" variant="light" radius={0} py={8} icon={<IconAlertTriangle aria-hidden />} role="alert">
          <Group justify="space-between" gap="xs">
            <Text size="sm">
              {text.logs.notLive} {messageOf(log.error)}
            </Text>
            <Button size="compact-xs" variant="default" onClick={log.retry}>
              {text.common.retry}
            </Button>
          </Group>
        </Alert>
      )}
      {log.lines === undefined && log.error === null && <RowsSkeleton rows={14} height={20} />}
      {log.lines === undefined && log.error !== null && <ErrorState error={log.error} onRetry={log.retry} />}
      {log.lines !== undefined && (
        <div className={classes["view"]}>
          {lines.length === 0 && (
            <EmptyState
              icon={IconFileText}
              title={isFiltered ? text.logs.nothingFound : text.logs.empty}
              body={isFiltered ? text.logs.nothingFoundBody : text.logs.emptyBody}
            >
              {isFiltered && (
                <Button variant="default" size="xs" onClick={onClear}>
                  {text.table.clearFilters}
                </Button>
              )}
            </EmptyState>
          )}
          {lines.length > 0 && (
            <>
              <LogHead />
              <LiveRows
                label={text.logs.title}
                rows={rows}
                rowKey={({ key }) => String(key)}
                rowHeight={isNarrow ? 52 : 30}
                edge="start"
                isAtEdge={isAtStart}
                onEdge={onEdge}
                render={(line) => <LogRow line={line} search={search} />}
                onOpen={onOpen}
                openKey={open === null ? undefined : String(open.key)}
              />
            </>
          )}
          {!isAtStart && lines.length > 0 && (
            <Button
              className={classes["jump"] ?? ""}
              size="xs"
              radius="xl"
              leftSection={<IconArrowUp size={14} />}
              onClick={() => setAtStart(true)}
            >
              {fresh === 0 ? text.logs.toNewest : text.logs.toNewestOf(formatNumber(fresh))}
            </Button>
          )}
        </div>
      )}
    </>
  );
}
