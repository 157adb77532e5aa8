/** An entry of the log in the drawer: its message, its stack traces, its fields, the link to its request. */
import { Button, Group, Highlight } from "@mantine/core";
import { IconFilter } from "@tabler/icons-react";
import {
  CodeBlock,
  CopyAction,
  DetailsSection,
  Facts,
  formatDateTime,
  jsonText,
  RelativeTime,
} from "../../kit/index.ts";
import { text } from "../../texts/index.ts";
import { LevelMark } from "./level-mark.tsx";
import { type LogLine, longTexts } from "./log-lines.ts";

interface LogDetailsProps {
  line: LogLine;
  search: string;
  onSearch: (search: string) => void;
}

export function LogDetails({ line: { entry }, search, onSearch }: LogDetailsProps) {
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
        <Facts
          items={[
            [text.logs.level, <LevelMark key="level" level={level} />],
            [
              text.logs.time,
              <span key="time" className="numbers">
                {formatDateTime(timestamp)} (<RelativeTime at={timestamp} />)
              </span>,
            ],
            [
              text.logs.exactTime,
              <span key="exact" className="mono">
                {timestamp}
              </span>,
            ],
            [text.logs.source, source],
            [text.logs.request, requestId === undefined ? null : <Id key="request" id={requestId} />],
            [text.logs.run, runId === undefined ? null : <Id key="run" id={runId} />],
          ]}
        />
        <Group gap="xs" mt="sm">
          {requestId !== undefined && (
            <FilterButton label={text.logs.showRequest} onClick={() => onSearch(requestId)} />
          )}
          {runId !== undefined && <FilterButton label={text.logs.showRun} onClick={() => onSearch(runId)} />}
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

function FilterButton({ label, onClick }: { label: string; onClick: () => void }) {
  return (
    <Button size="xs" variant="default" leftSection={<IconFilter size={14} />} onClick={onClick}>
      {label}
    </Button>
  );
}

function Id({ id }: { id: string }) {
  return (
    <Group gap={4} wrap="nowrap">
      <span className="mono">{id}</span>
      <CopyAction value={id} label={text.common.copyValue(id)} />
    </Group>
  );
}
