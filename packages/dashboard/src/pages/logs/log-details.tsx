/** An entry of the log in the drawer: its message, its stack traces, its fields, the link to its request. */
import { Group, Highlight } from "@mantine/core";
import { IconFilter } from "@tabler/icons-react";
import {
  Action,
  CodeBlock,
  CopyAction,
  DetailsSection,
  Fact,
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
