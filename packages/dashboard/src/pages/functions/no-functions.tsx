/** The page of a service without functions: a complete file to begin with. */
import { Box, Code, Text } from "@mantine/core";
import { IconBolt } from "@tabler/icons-react";
import { CodeBlock, EmptyState } from "../../kit/index.ts";
import { text } from "../../texts/index.ts";

const example = `// ${text.functions.example}
export const options: FunctionOptions = {
  timeout: "10s",
  retries: 3,
};

export const onCreate: OnCreate<"posts"> = async (
  { record, logger },
) => {
  logger.info("A new post", { id: record.id });
};
`;

export function NoFunctions() {
  return (
    <EmptyState icon={IconBolt} title={text.functions.emptyTitle} body={text.functions.emptyBody}>
      <Box w="100%">
        <CodeBlock value={example} label={text.functions.example} />
        <Text size="xs" c="dimmed" mt="xs">
          <Code>socle dev</Code> {text.functions.exampleNote}
        </Text>
      </Box>
    </EmptyState>
  );
}
