/** The page for an address that no page has. */
import { Center, Stack, Text, Title } from "@mantine/core";
import { LinkAction } from "../kit/action.tsx";
import { text } from "../texts/first.ts";

export function NotFoundPage() {
  return (
    <Center h="100%" p="xl" component="main">
      <Stack align="center" gap="sm">
        <Title order={1} size="h3">
          {text.notFound.title}
        </Title>
        <Text c="dimmed">{text.notFound.body}</Text>
        <LinkAction label={text.notFound.home} to="/" variant="light" size="sm" />
      </Stack>
    </Center>
  );
}
