/** The page for an address that no page has. */
import { Center, Stack, Text, Title } from "@mantine/core";
import { ButtonLink } from "../kit/links.tsx";
import { text } from "../texts/index.ts";

export function NotFoundPage() {
  return (
    <Center h="100%" p="xl" component="main">
      <Stack align="center" gap="sm">
        <Title order={1} size="h3">
          {text.notFound.title}
        </Title>
        <Text c="dimmed">{text.notFound.body}</Text>
        <ButtonLink to="/" variant="light">
          {text.notFound.home}
        </ButtonLink>
      </Stack>
    </Center>
  );
}
