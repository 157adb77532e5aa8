/** The way from an empty service to something that works. It goes when there are records. */
import { Button, Code, Group, Text } from "@mantine/core";
import type { Overview } from "@socle/protocol";
import { IconCheck, IconExternalLink, IconPlus } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { CopyAction, Panel } from "../../kit/index.ts";
import { text } from "../../texts/index.ts";
import classes from "./overview.module.css";

export function FirstSteps({ collections }: Pick<Overview, "collections">) {
  const [first] = collections;
  const name = first?.name ?? "posts";
  const file = `functions/${name}/hello.ts`;
  const code = `export const onCreate: OnCreate<"${name}"> = async ({ record, logger }) => {\n  logger.info("A new record", { id: record.id });\n};`;
  return (
    <Panel title={text.overview.firstSteps}>
      <ol className={classes["steps"]}>
        <Step
          number={1}
          title={text.overview.stepCollection}
          body={text.overview.stepCollectionBody}
          isDone={first !== undefined}
        >
          {first === undefined && (
            <Button
              renderRoot={(props) => <Link to="/collections/-/new" {...props} />}
              size="xs"
              leftSection={<IconPlus size={14} />}
            >
              {text.collections.new}
            </Button>
          )}
        </Step>
        <Step number={2} title={text.overview.stepRecord} body={text.overview.stepRecordBody}>
          {first !== undefined && (
            <Button
              renderRoot={(props) => (
                <Link to="/collections/$name" params={{ name }} search={{ record: "new" }} {...props} />
              )}
              size="xs"
              leftSection={<IconPlus size={14} />}
            >
              {text.palette.newRecord(name)}
            </Button>
          )}
        </Step>
        <Step number={3} title={text.overview.stepFunction} body={text.overview.stepFunctionBody(file)}>
          <Group gap={4} wrap="nowrap" align="start" className={classes["code"]}>
            <Code block flex={1} tabIndex={0} className={classes["codeText"]}>
              {code}
            </Code>
            <CopyAction value={code} />
          </Group>
        </Step>
        <Step number={4} title={text.overview.stepTab} body={text.overview.stepTabBody}>
          <Button
            renderRoot={(props) => <Link to="/events" target="_blank" {...props} />}
            size="xs"
            variant="default"
            leftSection={<IconExternalLink size={14} />}
          >
            {text.overview.openTab}
          </Button>
        </Step>
      </ol>
    </Panel>
  );
}

function Step(props: { number: number; title: string; body: string; isDone?: boolean; children?: ReactNode }) {
  const { number, title, body, isDone = false, children } = props;
  return (
    <li className={classes["step"]}>
      <span className={classes["stepMark"]} data-is-done={isDone || undefined}>
        {isDone ? <IconCheck size={14} aria-label={text.overview.isDone} /> : number}
      </span>
      <div className={classes["stepBody"]}>
        <Text fw={600} size="sm">
          {title}
        </Text>
        <Text size="sm" c="dimmed">
          {body}
        </Text>
        {children}
      </div>
    </li>
  );
}
