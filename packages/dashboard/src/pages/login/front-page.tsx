/** The frame of the pages before the sign-in: a card in the middle of the window. */
import { Center, Group, Image, Paper, Stack, Title } from "@mantine/core";
import { useDocumentTitle } from "@mantine/hooks";
import type { ReactNode } from "react";
import iconUrl from "../../assets/icon.svg";
import { Dim } from "../../kit/words.tsx";

export function FrontPage(props: { pageTitle: string; title: string; body?: string; children: ReactNode }) {
  const { pageTitle, title, body, children } = props;
  useDocumentTitle(`${pageTitle} · Socle`);
  return (
    <Center component="main" mih="100dvh" p="md">
      <Stack w="100%" maw={400} gap="lg">
        <Group gap="sm" justify="center">
          <Image src={iconUrl} w={36} h={36} alt="" />
          <Title order={1} size="h3">
            {title}
          </Title>
        </Group>
        <Paper withBorder radius="lg" p="xl" shadow="xs">
          <Stack>
            {body !== undefined && <Dim size="sm">{body}</Dim>}
            {children}
          </Stack>
        </Paper>
      </Stack>
    </Center>
  );
}
