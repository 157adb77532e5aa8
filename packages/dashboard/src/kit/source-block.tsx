/** The lines of source around the place of a run's error. */
import { Box } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { client } from "../service/client.ts";
import { text } from "../texts/index.ts";
import { CodeBlock } from "./code-block.tsx";
import classes from "./error-text.module.css";

/** @param props.error the shown error: another error of the run may have another place. */
export function SourceBlock({ runId, error }: { runId: string; error: string }) {
  const { data } = useQuery({
    queryKey: ["run-source", runId, error],
    queryFn: () => client.admin.scripts.runSource(runId),
  });
  const source = data?.source ?? null;
  // An error of an earlier attempt, whose excerpt is gone.
  if (source === null || !error.includes(`${source.filePath}:${source.line}:`)) return null;
  const width = String(source.firstLine + source.lines.length).length;
  const lines = source.lines.map((line, i) => {
    const number = source.firstLine + i;
    return { number, shown: `${number === source.line ? ">" : " "} ${String(number).padStart(width)} | ${line}\n` };
  });
  return (
    <Box mt="xs">
      <CodeBlock
        value={source.lines.join("\n")}
        label={text.runs.sourceOf(source.filePath)}
        isUnbroken
        render={() =>
          lines.map(({ number, shown }) =>
            number === source.line ? (
              <mark key={number} className={classes["line"]}>
                {shown}
              </mark>
            ) : (
              shown
            ),
          )
        }
      />
    </Box>
  );
}
