/** How to write a first function or job: a complete file, where to save it, and when it is loaded. */
import { Box, Button, Code, Group, Modal, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconPlus } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { configQuery } from "../service/queries.ts";
import { text } from "../texts/index.ts";
import { CodeBlock } from "./code-block.tsx";
import { CopyAction } from "./copy.tsx";

export interface ExampleProps {
  /** Relative to the folder of the service: `jobs/cleanup.ts`. */
  path: string;
  code: string;
}

export function Example({ path, code }: ExampleProps) {
  const { data } = useQuery(configQuery);
  const folder = data?.file.replace(/[\\/][^\\/]*$/, "");
  const whole = folder === undefined ? path : `${folder}/${path}`;
  return (
    <Box w="100%">
      <Group gap={4} wrap="nowrap" mb="xs">
        <Text size="sm" c="dimmed" style={{ flex: "none" }}>
          {text.scripts.saveAs}
        </Text>
        <Text size="sm" className="mono" style={{ overflowWrap: "anywhere" }}>
          {whole}
        </Text>
        <CopyAction value={whole} label={text.scripts.copyPath} />
      </Group>
      <CodeBlock value={code} label={path} />
      <Text size="xs" c="dimmed" mt="xs">
        <Code>socle dev</Code> {text.scripts.whenLoaded}
      </Text>
    </Box>
  );
}

/** The button that shows the example where there are files already. */
export function ExampleButton({ label, title, ...example }: ExampleProps & { label: string; title: string }) {
  const [isOpen, { open, close }] = useDisclosure();
  return (
    <>
      <Button size="xs" leftSection={<IconPlus size={14} />} onClick={open}>
        {label}
      </Button>
      <Modal opened={isOpen} onClose={close} title={title} size="lg">
        <Example {...example} />
      </Modal>
    </>
  );
}
