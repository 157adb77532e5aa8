/** The input that tests a pattern. */
import { Group, Text, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { IconCheck, IconX } from "@tabler/icons-react";
import { useEffect, useState } from "react";
import { text } from "../../../texts/index.ts";

const longestMs = 500;

type Outcome = "matches" | "fails" | "slow" | null;

/** Runs the pattern in a worker. After a time limit, the page ends the worker. */
function useTrial(pattern: string, value: string): Outcome {
  const [outcome, setOutcome] = useState<Outcome>(null);
  useEffect(() => {
    setOutcome(null);
    if (value === "" || pattern === "") return undefined;
    const worker = new Worker(new URL("./regex-worker.ts", import.meta.url), { type: "module" });
    // The time limit includes the load of the worker, which is a few lines of code.
    const timer = setTimeout(() => {
      worker.terminate();
      setOutcome("slow");
    }, longestMs);
    worker.addEventListener("message", ({ data }: MessageEvent<boolean | null>) => {
      clearTimeout(timer);
      worker.terminate();
      setOutcome(data === null ? null : data ? "matches" : "fails");
    });
    worker.postMessage({ pattern, value });
    return () => {
      clearTimeout(timer);
      worker.terminate();
    };
  }, [pattern, value]);
  return outcome;
}

export function RegexTest({ pattern }: { pattern: string }) {
  const words = text.schema.fields;
  const [value, setValue] = useState("");
  const [tried] = useDebouncedValue(value, 150);
  const outcome = useTrial(pattern, tried);
  return (
    <TextInput
      size="xs"
      label={words.regexTest}
      value={value}
      maxLength={10_000}
      onChange={(event) => setValue(event.currentTarget.value)}
      description={
        <Group component="span" gap={4} mih={18} role="status">
          {outcome === "matches" && <IconCheck size={14} color="var(--socle-accent-text)" aria-hidden />}
          {outcome === "fails" && <IconX size={14} color="var(--mantine-color-error)" aria-hidden />}
          <Text span inherit>
            {outcome === "matches" && words.regexMatches}
            {outcome === "fails" && words.regexFails}
            {outcome === "slow" && words.regexSlow}
          </Text>
        </Group>
      }
      inputWrapperOrder={["label", "input", "description"]}
    />
  );
}
