/** Help for a first function or job: a complete file, the folder to save the file in, and the moment of loading. */
import { Box, Code, Group, Modal, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { IconPlus } from "../icons/index.ts";
import { configQuery } from "../service/queries.ts";
import { text } from "../texts/index.ts";
import { Action } from "./action.tsx";
import { CodeBlock, CopyAction } from "./code-block.tsx";
import { Dim } from "./words.tsx";

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
        <Dim size="sm" style={{ flex: "none" }}>
          {text.scripts.saveAs}
        </Dim>
        <Text size="sm" className="mono" style={{ overflowWrap: "anywhere" }}>
          {whole}
        </Text>
        <CopyAction value={whole} label={text.scripts.copyPath} />
      </Group>
      <CodeBlock value={code} label={path} />
      <Dim mt="xs">
        <Code>socle dev</Code> {text.scripts.whenLoaded}
      </Dim>
    </Box>
  );
}

/** The button that shows the example on a page that has files already. */
export function ExampleButton({ label, title, ...example }: ExampleProps & { label: string; title: string }) {
  const [isOpen, { open, close }] = useDisclosure();
  return (
    <>
      <Action icon={IconPlus} label={label} onClick={open} variant="filled" />
      <Modal opened={isOpen} onClose={close} title={title} size="lg">
        <Example {...example} />
      </Modal>
    </>
  );
}
