/** The way from an empty service to a working service. The panel stays until the user hides the panel or finishes all steps. */
import { Box, SimpleGrid, Text } from "@mantine/core";
import { useLocalStorage } from "@mantine/hooks";
import type { Overview } from "@socle/protocol";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useEffect } from "react";
import { IconCheck, IconExternalLink, IconPlus, IconX } from "../../icons/index.ts";
import { CodeBlock, Dim, IconAction, LinkAction, Panel } from "../../kit/index.ts";
import { client } from "../../service/client.ts";
import { configQuery } from "../../service/queries.ts";
import { text } from "../../texts/index.ts";
import classes from "./overview.module.css";

/** The state in the browser's storage, kept since the page found an empty service. */
type Progress = "none" | "open" | "hidden";

export function FirstSteps({ collections }: Pick<Overview, "collections">) {
  const isEmpty = collections.every(({ records }) => records === 0);
  const [progress, setProgress] = useLocalStorage<Progress>({
    key: "socle.first-steps",
    defaultValue: "none",
    getInitialValueInEffect: false,
  });
  const [hasWatched, setWatched] = useLocalStorage({
    key: "socle.first-steps.events",
    defaultValue: false,
    getInitialValueInEffect: false,
  });
  useEffect(() => {
    if (isEmpty && progress === "none") setProgress("open");
  }, [isEmpty, progress, setProgress]);
  const { data: functions } = useQuery({
    queryKey: ["overview", "functions"],
    queryFn: async () => (await client.admin.scripts.functions({ limit: 1 })).total,
    enabled: isEmpty || progress === "open",
    refetchInterval: 10_000,
  });
  const hasFunction = (functions ?? 0) > 0;
  const isDone = !isEmpty && hasFunction && hasWatched;
  const { data: config } = useQuery({ ...configQuery, enabled: isEmpty || progress === "open" });
  if (progress === "hidden" || isDone || (progress === "none" && !isEmpty)) return null;
  const [first] = collections;
  const name = first?.name ?? "posts";
  const folder = config?.file.replace(/[^\\/]*$/, "") ?? "";
  const file = `${folder}functions/${name}/hello.ts`;
  const code = `export const onCreate: OnCreate<"${name}"> = async ({ record, logger }) => {\n  logger.info("A new record", { id: record.id });\n};`;
  return (
    <Panel
      title={text.overview.firstSteps}
      actions={
        <IconAction icon={IconX} iconSize={14} label={text.overview.hideSteps} onClick={() => setProgress("hidden")} />
      }
    >
      <SimpleGrid component="ol" cols={{ base: 1, md: 2 }} spacing={24} verticalSpacing={20} p="md" className="plain">
        <Step
          number={1}
          title={text.overview.stepCollection}
          body={text.overview.stepCollectionBody}
          isDone={first !== undefined}
        >
          {first === undefined && (
            <LinkAction icon={IconPlus} label={text.collections.new} to="/collections/-/new" variant="filled" />
          )}
        </Step>
        <Step number={2} title={text.overview.stepRecord} body={text.overview.stepRecordBody} isDone={!isEmpty}>
          {first !== undefined && (
            <LinkAction
              icon={IconPlus}
              label={text.palette.newRecord(name)}
              to="/collections/$name"
              params={{ name }}
              search={{ record: "new" }}
              variant="filled"
            />
          )}
        </Step>
        <Step
          number={3}
          title={text.overview.stepFunction}
          body={text.overview.stepFunctionBody(file)}
          isDone={hasFunction}
        >
          <Box w="100%">
            <CodeBlock value={code} label={file} />
          </Box>
        </Step>
        <Step number={4} title={text.overview.stepTab} body={text.overview.stepTabBody} isDone={hasWatched}>
          <LinkAction
            icon={IconExternalLink}
            label={text.overview.openTab}
            to="/events"
            target="_blank"
            onClick={() => setWatched(true)}
          />
        </Step>
      </SimpleGrid>
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
        <Dim size="sm">{body}</Dim>
        {children}
      </div>
    </li>
  );
}
